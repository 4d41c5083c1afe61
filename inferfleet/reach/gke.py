"""GKE clusters of the stack: a kubeconfig from what Google says of each, or that it is not there yet."""

from dataclasses import dataclass

from inferfleet.api.problems import Problem
from inferfleet.desired.values import Connection
from inferfleet.gke.kubeconfig import kubeconfig
from inferfleet.gke.values import CloudCluster
from inferfleet.reach.clusters import cluster_problem
from inferfleet.reach.google_apis import ContainerApi, ControlPlane
from inferfleet.reach.kubeconfig import KUBECONFIG
from inferfleet.reach.refusals import CloudError

GKE = "spec.cluster.gke"


@dataclass(frozen=True)
class NotThere:
    """A cluster that the stack creates cannot be asked yet: `why`, and a `notice` where that is unexpected.

    `made`: it stands, and only lacks its endpoint.
    """

    why: str
    notice: Problem | None = None
    made: bool = False


@dataclass(frozen=True)
class Reached:
    """The kubeconfig of a cluster that stands. An `inside` one answers in Google's network alone."""

    kubeconfig: str
    inside: bool


def reach(
    google: ContainerApi, connection: Connection, plan: CloudCluster, *, seconds: float
) -> Reached | NotThere | Problem:
    """Ask Google where the cluster is. A Problem says why that is not known, or why it cannot be used."""
    try:
        found = google.control_plane(plan, seconds=seconds)
    except CloudError as error:
        what = f"it is not known where cluster {plan.cluster!r} is: {error.what}"
        return cluster_problem(plan.cluster, what, error.next_step, GKE)
    return judged(found, connection, plan)


def judged(
    found: ControlPlane | None, connection: Connection, plan: CloudCluster
) -> Reached | NotThere | Problem:
    """Pure: what follows from Google's answer."""
    place = f"project {plan.project}, {plan.region}"
    name = f"{plan.cloud_name} in {place}"
    if found is None:
        return NotThere(f"Google Cloud has no cluster {name}", _gone(connection, place))
    if found.status == "PROVISIONING":
        return _later(plan, f"Google Cloud is still making cluster {name}", made=False)
    if found.status == "STOPPING":
        what = f"cluster {plan.cluster!r} ({name}) is being deleted"
        return cluster_problem(plan.cluster, what, "Wait until it is gone, then run `pulumi refresh`", GKE)
    if found.status == "ERROR":
        said = f": {found.message}" if found.message else ""
        delete = f"clusters delete {plan.cloud_name} --project {plan.project} --region {plan.region}"
        return cluster_problem(
            plan.cluster,
            f"cluster {plan.cluster!r} ({name}) is in status ERROR{said}",
            f"Mend it in Google Cloud, or delete it (gcloud container {delete}), then run `pulumi refresh`",
            GKE,
        )
    if found.host is None:
        return _later(plan, f"cluster {name} has no {plan.endpoint} endpoint yet", made=True)
    return Reached(kubeconfig(plan.cluster, host=found.host, ca=found.ca), found.inside)


def _later(plan: CloudCluster, why: str, *, made: bool) -> NotThere:
    step = "What stands on it is not checked in this run"
    notice = cluster_problem(plan.cluster, f"cluster {plan.cluster!r}: {why}", step, GKE, severity="warning")
    return NotThere(why, notice, made)


def path_of(connection: Connection) -> str:
    """The field that says how the cluster is reached."""
    return GKE if connection.cloud else KUBECONFIG


def _gone(connection: Connection, place: str) -> Problem | None:
    """A cluster that the lock knows stood once: the state may still have all that stood on it."""
    if not connection.uid:
        return None
    return cluster_problem(
        connection.cluster,
        f"cluster {connection.cluster!r} is gone from Google Cloud ({place}), and the lock remembers it",
        "If it was not `pulumi destroy`, run `pulumi refresh`, so that the state forgets what stood on it",
        GKE,
        severity="warning",
    )
