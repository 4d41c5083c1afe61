"""The verb `inferfleet sandbox` and its sub-commands."""

import shlex
from functools import partial
from typing import Annotated, Literal

import typer
from rich.console import Console

from inferfleet.cli.output import print_json, print_line
from inferfleet.clusters.chat import TEXT, question
from inferfleet.documents import InvalidDocuments
from sandbox import clusters
from sandbox.environment import environment
from sandbox.gcp.verb import app as cloud_app
from sandbox.orphans.owner import claim
from sandbox.orphans.sweep import sweep as sweep_all
from sandbox.places import StackPlaces, project_root
from sandbox.toolchain.parts import OF_STACKS
from sandbox.toolchain.progress import duration
from sandbox.toolchain.tools import make_tools
from sandbox.verbs.chat import chat as ask
from sandbox.verbs.chat import curl, model_of
from sandbox.verbs.first_look import first_look
from sandbox.verbs.one_address import one_addresses
from sandbox.verbs.overview import overview
from sandbox.verbs.pod_logs import find, lines, logged_pods
from sandbox.verbs.reporting import AsJson, Stack, print_text, reported_problems
from sandbox.verbs.service_urls import choose, refuse_without_route, service_urls_of_stack
from sandbox.verbs.stack import stack_documents, stack_places
from sandbox.verbs.tables import as_values, print_overview

app = typer.Typer(
    help="A whole fleet on this machine: simulated GPU nodes under real Kubernetes API servers.",
    no_args_is_help=True,
)
app.add_typer(cloud_app, name="cloud")
Cluster = Annotated[str, typer.Argument(help="The cluster, as its document calls it.")]


@app.command()
def up(
    stack: Stack = "local",
    owner: Annotated[
        int | None,
        typer.Option("--owner", metavar="PID", help="End it with this process, such as a CI job."),
    ] = None,
    engine: Annotated[
        Literal["vllm"] | None,
        typer.Option("--engine", help="Run vLLM itself in its pods, until `down`: 5.9 GB, installed once."),
    ] = None,
) -> None:
    """Fetch or build the toolchain and start the stack's clusters, as far as they are missing.

    Where the toolchain takes minutes, it first shows what the stack will be. Safe to run again.
    """
    with reported_problems() as progress:
        root = project_root()
        documents = stack_documents(root, stack)
        if owner is not None:
            claim(StackPlaces(root, stack), owner)
        begin = partial(first_look, StackPlaces(root, stack))
        with_vllm = engine is not None
        clusters.up(root, stack, documents, progress=progress, begin=begin, with_vllm=with_vllm)
        times = ", ".join(f"{name} {duration(seconds)}" for name, seconds in progress.seconds.items())
        progress.say(f"sandbox of stack {stack} is up ({times})")


@app.command()
def toolchain() -> None:
    """Fetch or build everything that stacks may need, Istio too, which `up` does not build."""
    with reported_problems() as progress:
        make_tools(progress, OF_STACKS)
        progress.say("the toolchain is complete")


@app.command()
def status(stack: Stack = "local", as_json: AsJson = False) -> None:
    """Show toolchain, clusters and nodes, and what runs where."""
    with reported_problems(as_json=as_json) as progress:
        root = project_root()
        try:
            documents = stack_documents(root, stack)
        except InvalidDocuments as invalid:
            progress.say(
                f"the documents of stack {stack} have {len(invalid.problems)} problems. "
                f"Run `inferfleet validate --stack {stack}` to see them."
            )
            documents = None
        current = overview(root, stack, documents)
        if as_json:
            print_json(as_values(current))
        else:
            print_overview(current, Console(highlight=False, soft_wrap=False))


@app.command()
def down(stack: Stack = "local") -> None:
    """Remove the stack's clusters and its Pulumi state, with all their processes and files."""
    with reported_problems() as progress:
        ended = clusters.down(project_root(), stack, progress=progress)
        progress.say(f"sandbox of stack {stack} is down ({ended} processes ended)")


@app.command()
def sweep(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be ended.")] = False,
) -> None:
    """End sandboxes, of all checkouts, that belong to nobody: their folder is gone, or their owner."""
    with reported_problems() as progress:
        swept = sweep_all(dry_run=dry_run, say=progress.say)
        if not swept:
            progress.say("every sandbox of yours belongs to somebody")


