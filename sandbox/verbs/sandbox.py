"""The verb `inferfleet sandbox`: a whole fleet on this machine."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console

from inferfleet.api import Documents, InvalidDocuments, load
from sandbox import clusters
from sandbox.environment import environment
from sandbox.gcp.verb import app as cloud_app
from sandbox.places import StackPlaces, project_root
from sandbox.problem import SandboxProblem
from sandbox.toolchain.progress import duration
from sandbox.toolchain.tools import make_tools
from sandbox.verbs.chat import TEXT, curl, model_of, question
from sandbox.verbs.chat import chat as ask
from sandbox.verbs.overview import overview
from sandbox.verbs.pod_logs import find, lines, logged_pods
from sandbox.verbs.reporting import Stack, reported_problems
from sandbox.verbs.service_urls import chosen, service_urls_of_stack
from sandbox.verbs.tables import as_values, print_overview

app = typer.Typer(
    help="A whole fleet on this machine: simulated GPU nodes under real Kubernetes API servers.",
    no_args_is_help=True,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
app.add_typer(cloud_app, name="cloud")
Cluster = Annotated[str, typer.Argument(help="The cluster, as its document calls it.")]


@app.command()
def up(stack: Stack = "local") -> None:
    """Make the toolchain and the stack's clusters, and what is missing of them. Safe to run again."""
    with reported_problems() as progress:
        root = project_root()
        clusters.up(root, stack, stack_documents(root, stack), progress=progress)
        times = ", ".join(f"{name} {duration(seconds)}" for name, seconds in progress.seconds.items())
        progress.say(f"sandbox of stack {stack} is up ({times})")


@app.command()
def status(stack: Stack = "local", as_json: AsJson = False) -> None:
    """Show toolchain, clusters and nodes, and what runs where."""
    with reported_problems() as progress:
        root = project_root()
        try:
            documents = stack_documents(root, stack)
        except InvalidDocuments as invalid:
            progress.say(
                f"{len(invalid.problems)} problems in the documents of stack {stack}; `inferfleet validate`"
            )
            documents = None
        found = overview(root, stack, documents)
        if as_json:
            print(json.dumps(as_values(found), indent=2))
        else:
            print_overview(found, Console(highlight=False, soft_wrap=False))


@app.command()
def down(stack: Stack = "local") -> None:
    """Remove the stack's clusters and its Pulumi state: no process and no file of them is left."""
    with reported_problems() as progress:
        ended = clusters.down(project_root(), stack, progress=progress)
        progress.say(f"sandbox of stack {stack} is down ({ended} processes ended)")


@app.command()
def env(stack: Stack = "local", as_json: AsJson = False) -> None:
    """Print the environment for `pulumi`: eval "$(inferfleet sandbox env)"."""
    with reported_problems() as progress:
        variables = environment(StackPlaces(project_root(), stack), make_tools(progress))
        if as_json:
            print(json.dumps(variables, indent=2))
        else:
            for name, value in variables.items():
                print(f"export {name}={shlex.quote(value)}")


@app.command()
def logs(
    pod: Annotated[str, typer.Argument(help="Its name, NAMESPACE/NAME, or how its name begins.")],
    container: Annotated[str | None, typer.Option("--container", "-c", help="One container only.")] = None,
    stack: Stack = "local",
) -> None:
    """Print what a pod's engine or endpoint picker said last."""
    with reported_problems():
        found = find(logged_pods(StackPlaces(project_root(), stack)), pod)
        for line in lines(found, container):
            print(line)


@app.command()
def kill(
    pod: Annotated[str, typer.Argument(help="Its name, NAMESPACE/NAME, or how its name begins.")],
    stack: Stack = "local",
) -> None:
    """Kill the containers of a pod, to see what a crashed engine or endpoint picker does."""
    with reported_problems() as progress:
        root = project_root()
        found = find(logged_pods(StackPlaces(root, stack)), pod)
        clusters.kill(root, stack, found.cluster, f"{found.namespace}/{found.name}")
        progress.say(f"the containers of {found.namespace}/{found.name} are killed; they start again")


@app.command()
def stop(cluster: Cluster, stack: Stack = "local") -> None:
    """Stop one cluster and keep its data, to see what an unreachable cluster does."""
    with reported_problems() as progress:
        ended = clusters.stop(project_root(), stack, cluster)
        progress.say(
            f"cluster {cluster} is stopped ({ended} processes ended); `inferfleet sandbox start` starts it"
        )


@app.command()
def start(cluster: Cluster, stack: Stack = "local") -> None:
    """Start a stopped cluster with the data it had."""
    with reported_problems() as progress:
        clusters.start(project_root(), stack, cluster, progress=progress)
        progress.say(f"cluster {cluster} answers again")


@app.command()
def chat(
    service: Annotated[
        str | None, typer.Argument(help="A ModelService, as name or namespace/name. Default: the first.")
    ] = None,
    text: Annotated[str, typer.Argument(help="What to say.")] = TEXT,
    stack: Stack = "local",
    cluster: Annotated[str | None, typer.Option("--cluster", "-c", help="Ask on this cluster.")] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Ask for a streamed answer.")] = False,
) -> None:
    """Send one chat request to a service through its gateway, and say who answered."""
    with reported_problems() as progress:
        ways = service_urls_of_stack(project_root(), stack)
        service = service or next((way.service for way in ways), None)
        if service is None:
            progress.say(f"stack {stack} has no service to ask; a ModelService document makes one")
            return
        way = chosen(ways, service, cluster=cluster)
        url = way.url or ""
        model = model_of(url, host=way.host)
        answer = ask(url, model, text, stream=stream, host=way.host)
        print(answer.text)
        print(f"\nmodel {answer.model}, pod {answer.pod or 'unknown'}, cluster {way.cluster}")
        for streamed in (False, True):
            print(f"{'streamed' if streamed else 'again'}: ", end="")
            print(curl(url, question(model, text, stream=streamed), host=way.host))


def stack_documents(root: Path, stack: str) -> Documents:
    """The documents of a stack, from the folder its settings name."""
    settings = root / "stacks" / f"Pulumi.{stack}.yaml"
    try:
        content: Any = yaml.safe_load(settings.read_text(encoding="utf-8")) if settings.exists() else {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SandboxProblem(f"{settings} is not valid YAML: {error}. Correct it.") from error
    config = content.get("config") if isinstance(content, dict) else None
    folder = (config.get("inferfleet:documents") if isinstance(config, dict) else None) or f"stacks/{stack}"
    if not (root / str(folder)).is_dir():
        raise SandboxProblem(
            f"stack {stack} has no folder {folder} in {root}. Pass --stack NAME, or make it."
        )
    return load([root / str(folder)], base=root)
