"""Which objects of monitoring and scaling a cluster does not know: it gets none, and serves without."""

from collections.abc import Collection, Iterator

from inferfleet.clusters.connections.api import Api
from inferfleet.clusters.connections.resources import ApiKind, served_versions
from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.serving.monitors import GOOGLES
from inferfleet.serving.scaler import HPA, KEDA, OF_OTHERS, OF_PODS


def unknown_kinds(cluster: DesiredCluster, known: Collection[ApiKind]) -> frozenset[ApiKind]:
    """Return the kinds of monitoring that are desired on a cluster and not among those that it knows."""
    return _wanted(cluster) - frozenset(known)


def kinds_to_come(cluster: DesiredCluster) -> frozenset[ApiKind]:
    """Return the kinds of monitoring that a cluster of the stack which does not exist yet will not know.

    Google installs its own with the cluster; what others define is installed by somebody later.
    """
    return _wanted(cluster) - {GOOGLES}


def left_out(cluster: DesiredCluster, unknown: Collection[ApiKind]) -> Iterator[Problem]:
    """Yield a notice of the objects that a cluster does not get."""
    if not unknown:
        return
    name = cluster.connection.cluster
    if KEDA in unknown:
        scaled = [made.manifest for made in cluster.monitors if (made.api_version, made.kind) == KEDA]
        targets = sorted(made["spec"]["scaleTargetRef"]["name"] for made in scaled)
        yield cluster_problem(
            name,
            f"cluster {name!r} does not know {KEDA[1]} of {KEDA[0]}, so nobody scales {listing(targets, 3)}: "
            "they keep the replicas that they have",
            "Install KEDA there and run `pulumi up` again, or write scaling.by: HPA",
            severity="notice",
        )
    if not (unknown := frozenset(unknown) - {KEDA}):
        return
    kinds = " and ".join(f"{kind} of {version}" for version, kind in sorted(unknown))
    count = sum((made.api_version, made.kind) in unknown for made in cluster.monitors)
    yield cluster_problem(
        name,
        f"cluster {name!r} does not know {kinds}, so {count} "
        f"object{'' if count == 1 else 's'} of serving.monitoring {'is' if count == 1 else 'are'} left out",
        "Install their CRDs there and run `pulumi up` again, or choose another kind in serving.monitoring",
        "spec.serving.monitoring",
        severity="notice",
    )


def without_metrics(api: Api, cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield which APIs of metrics a cluster lacks that its HorizontalPodAutoscalers read: these then set only
    their bounds.
    """
    scalers = [made.manifest for made in cluster.objects if (made.api_version, made.kind) == HPA]
    read = {metric["type"] for made in scalers for metric in made["spec"].get("metrics", ())}
    for kind, group in (("Pods", OF_PODS), ("External", OF_OTHERS)):
        if kind in read and not served_versions(api, group):
            name = cluster.connection.cluster
            yield cluster_problem(
                name,
                f"nothing on cluster {name!r} serves {group}, where HorizontalPodAutoscalers read metrics, "
                "so deployments that they scale keep the replicas that they have, between min and max",
                "Install an adapter there, such as prometheus-adapter, or write scaling.by: KEDA",
                severity="notice",
            )


def _wanted(cluster: DesiredCluster) -> frozenset[ApiKind]:
    return frozenset((made.api_version, made.kind) for made in cluster.monitors)
