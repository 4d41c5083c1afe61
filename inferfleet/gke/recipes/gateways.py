"""Rules of gateways: does Google's class take InferencePools, and does GKE bring these along."""

from collections.abc import Container, Iterator

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.gke.facts.floors import INFERENCE_POOLS
from inferfleet.gke.facts.gateway_classes import GOOGLES, LLM_D, TAKES_POOLS
from inferfleet.gke.pool import GkeCluster
from inferfleet.gke.recipes.version import LATE, MAYBE_UPGRADED

_CLASS = "spec.serving.gateway.className"
_TAKE = " or ".join(sorted(name for name, verdict in TAKES_POOLS.items() if verdict == "yes"))


def gateway_problems(documents: Documents) -> Iterator[Problem]:
    """Yield a problem for each cluster whose gateway is of a class of Google's that takes no InferencePools.

    It is a warning where no source says whether the class does. Existing clusters count too: the classes are
    Google's wherever they are.
    """
    for name, cluster in sorted(documents.clusters.items()):
        of_class = cluster.spec.serving.gateway.class_name or ""
        verdict = TAKES_POOLS.get(of_class, "disputed")
        if not of_class.startswith(GOOGLES) or verdict == "yes" or cluster.spec.state == "abandoned":
            continue
        what = f"cluster {name} has a gateway of class {of_class}, "
        if verdict == "no":
            what += f"which takes no InferencePools: routes answer nothing, NotSupportedByGateway ({LLM_D})"
        else:
            what += f"of which no source says that it takes InferencePools ({LLM_D})"
        yield Problem(
            what,
            f"Write className: {_TAKE}",
            _CLASS,
            kind="InferenceCluster",
            key=name,
            severity="error" if verdict == "no" else "warning",
        )


def pool_kind_problems(cluster: GkeCluster, made: Container[str]) -> Iterator[Problem]:
    """Yield a problem where the cluster is, or may be, too old to have InferencePools.

    `made` holds the clusters that exist, which their channel may have upgraded since.
    """
    gke, since = cluster.gke, INFERENCE_POOLS.always
    what = f"cluster {cluster.name} needs GKE {since}, which brings the CRD of InferencePools; "
    if gke.min_version is not None and INFERENCE_POOLS.needed(gke.min_version):
        field, next_step = "minVersion", f"Write minVersion: {since}, or newer"
        what += f"minVersion is {gke.min_version} ({INFERENCE_POOLS.source})"
        if cluster.name in made:
            what += MAYBE_UPGRADED
    elif gke.min_version is None and gke.release_channel in LATE and cluster.name not in made:
        field, next_step = "releaseChannel", f"Write minVersion: {since}"
        what += f"channel {gke.release_channel} may have an older one ({INFERENCE_POOLS.source})"
    else:
        return
    refused = field == "minVersion" and cluster.name not in made
    yield Problem(
        what,
        next_step,
        f"spec.cluster.gke.{field}",
        kind="InferenceCluster",
        key=cluster.name,
        severity="error" if refused else "warning",
    )
