"""Whether the nodes of an existing cluster are what its document declares, and who else may run on them.

All of it is a warning or a notice: nodes may be added, and drivers installed, while an update waits.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inferfleet.clusters.connections.api import Api, RefusedError
from inferfleet.clusters.connections.resources import known
from inferfleet.clusters.preflight.published import Published
from inferfleet.desired.pools import DeclaredPool
from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import listing
from inferfleet.serving.picker import deployment_of
from inferfleet.tables.devices import RESOURCE_API

_Object = Mapping[str, Any]
_MANY = 3


def node_problems(api: Api, cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield what pools with replicas lack of their declared nodes, and GPU nodes that pickers may take.

    Who may not list nodes is told nothing here, because an update does not need that right.
    """
    used = [pool for pool in cluster.pools if pool.replicas]
    if not used:
        return
    try:
        nodes = list(api.items("/api/v1/nodes"))
        published = _published(api) if any(pool.claimed for pool in used) else Published((), ())
    except RefusedError as refused:
        if refused.status not in (403, 404):
            raise
        return
    with_pickers = any(deployment_of(wanted.manifest) for wanted in cluster.objects)
    for pool in used:
        own = [node for node in nodes if _selects(pool, node)]
        yield from _too_few(cluster.connection.cluster, pool, len(own))
        yield from _closed(cluster.connection.cluster, pool, own)
        yield from _too_small(cluster.connection.cluster, pool, own, published)
        if with_pickers and pool.devices:
            yield from _open(cluster.connection.cluster, pool, own)


def _published(api: Api) -> Published:
    kind = (RESOURCE_API, "ResourceSlice")
    resource = known(api, [kind]).get(kind)
    return Published(api.items(resource.path()) if resource else (), ())


def _selects(pool: DeclaredPool, node: _Object) -> bool:
    return pool.selector.items() <= (node["metadata"].get("labels") or {}).items()


def _too_few(cluster: str, pool: DeclaredPool, there: int) -> Iterator[Problem]:
    if there >= pool.least:
        return
    labels = _labels(pool)
    yield cluster_problem(
        cluster,
        f"pool {cluster}/{pool.name} declares {_nodes(pool.least)}, and the cluster has {there} with "
        f"{labels}; {_replicas(pool.replicas)} placed there",
        f"Add nodes, label those that are there (`kubectl label node <node> {labels.replace(',', ' ')}`), or "
        "correct the pool",
        pool.path("nodeCount"),
        severity="warning",
    )


def _closed(cluster: str, pool: DeclaredPool, nodes: Sequence[_Object]) -> Iterator[Problem]:
    """Yield which nodes take no pods, where too few do."""
    cordoned = [node["metadata"]["name"] for node in nodes if (node.get("spec") or {}).get("unschedulable")]
    unready = [node["metadata"]["name"] for node in nodes if _is_down(node)]
    if len(nodes) < pool.least or len(nodes) - len({*cordoned, *unready}) >= pool.least:
        return
    for names, how, command in (
        (cordoned, "cordoned", "kubectl uncordon"),
        (unready, "not ready", "kubectl describe node"),
    ):
        if names:
            yield cluster_problem(
                cluster,
                f"{_nodes(len(names))} of pool {cluster}/{pool.name} ({listing(sorted(names), _MANY)}) "
                f"{'is' if len(names) == 1 else 'are'} {how}, so new pods find no place there; "
                f"{_replicas(pool.replicas)} placed in the pool",
                f"Run `{command} {' '.join(sorted(names)[:_MANY])}`, or correct the pool",
                pool.path("nodeCount"),
                severity="warning",
            )


def _is_down(node: _Object) -> bool:
    conditions = node["status"].get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") != "True" for one in conditions)


def _too_small(
    cluster: str, pool: DeclaredPool, nodes: Sequence[_Object], published: Published
) -> Iterator[Problem]:
    lacks: dict[str, list[str]] = {}
    for node in nodes:
        name, has = node["metadata"]["name"], node["status"].get("allocatable") or {}
        devices = published.of_node(name, pool.driver) if pool.claimed else _amount(has, pool.resource)
        if devices < pool.devices:
            called = f"devices of {pool.driver}" if pool.claimed else pool.resource
            lacks.setdefault(f"{devices} of {pool.devices} {called}", []).append(name)
        if (cpu := int(_amount(has, "cpu") * 1000)) < pool.cpu:
            lacks.setdefault(f"{cpu}m of {pool.cpu}m cpu", []).append(name)
        if (memory := int(_amount(has, "memory"))) < pool.memory:
            lacks.setdefault(f"{memory >> 20} of {pool.memory >> 20} MiB memory", []).append(name)
    for what, names in lacks.items():
        yield cluster_problem(
            cluster,
            f"{_nodes(len(names))} of pool {cluster}/{pool.name} ({listing(sorted(names), _MANY)}) "
            f"offer{'s' if len(names) == 1 else ''} {what} that class {pool.class_name} declares",
            f"Compare with `kubectl describe node {names[0]}`: correct the class, or install what offers "
            f"{pool.resource or 'it'} there (device plugin, DRA driver)",
            pool.path("className"),
            severity="warning",
        )


def _open(cluster: str, pool: DeclaredPool, nodes: Sequence[_Object]) -> Iterator[Problem]:
    """Yield that nodes with accelerators take pods without a toleration, such as those of pickers."""
    untainted = [
        node["metadata"]["name"]
        for node in nodes
        if not any(
            taint.get("effect") in ("NoSchedule", "NoExecute") for taint in node["spec"].get("taints") or ()
        )
    ]
    if untainted:
        yield cluster_problem(
            cluster,
            f"{_nodes(len(untainted))} of pool {cluster}/{pool.name} ({listing(sorted(untainted), _MANY)}) "
            f"{'has' if len(untainted) == 1 else 'have'} accelerators and no taint, so endpoint "
            "pickers and pods of others may take cores and memory there",
            f"If models must have them alone, `kubectl taint node {untainted[0]} "
            f"{pool.resource}=present:NoSchedule`, and write the taint into the pool",
            pool.path("taints"),
            severity="notice",
        )


def _labels(pool: DeclaredPool) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(pool.selector.items()))


def _amount(has: Mapping[str, Any], resource: str) -> Any:
    return parse_quantity(str(has.get(resource, "0")))


def _nodes(number: int) -> str:
    return f"{number} node{'' if number == 1 else 's'}"


def _replicas(number: int) -> str:
    return f"{number} replica{' is' if number == 1 else 's are'}"
