"""Rules of drivers: are the engines that are placed on a pool built for the driver of its nodes."""

from collections.abc import Iterator, Mapping

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.roles import running_image
from inferfleet.gke.facts.drivers import BRANCHES, installed, needed
from inferfleet.gke.pool import GkeCluster, GkePool

# The branch of DEFAULT in the last version of GKE of which Google's page says it.
_LOWEST = max(row.branch for row in BRANCHES if not row.family and row.choice == "DEFAULT")


def driver_problems(
    documents: Documents, clusters: Mapping[str, GkeCluster], planned: Plan
) -> Iterator[Problem]:
    """Yield a warning for each pool with engines that need a newer driver than its nodes have, or may have.

    Never more than that: an image may bring compatible libraries of its own.
    """
    pools = {pool.key: pool for cluster in clusters.values() for pool in cluster.pools}
    told: set[tuple[str, str]] = set()
    for placement in planned.placements:
        spot = placement.spot
        for role, name in spot.pools:
            pool = pools.get(f"{spot.cluster}/{name}")
            image = _image(documents, spot.deployment, role, spot.cluster)
            if pool and image and (pool.key, image) not in told:
                told.add((pool.key, image))
                yield from _too_old(pool, image, spot.deployment)


def _too_old(pool: GkePool, image: str, deployment: str) -> Iterator[Problem]:
    wanted, known = needed(image), installed(pool.machine, pool.driver, pool.gke.min_version)
    if wanted is None or pool.recipe.accelerator is None or pool.driver == "INSTALLATION_DISABLED":
        return
    row, branch = wanted
    if known and known.branch >= branch:
        return
    # No version brings an older driver than one before it, whatever the newest is.
    if known is None and (pool.driver == "LATEST" or branch <= _LOWEST):
        return
    has = (
        f"which is R{known.branch} ({known.source})"
        if known
        else "of which no source says what it is since GKE 1.34; up to 1.33 it is R535"
    )
    what = (
        f"pool {pool.name} of cluster {pool.cluster} has driver {pool.driver}, {has}; image {image} of "
        f"deployment {deployment!r} has {row.cuda}, which needs R{branch} ({row.source})"
    )
    older = max(ending for ending, lower in row.other.items() if lower < branch)
    next_step = (
        f"Write driver: LATEST in class {pool.gke_class.name}, which replaces the pool where `replace.allow` "
        f"lists driver; or use an image whose tag ends in {older}"
    )
    yield Problem(what, next_step, pool.path(), kind="InferenceCluster", key=pool.cluster, severity="warning")


def _image(documents: Documents, key: str, role: str, cluster: str) -> str | None:
    deployment = documents.deployments.get(key)
    if deployment is None:
        return None
    return running_image(deployment, role, documents.clusters[cluster].spec.serving.images)
