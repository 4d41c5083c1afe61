"""Rules of gateways: does Google's class take InferencePools and routes, and does GKE bring pools along."""

from collections.abc import Container, Iterator

from inferfleet.cloud.gke.facts.floors import INFERENCE_POOLS
from inferfleet.cloud.gke.facts.gateway_classes import GOOGLES, LLM_D, NO_TIMEOUTS, TAKES_POOLS
from inferfleet.cloud.gke.pool import GkeCluster
from inferfleet.cloud.gke.recipes.version import MAYBE_UPGRADED, begin_with
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.problems import Problem

_CLASS = "spec.serving.gateway.className"
_PROVIDER = "spec.serving.gateway.provider"
# Channels that bring versions late, or keep old ones.
_LATE = ("STABLE", "EXTENDED")
_TAKE = " or ".join(sorted(name for name, verdict in TAKES_POOLS.items() if verdict == "yes"))


def gateway_problems(documents: Documents, known: Container[str]) -> Iterator[Problem]:
    """Yield a problem for each gateway of Google's that serves no routes to InferencePools as it is written.

    Existing clusters count too: the classes are Google's wherever they are. `known` holds the clusters that
    are in the lock, of any source.
    """
    for name, cluster in sorted(documents.clusters.items()):
        of_class = cluster.spec.serving.gateway.class_name or ""
        if of_class.startswith(GOOGLES) and cluster.spec.state != "abandoned":
            yield from _of_class(name, of_class)
            yield from _of_provider(name, cluster, known=name in known)


def _of_class(name: str, of_class: str) -> Iterator[Problem]:
    """Yield an error where the class takes no InferencePools, a warning where no source says that it does."""
    verdict = TAKES_POOLS.get(of_class, "disputed")
    if verdict == "yes":
        return
    what = f"cluster {name} has a gateway of class {of_class}, "
    if verdict == "no":
        what += "to which Google's controller binds no InferencePools: routes answer nothing, "
        what += "NotSupportedByGateway"
    else:
        what += "of which no source says that it takes InferencePools"
    yield Problem(
        f"{what}; the guide to them has two others ({LLM_D})",
        f"Write className: {_TAKE}",
        _CLASS,
        kind="InferenceCluster",
        key=name,
        severity="error" if verdict == "no" else "warning",
    )


def _of_provider(name: str, cluster: InferenceCluster, *, known: bool) -> Iterator[Problem]:
    """Yield an error where the routes are those for another controller than Google's.

    It is a warning of a cluster that is in the lock: it may have no routes, and what else its update does
    has nothing to do with them.
    """
    gateway = cluster.spec.serving.gateway
    if gateway.provider == "gke":
        return
    yield Problem(
        f"cluster {name} has a gateway of class {gateway.class_name} with provider {gateway.provider}: its "
        f"routes have timeouts, which Google's controller refuses with UnsupportedValue ({NO_TIMEOUTS}), and "
        "it gets no policies for health checks and timeouts",
        "Write provider: gke",
        _PROVIDER,
        kind="InferenceCluster",
        key=name,
        severity="warning" if known else "error",
    )


def pool_kind_problems(cluster: GkeCluster, made: Container[str]) -> Iterator[Problem]:
    """Yield a warning where the cluster is, or may be, too old to have InferencePools by itself.

    Never more than that: somebody may install their CRD there, before deployments come or while an update
    waits for it. One that waits in vain ends with an error, and the next goes on where it was. `made` holds
    the clusters that exist, which their channel may have upgraded since.
    """
    gke, since = cluster.gke, INFERENCE_POOLS.since[-1]
    what = f"cluster {cluster.name} may lack the CRD of InferencePools, which GKE brings from {since} on; "
    if gke.min_version is not None and INFERENCE_POOLS.needed(gke.min_version):
        field = "minVersion"
        what += f"minVersion is {gke.min_version} ({INFERENCE_POOLS.source})"
        if cluster.name in made:
            what += MAYBE_UPGRADED
    elif gke.min_version is None and gke.release_channel in _LATE and cluster.name not in made:
        field = "releaseChannel"
        what += f"channel {gke.release_channel} may have an older one ({INFERENCE_POOLS.source})"
    else:
        return
    yield Problem(
        what,
        f"{begin_with(since)}; or install the CRD as that page says, and deploy then",
        f"spec.cluster.gke.{field}",
        kind="InferenceCluster",
        key=cluster.name,
        severity="warning",
    )
