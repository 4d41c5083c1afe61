"""Why a cluster did not answer, or not all of it, as problems with what to do."""

from dataclasses import replace

from inferfleet.clusters.connections.api import RefusedError
from inferfleet.clusters.connections.exec_command import CommandError
from inferfleet.clusters.connections.gke import path_of
from inferfleet.clusters.connections.kubeconfig import problem
from inferfleet.clusters.connections.kubeconfig_text import KubeconfigError
from inferfleet.desired.values import Connection
from inferfleet.documents.problems import Problem, cluster_problem

_GIVE_UP = (
    "write `state: lost` into its document to go on without touching it, or `state: abandoned` to give it up "
    "and place its replicas elsewhere"
)


def no_answer(connection: Connection, server: str, why: str, *, private: bool = False) -> Problem:
    """Return the problem of a server that did not answer. A `private` one answers in its network only."""
    step = "Fix the connection"
    if private:
        step = (
            "Its endpoint answers only inside its network: run this there, or choose the other "
            "controlPlaneEndpoint"
        )
    return cluster_problem(
        connection.cluster,
        f"cluster {connection.cluster!r} does not answer at {server}: {why}",
        f"{step}, or {_GIVE_UP}",
        path_of(connection),
    )


def unlocated(connection: Connection, address: str, why: str) -> Problem:
    """Return the problem of a cluster when Google did not say where its API server is."""
    return cluster_problem(
        connection.cluster,
        f"it is not known where cluster {connection.cluster!r} is: the Container API at {address} does not "
        f"answer: {why}",
        f"Fix the connection to Google Cloud, or {_GIVE_UP}",
        path_of(connection),
    )


def unusable(connection: Connection, error: KubeconfigError) -> Problem:
    """Return the problem of a cluster whose kubeconfig cannot be used."""
    told = problem(connection, error)
    return replace(told, path=path_of(connection)) if connection.cloud else told


def no_credentials(connection: Connection, error: CommandError) -> Problem:
    """Return the problem of a cluster whose credential command gave no credentials."""
    again = "Run `gcloud auth login`" if connection.cloud else "Run it by hand to see why"
    return cluster_problem(
        connection.cluster,
        f"cluster {connection.cluster!r}: its credential command {error.command!r} {error.why}",
        error.hint or f"{again}, or {_GIVE_UP}",
        path_of(connection),
    )


def refusal(connection: Connection, error: RefusedError) -> Problem:
    """Return the problem of an API server that answered a request with an error."""
    plan = connection.cloud
    if error.status == 401:
        why = "it does not accept the credentials"
        step = "Run `gcloud auth login`" if plan else "Renew the credentials in its kubeconfig"
    elif error.status == 403 and error.method != "GET":
        why, step = "the credentials may not create this", "Give them the right to create it"
    elif error.status == 403:
        why, step = "the credentials may not read this", "Give them the right to read and write it"
        if plan:
            step += f" (role roles/container.admin in project {plan.project})"
    elif error.status // 100 == 3:
        why = "it sends requests on to another address, and credentials do not follow"
        step = "Write the address of the API server itself into its kubeconfig"
    else:
        why, step = "the API server failed", "Check the health of the API server, then try again"
    return cluster_problem(
        connection.cluster,
        f"cluster {connection.cluster!r} refused {error.method} {error.path} ({error.status}): {why}",
        step,
        path_of(connection),
    )
