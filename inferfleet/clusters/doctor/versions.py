"""Whether Google offers the version with which a new cluster is to begin, in its region and channel."""

from collections.abc import Iterable

from inferfleet.cloud.gke.facts.floors import minor, parsed
from inferfleet.cloud.gke.pool import GkeCluster
from inferfleet.cloud.gke.recipes.findings import either
from inferfleet.cloud.gke.values import CloudCluster
from inferfleet.clusters.connections.google_apis import ContainerApi
from inferfleet.clusters.connections.refusals import CloudError
from inferfleet.clusters.doctor.values import Check, unseen
from inferfleet.documents.problems import cluster_problem
from inferfleet.documents.wording import listing

MIN_VERSION = "minVersion"


def version_check(
    cluster: GkeCluster, cloud: CloudCluster, container: ContainerApi, *, seconds: float
) -> tuple[Check, ...]:
    """Return what Google says of the version of a cluster that is not there; nothing of one that is."""
    wanted, of = cluster.gke.min_version, f"cluster {cluster.name}"
    if wanted is None:
        return ()
    try:
        if container.cluster(cloud, seconds=seconds) is not None:
            return ()
        offered = container.versions(cloud, cluster.gke.release_channel, seconds=seconds)
    except CloudError as error:
        return (unseen(of, MIN_VERSION, error.what, error.next_step),)
    if any(offers(version, wanted) for version in offered):
        return (Check(of, MIN_VERSION),)
    where = f"channel {cluster.gke.release_channel} in {cluster.gke.region}"
    problem = cluster_problem(
        cluster.name,
        f"cluster {cluster.name!r} is to begin with GKE {wanted}, which Google does not offer to {where}; it "
        f"offers {listing(offered) or 'none'}",
        _step(offered),
        "spec.cluster.gke.minVersion",
    )
    return (Check(of, MIN_VERSION, "wrong", problem),)


def offers(version: str, wanted: str) -> bool:
    """Return whether `wanted` may mean a version: 1.34 any of 1.34, and one that is in full itself alone."""
    numbers = parsed(wanted)
    return parsed(version)[: len(numbers)] == numbers


def _step(offered: Iterable[str]) -> str:
    minors = sorted({minor(version) for version in offered}, key=parsed)
    quoted = [f'"{each}"' for each in minors]
    return f"Write minVersion: {either(quoted)}" if quoted else "Ask Google, or write another region"
