"""Why a cluster told nothing, or not all, as problems with the ways out."""

from inferfleet.api.problems import Problem
from inferfleet.desired.values import Connection
from inferfleet.reach.clusters import cluster_problem
from inferfleet.reach.connect import RefusedError
from inferfleet.reach.exec_command import CommandError
from inferfleet.reach.gke import path_of
from inferfleet.reach.kubeconfig import KubeconfigError

_GIVE_UP = (
    "write `state: lost` into its document to go on without touching it, or `state: abandoned` to give it up "
    "and place its replicas elsewhere"
)


def silent(connection: Connection, server: str, why: str, *, inside: bool = False) -> Problem:
    """Nothing came from the server. An `inside` one can only be reached in Google's network."""
    mend = "Mend the connection"
    if inside:
        mend = (
            "Its endpoint answers inside its network alone: run this there, or choose the other "
            "controlPlaneEndpoint"
        )
    return cluster_problem(
        connection.cluster,
        f"cluster {connection.cluster!r} does not answer at {server}: {why}",
        f"{mend}, or {_GIVE_UP}",
        path_of(connection),
    )


def unknown(connection: Connection, address: str, why: str) -> Problem:
    """Google did not say where the cluster is."""
    return cluster_problem(
        connection.cluster,
        f"it is not known where cluster {connection.cluster!r} is: the Container API at {address} does not "
        f"answer: {why}",
        f"Mend the connection to Google Cloud, or {_GIVE_UP}",
        path_of(connection),
    )


def unusable(connection: Connection, error: KubeconfigError) -> Problem:
    """Its kubeconfig is no way in."""
    source = connection.kubeconfig or connection.config_key or "from Google Cloud"
    return cluster_problem(
        connection.cluster,
        f"cluster {connection.cluster!r}: kubeconfig {source}: {error}",
        "Mend the file, or name another one",
        path_of(connection) if connection.cloud else error.path,
    )


def without_credentials(connection: Connection, error: CommandError) -> Problem:
    """Its credential command gave none."""
    again = "Run `gcloud auth login`" if connection.cloud else "Run it by hand to see why"
    return cluster_problem(
        connection.cluster,
        f"cluster {connection.cluster!r}: its credential command {error.command!r} {error.why}",
        error.hint or f"{again}, or {_GIVE_UP}",
        path_of(connection),
    )


def refusal(connection: Connection, error: RefusedError) -> Problem:
    """The cluster answers and does not let us look."""
    plan = connection.cloud
    if error.status == 401:
        why = "it does not know who asks"
        step = "Run `gcloud auth login`" if plan else "Renew the credentials in its kubeconfig"
    elif error.status == 403:
        why, step = "its credentials may not read this", "Give them the right to read and write it"
        if plan:
            step += f" (role roles/container.admin in project {plan.project})"
    else:
        why, step = "the API server failed", "Look at the API server's health, then try again"
    return cluster_problem(
        connection.cluster,
        f"cluster {connection.cluster!r} refused GET {error.path} ({error.status}): {why}",
        step,
        path_of(connection),
    )
