"""What goes on after a pause, or on a cluster that was lost: edits that the base has already take effect now.

No version of the documents says which edits these are: what runs is of the last update before the pause, and
the base may hold any number of edits since then. So they are announced and not compared.
"""

from collections import Counter
from collections.abc import Iterator

from inferfleet.documents.kinds.inference_cluster import State
from inferfleet.documents.problems import Problem
from inferfleet.fleet.shapes import counted
from inferfleet.review.digest.update import Update
from inferfleet.review.digest.values import ResumedKind, Resumption


def resumptions(update: Update) -> tuple[Resumption, ...]:
    """Return the clusters and deployments that go on, each with its replicas of the lock."""
    base, head = update.base.documents, update.head.documents
    on_clusters: Counter[str] = Counter()
    of_deployments: Counter[str] = Counter()
    for spot, replicas in update.lock.placements.items():
        after = head.clusters.get(spot.cluster)
        if after is None or after.spec.state == "abandoned" or spot.deployment not in head.deployments:
            continue
        if base.holds(spot.deployment, spot.cluster) and not head.holds(spot.deployment, spot.cluster):
            if base.deployments[spot.deployment].spec.paused:
                of_deployments[spot.deployment] += replicas
            else:
                on_clusters[spot.cluster] += replicas
    clusters = (
        _resumption("InferenceCluster", name, before.spec.state, on_clusters[name])
        for name, before in sorted(base.clusters.items())
        if before.spec.held and name in update.lock.clusters
        if (after := head.clusters.get(name)) and not after.spec.held and after.spec.state != "abandoned"
    )
    deployments = (
        _resumption("ModelDeployment", key, "paused", replicas)
        for key, replicas in sorted(of_deployments.items())
    )
    return (*clusters, *deployments)


def _resumption(kind: ResumedKind, name: str, state: State, replicas: int) -> Resumption:
    thing = f"cluster {name}" if kind == "InferenceCluster" else name
    restart = f", and {counted(replicas, 'replica')} may restart" if replicas else ""
    summary = (
        f"{thing} is no longer {state}: edits made while it was {state} take effect now, which no comparison "
        f"with this base shows{restart}"
    )
    return Resumption(kind, name, state, replicas, summary)


def resumption_problems(every: tuple[Resumption, ...]) -> Iterator[Problem]:
    """Yield a warning for each thing that goes on."""
    for resumption in every:
        yield Problem(
            resumption.summary,
            "Run `pulumi preview`, which compares with what runs",
            "spec.paused" if resumption.kind == "ModelDeployment" else "spec.state",
            kind=resumption.kind,
            key=resumption.name,
            severity="warning",
        )
