"""Reach the GKE clusters of the stack: what Google says of each gives a kubeconfig, or why there is none."""

from dataclasses import dataclass, field

from inferfleet.cloud.provider import provider_of
from inferfleet.cloud.values import CloudCluster
from inferfleet.clusters.connections.google import CloudError, ContainerApi, ControlPlane
from inferfleet.clusters.connections.kubeconfig import KUBECONFIG
from inferfleet.desired.values import Connection
from inferfleet.documents.problems import Problem, cluster_problem

GKE = "spec.cluster.gke"


@dataclass(frozen=True)
class NotThere:
    """A cluster of the stack that cannot be asked yet: `why`, and a `notice` where that is unexpected.

    `made` says that the cluster exists and only lacks its endpoint.
    """

    why: str
    notice: Problem | None = None
    made: bool = False


@dataclass(frozen=True)
class Reached:
    """The kubeconfig of a cluster that exists. A `private` one answers only inside its own network."""

    kubeconfig: str = field(repr=False)
    private: bool


def reach(
    google: ContainerApi, connection: Connection, plan: CloudCluster, *, seconds: float
) -> Reached | NotThere | Problem:
    """Ask Google where the cluster is. A Problem says why that is unknown, or why the cluster is unusable."""
    try:
        control_plane = google.control_plane(plan, seconds=seconds)
    except CloudError as error:
        what = f"it is not known where cluster {plan.cluster!r} is: {error.what}"
        return cluster_problem(plan.cluster, what, error.next_step, GKE)
    return judged(control_plane, connection, plan)


def judged(
    control_plane: ControlPlane | None, connection: Connection, plan: CloudCluster
) -> Reached | NotThere | Problem:
    """Return what follows from Google's answer, None for a cluster that does not exist. Pure."""
    place = f"project {plan.project}, {plan.region}"
    name = f"{plan.cloud_name} in {place}"
    if control_plane is None:
        return NotThere(f"Google Cloud has no cluster {name}", _deleted(connection, place))
    if control_plane.status == "PROVISIONING":
        return _not_yet(plan, f"Google Cloud is still creating cluster {name}", made=False)
    if control_plane.status == "STOPPING":
        what = f"cluster {plan.cluster!r} ({name}) is being deleted"
        return cluster_problem(plan.cluster, what, "Wait until it is gone, then run `pulumi refresh`", GKE)
    if control_plane.status == "ERROR":
        message = f": {control_plane.message}" if control_plane.message else ""
        delete = f"clusters delete {plan.cloud_name} --project {plan.project} --region {plan.region}"
        return cluster_problem(
            plan.cluster,
            f"cluster {plan.cluster!r} ({name}) is in status ERROR{message}",
            f"Fix it in Google Cloud, or delete it (gcloud container {delete}), then run `pulumi refresh`",
            GKE,
        )
    if control_plane.host is None:
        return _not_yet(plan, f"cluster {name} has no {plan.endpoint} endpoint yet", made=True)
    kubeconfig = provider_of(plan).kubeconfig(
        plan.cluster, host=control_plane.host, ca=control_plane.ca, proxy=plan.proxy
    )
    return Reached(kubeconfig, control_plane.private)


def _not_yet(plan: CloudCluster, why: str, *, made: bool) -> NotThere:
    step = "Its objects are not checked in this run"
    notice = cluster_problem(plan.cluster, f"cluster {plan.cluster!r}: {why}", step, GKE, severity="warning")
    return NotThere(why, notice, made)


def path_of(connection: Connection) -> str:
    """Return the path of the field that says how the cluster is reached."""
    return GKE if connection.cloud else KUBECONFIG


def _deleted(connection: Connection, place: str) -> Problem | None:
    """Return a warning about a missing cluster that the lock knows: the state may still hold its objects."""
    if not connection.uid:
        return None
    return cluster_problem(
        connection.cluster,
        f"cluster {connection.cluster!r} is gone from Google Cloud ({place}), and placement.lock has its UID",
        "If it was not `pulumi destroy`, run `pulumi refresh`, so that the state forgets its objects",
        GKE,
        severity="warning",
    )