@app.command()
def env(stack: Stack = "local", as_json: AsJson = False) -> None:
    """Print the environment variables for `pulumi`: eval "$(inferfleet sandbox env)"."""
    with reported_problems(as_json=as_json) as progress:
        variables = environment(stack_places(project_root(), stack), make_tools(progress))
        if as_json:
            print_json(variables)
        else:
            # Not as a message is printed: a shell reads it, and every character of a path counts.
            for name, value in variables.items():
                print(f"export {name}={shlex.quote(value)}")


@app.command()
def logs(
    pod: Annotated[
        str, typer.Argument(help="A pod as NAME or NAMESPACE/NAME, or the beginning of its name.")
    ],
    container: Annotated[str | None, typer.Option("--container", "-c", help="One container only.")] = None,
    stack: Stack = "local",
) -> None:
    """Print the log of a pod's engine or endpoint picker."""
    with reported_problems():
        logged = find(logged_pods(stack_places(project_root(), stack)), pod)
        for line in lines(logged, container):
            print_line(line)


@app.command()
def kill(
    pod: Annotated[
        str, typer.Argument(help="A pod as NAME or NAMESPACE/NAME, or the beginning of its name.")
    ],
    stack: Stack = "local",
) -> None:
    """Kill the containers of a pod, to see what a crash of an engine or endpoint picker does."""
    with reported_problems() as progress:
        root = project_root()
        running = find(logged_pods(stack_places(root, stack)), pod)
        clusters.kill(root, stack, running.cluster, f"{running.namespace}/{running.name}")
        progress.say(f"killed the containers of {running}; they are restarted")


@app.command()
def stop(cluster: Cluster, stack: Stack = "local") -> None:
    """Stop one cluster and keep its data, to see what an unreachable cluster does."""
    with reported_problems() as progress:
        places = stack_places(project_root(), stack)
        ended = clusters.stop(places.root, stack, cluster)
        progress.say(
            f"cluster {cluster} is stopped ({ended} processes ended). "
            f"Run `inferfleet sandbox start {cluster} --stack {stack}` to start it again."
        )


@app.command()
def start(cluster: Cluster, stack: Stack = "local") -> None:
    """Start a stopped cluster with the data it had."""
    with reported_problems() as progress:
        places = stack_places(project_root(), stack)
        clusters.start(places.root, stack, cluster, progress=progress)
        progress.say(f"cluster {cluster} is running again")


@app.command()
def chat(
    service: Annotated[
        str | None, typer.Argument(help="A ModelService as NAME or NAMESPACE/NAME. Default: the first.")
    ] = None,
    text: Annotated[str, typer.Argument(help="The message to send.")] = TEXT,
    stack: Stack = "local",
    cluster: Annotated[str | None, typer.Option("--cluster", "-c", help="Ask on this cluster.")] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Ask for a streamed answer.")] = False,
) -> None:
    """Send one chat request to a service, and print who answered: through the InferenceGateway that it is
    behind, if there is one, else through the gateway of a cluster.
    """
    with reported_problems() as progress:
        places = stack_places(project_root(), stack)
        services = service_urls_of_stack(places.root, stack)
        name = service or next((known.service for known in services), None)
        if not any(known.is_called(name) for known in services):
            documented = stack_documents(places.root, stack).services
            if name is None and not documented:
                step = "Write a ModelService document and run `pulumi up`."
                progress.say(f"stack {stack} has no service. {step}")
                return
            refuse_without_route(documented, name, stack=stack)
        chosen = choose(services, name or "", cluster=cluster)
        doors = one_addresses(places, chosen.service) if cluster is None else iter(())
        if door := next(doors, None):
            # As users ask for it: whichever cluster answers.
            where, host, headers = (
                f"gateway {door.gateway} on cluster {door.cluster}",
                door.host,
                door.headers,
            )
            url, model = door.url, door.model
        else:
            where, host, headers = f"cluster {chosen.cluster}", chosen.host, chosen.headers
            url = chosen.url or ""
            model = model_of(url, host=host, headers=headers)
        answer = ask(url, model, text, stream=stream, host=host, headers=headers)
        print_text(f"{answer.text}\n")
        print_line(f"model {answer.model}, {answer.by}, {where}")
        for streamed in (False, True):
            command = curl(url, question(model, text, stream=streamed), host=host, headers=headers)
            print_line(f"{'streamed' if streamed else 'again'}: {command}")
