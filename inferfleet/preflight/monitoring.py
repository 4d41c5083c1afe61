"""Which objects of monitoring a cluster does not know: it gets none of them, and serves all the same."""

from collections.abc import Collection, Iterator

from inferfleet.api.problems import Problem, cluster_problem
from inferfleet.desired.values import DesiredCluster
from inferfleet.manifests.monitors import GOOGLES
from inferfleet.reach.resources import ApiKind


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


def _wanted(cluster: DesiredCluster) -> frozenset[ApiKind]:
    return frozenset((made.api_version, made.kind) for made in cluster.monitors)
