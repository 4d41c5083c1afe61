"""`inferfleet chat`: one question to a model of the stack, and its answer."""

from dataclasses import asdict, replace
from typing import Annotated

import typer

from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.output import print_line
from inferfleet.cli.report import Report, reporting
from inferfleet.cli.source import (
    AsJson,
    ByFile,
    FleetFolder,
    FleetLock,
    FleetName,
    StackName,
    api_key,
    container_api,
    source_of_options,
)
from inferfleet.clusters.chat import TEXT, NotAnsweredError, Question, Reply, Target, Via, ask, target
from inferfleet.clusters.connections.api import Api
from inferfleet.clusters.connections.ask import ask as ask_clusters
from inferfleet.clusters.connections.git import Repository
from inferfleet.clusters.connections.gke import NotThere
from inferfleet.clusters.connections.kubeconfig import read_files
from inferfleet.clusters.preflight.ownership import cluster_identity_problems, identity
from inferfleet.desired.values import Connection, Desired
from inferfleet.documents.kinds.inference_cluster import GIVEN_UP
from inferfleet.documents.problems import Problem

Name = Annotated[
    str | None,
    typer.Argument(
        help="A ModelService or ModelDeployment as NAME or NAMESPACE/NAME; of two with one name the service. "
        "Default: the only service, or else the only deployment.",
        show_default=False,
    ),
]
Text = Annotated[str, typer.Argument(help="What to ask.")]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", "-c", help="Ask on this cluster. Default: the only one.", show_default=False),
]
By = Annotated[
    Via | None,
    typer.Option(
        help="Ask the gateway at its address, or through the cluster's API server. Default: the gateway "
        "where something takes connections at its address, else the API server.",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", help="Name this model. Default: the first that is served.", show_default=False),
]
Timeout = Annotated[float, typer.Option(min=1, max=3600, help="Seconds to wait for the answer.")]


def chat(
    name: Name = None,
    text: Text = TEXT,
    stack: StackName = None,
    folder: FleetFolder = None,
    fleet: FleetName = None,
    lock_file: FleetLock = None,
    kubeconfig: ByFile = None,
    cluster: Cluster = None,
    via: By = None,
    model: Model = None,
    timeout: Timeout = 60,
    as_json: AsJson = False,
) -> None:
    """Ask a model of the stack one question, and print its answer and who gave it.

    The way through the API server leads to gateways that are Services of the cluster, and else to a pod, past
    gateway and endpoint picker, which it says. It takes the rights `get` and `create` of the subresource
    `proxy`. A key in the environment variable INFERFLEET_API_KEY is sent with `--via gateway` alone.
    """
    with reporting(as_json=as_json) as report:
        source = source_of_options(folder, stack, fleet, lock_file, kubeconfig=kubeconfig)
        report.documents = source.documents
        desired = source.desired()
        asked = target(source.documents, desired.plan, name, cluster)
        root = source.root
        repository = Repository(root, source.documents.settings.trust_repository_kubeconfigs)
        question = Question(text, model, via, api_key() if via == "gateway" else None)
        reply = _answer(desired, repository, asked, question, timeout)
        if isinstance(reply, Problem):
            report.problems.append(reply)
            report.code = ExitCode.NOT_READY
            return
        _show(report, reply, asked, as_json=as_json)


def _show(report: Report, reply: Reply, asked: Target, *, as_json: bool) -> None:
    report.values["answer"] = {**asdict(reply), "cluster": asked.cluster, asked.kind: asked.key}
    if not as_json:
        for line in reply.text.splitlines():
            print_line(line)
        print_line(f"model {reply.model}, cluster {asked.cluster}, asked {reply.by}")


def _answer(
    desired: Desired, repository: Repository, asked: Target, question: Question, seconds: float
) -> Reply | Problem:
    """Return the model's reply from the one cluster that is asked, or why there is none."""
    (cluster,) = (
        candidate for candidate in desired.clusters if candidate.connection.cluster == asked.cluster
    )
    connection = cluster.connection
    if connection.state in GIVEN_UP:
        what = f"{asked}: the document of the cluster says `state: {connection.state}`, so it is not asked"
        return Problem(what, "Name another cluster, or remove `state`")
    kubeconfigs = read_files([connection], repository)
    for problem in kubeconfigs.problems.values():
        return problem

    def converse(_: Connection, api: Api) -> Reply | Problem:
        for problem in cluster_identity_problems(cluster, identity(api)):
            return problem
        try:
            return ask(api, cluster, asked, question, seconds=seconds)
        except NotAnsweredError as error:
            return error.problem

    alone = replace(desired, clusters=(cluster,))
    answers = ask_clusters(alone, kubeconfigs.texts, converse, container_api=container_api(), seconds=seconds)
    answer = answers[asked.cluster]
    if isinstance(answer, NotThere):
        return answer.notice or Problem(f"{asked}: {answer.why}", "`pulumi up` creates it")
    return answer
