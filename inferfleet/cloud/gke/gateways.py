"""Google's gateways: which classes take InferencePools and routes, whether GKE brings pools along, and which
networks of others lack subnetworks for their proxies.

https://docs.cloud.google.com/compute/docs/reference/rest/v1/subnetworks/list
"""

from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.cloud.gke.described import DescribedCluster
from inferfleet.cloud.gke.facts.floors import INFERENCE_POOLS
from inferfleet.cloud.gke.facts.sources import LLM_D, Source
from inferfleet.cloud.gke.recipes.problems import MAYBE_UPGRADED, begin_with
from inferfleet.cloud.values import CloudCluster, Verdict
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.problems import Problem, cluster_problem

# Only Google's controller serves classes of such names.
GOOGLES = "gke-l7-"

# Whether a class takes InferencePools. What the controller says of the global one: "Bind of InferencePool ...
# failed: Unsupported gateway: gatewayclass gke-l7-global-external-managed does not support inference pools".
# Of classes that are not here no source says anything. Those that take pools are regional.
TAKES_POOLS: Mapping[str, Verdict] = {
    "gke-l7-rilb": "yes",
    "gke-l7-regional-external-managed": "yes",
    "gke-l7-global-external-managed": "no",
}

# Proxies of regional load balancers take their addresses from such a subnetwork.
PROXY_ONLY = Source(
    "Google, proxy-only subnets",
    "https://docs.cloud.google.com/load-balancing/docs/proxy-only-subnets",
    "2026-11-23",
)

# Its controller refuses routes with `timeouts`, which those for other providers have: Accepted is False,
# UnsupportedValue.
NO_TIMEOUTS = Source("kserve/kserve#5311", "https://github.com/kserve/kserve/issues/5311", "2026-03-27")

_CLASS = "spec.serving.gateway.className"

_PROVIDER = "spec.serving.gateway.provider"

# Channels that bring versions late, or keep old ones.
_LATE = ("STABLE", "EXTENDED")

_TAKE = " or ".join(sorted(name for name, verdict in TAKES_POOLS.items() if verdict == "yes"))


def gateway_problems(documents: Documents, locked_clusters: Container[str]) -> Iterator[Problem]:
    """Yield a problem for each gateway of Google's that serves no routes to InferencePools as it is written.

    Existing clusters count too: the classes are Google's wherever they are. `locked_clusters` holds the
    clusters that are in the lock, of any source.
    """
    for name, cluster in sorted(documents.clusters.items()):
        of_class = cluster.spec.serving.gateway.class_name or ""
        if of_class.startswith(GOOGLES) and cluster.spec.state != "abandoned":
            yield from _class_problems(name, of_class)
            yield from _provider_problems(name, cluster, is_locked=name in locked_clusters)


def _class_problems(name: str, of_class: str) -> Iterator[Problem]:
    """Yield an error where the class takes no InferencePools, a warning where no source says that it does."""
    verdict = TAKES_POOLS.get(of_class, "disputed")
    if verdict == "yes":
        return
    what = f"cluster {name} has a gateway of class {of_class}, "
    if verdict == "no":
        what += "to which Google's controller binds no InferencePools: routes answer nothing, "
        what += "NotSupportedByParent"
    else:
        what += "of which no source says that it takes InferencePools"
    yield cluster_problem(
        name,
        f"{what}; the guide to them has two others ({LLM_D})",
        f"Write className: {_TAKE}",
        _CLASS,
        severity="error" if verdict == "no" else "warning",
    )


def _provider_problems(name: str, cluster: InferenceCluster, *, is_locked: bool) -> Iterator[Problem]:
    """Yield an error where the routes are those for another controller than Google's.

    It is a warning of a cluster that is in the lock: it may have no routes, and what else its update does
    has nothing to do with them.
    """
    gateway = cluster.spec.serving.gateway
    if gateway.provider == "gke":
        return
    yield cluster_problem(
        name,
        f"cluster {name} has a gateway of class {gateway.class_name} with provider {gateway.provider}: its "
        f"routes have timeouts, which Google's controller refuses with UnsupportedValue ({NO_TIMEOUTS}), and "
        "it gets no policies for health checks and timeouts",
        "Write provider: gke",
        _PROVIDER,
        severity="warning" if is_locked else "error",
    )


def pool_kind_problems(cluster: DescribedCluster, existing_clusters: Container[str]) -> Iterator[Problem]:
    """Yield a warning where the cluster is, or may be, too old to have InferencePools by itself.

    Never more than that: somebody may install their CRD there, before deployments come or while an update
    waits for it. One that waits in vain ends with an error, and the next goes on where it was.
    `existing_clusters` holds those that exist, which their channel may have upgraded since.
    """
    gke, since = cluster.gke, INFERENCE_POOLS.since[-1]
    what = f"cluster {cluster.name} may lack the CRD of InferencePools, which GKE brings from {since} on; "
    if gke.min_version is not None and INFERENCE_POOLS.needed(gke.min_version):
        field = "minVersion"
        what += f"minVersion is {gke.min_version} ({INFERENCE_POOLS.source})"
        if cluster.name in existing_clusters:
            what += MAYBE_UPGRADED
    elif gke.min_version is None and gke.release_channel in _LATE and cluster.name not in existing_clusters:
        field = "releaseChannel"
        what += f"channel {gke.release_channel} may have an older one ({INFERENCE_POOLS.source})"
    else:
        return
    yield cluster_problem(
        cluster.name,
        what,
        f"{begin_with(since)}; or install the CRD as that page says, and deploy then",
        f"spec.cluster.gke.{field}",
        severity="warning",
    )


PURPOSE = "REGIONAL_MANAGED_PROXY"


@dataclass(frozen=True)
class ProxyNeed:
    """A cluster whose gateway needs a proxy-only subnetwork in `network` of `project`, in its region."""

    cluster: str
    project: str
    region: str
    network: str


def proxy_needs(documents: Documents, clusters: Collection[CloudCluster]) -> tuple[ProxyNeed, ...]:
    """Return the clusters in existing networks whose gateway is of a regional class of Google's.

    In a network that the stack creates it makes the subnetwork too.
    """
    found = []
    for cloud in clusters:
        cluster = documents.clusters[cloud.cluster].spec
        existing = cluster.cluster.gke.network.existing if cluster.cluster.gke else None
        if existing and TAKES_POOLS.get(cluster.serving.gateway.class_name or "") == "yes":
            project = existing.project or cloud.project
            found.append(ProxyNeed(cloud.cluster, project, cloud.region, existing.name))
    return tuple(found)


def proxy_problems(need: ProxyNeed, answer: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a warning where Google's answer lists no active subnetwork of the network for proxies."""
    subnetworks = answer.get("items") or ()
    if any(
        subnetwork.get("purpose") == PURPOSE
        # Google leaves out a role that is the only one there is.
        and subnetwork.get("role", "ACTIVE") == "ACTIVE"
        and str(subnetwork.get("network")).endswith(f"/{need.project}/global/networks/{need.network}")
        for subnetwork in subnetworks
    ):
        return
    what = (
        f"network {need.network} of project {need.project} has no active proxy-only subnetwork in "
        f"{need.region}, without which the gateway of cluster {need.cluster} is never programmed "
        f"({PROXY_ONLY})"
    )
    command = (
        f"gcloud compute networks subnets create proxies --project={need.project} --region={need.region} "
        f"--network={need.network} --purpose={PURPOSE} --role=ACTIVE --range=<a free /26 or larger>"
    )
    yield cluster_problem(
        need.cluster, what, f"Create one: {command}", "spec.cluster.gke.network.existing", severity="warning"
    )
