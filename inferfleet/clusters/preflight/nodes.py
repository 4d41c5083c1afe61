"""Nodes of clusters and their devices: whether they are what documents declare, and what capacity.lock keeps.

What is said of them is a warning or a notice: nodes may be added, and drivers installed, while an update
waits. One thing is an error: that pods which run would end for others that no node of a pool of fixed size
takes. `inferfleet capacity` asks for what capacity.lock keeps, and nothing else does: plans read it.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from inferfleet.clusters.connections.api import Api, RefusedError, served_kinds
from inferfleet.clusters.connections.ask import ask
from inferfleet.clusters.connections.google import Addresses
from inferfleet.clusters.preflight.quotas import allowed
from inferfleet.clusters.preflight.workloads import Workload, ended_first, owner_of, running
from inferfleet.desired.values import Connection, Desired, DesiredCluster, ExpectedNodes
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import Device
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.quantity import parse_quantity
from inferfleet.documents.wording import listing
from inferfleet.fleet import names
from inferfleet.fleet.demands import Demands
from inferfleet.fleet.lock.capacity import MOST_VALUES, NOTHING, Amounts, Observation
from inferfleet.fleet.node_conditions import (
    OF_ONE_NODE,
    MatchingNodes,
    NodeConditions,
    conditions_of,
    label_match,
    of_node,
)
from inferfleet.fleet.shapes import PoolKey, accelerator, requests
from inferfleet.serving.picker import deployment_of
from inferfleet.serving.workload import templates_of
from inferfleet.tables.devices import RESOURCE_API, is_product

_Item = Mapping[str, Any]
_MANY = 3
_DriversPool = tuple[str, str]  # driver and the name of its pool
_Counters = dict[tuple[str, str], Decimal]  # by counter set and counter


def node_problems(api: Api, cluster: DesiredCluster, workloads: Sequence[Workload]) -> Iterator[Problem]:
    """Yield what pools with replicas lack of their declared nodes, and GPU nodes that pickers may take; on a
    cluster that the stack creates, labels alone that pods ask for. `workloads` are those that run there.

    Who may not list nodes is told nothing here, because an update does not need that right.
    """
    used = [pool for pool in cluster.pools if pool.replicas]
    if not used:
        return
    try:
        nodes = list(api.items("/api/v1/nodes"))
        devices = _devices(api) if any(pool.claimed for pool in used) else Devices((), ())
    except RefusedError as refused:
        if refused.status not in (403, 404):
            raise
        return
    ended = ended_first(cluster, workloads)
    with_pickers = any(deployment_of(obj.manifest) for obj in cluster.objects)
    for pool in used:
        pool_nodes = [node for node in nodes if _selects(pool, node)]
        yield from _node_label_problems(cluster, pool, pool_nodes, ended)
        if cluster.connection.cloud:
            continue
        yield from _node_count_problems(cluster.connection.cluster, pool, len(pool_nodes))
        yield from _closed_node_problems(cluster.connection.cluster, pool, pool_nodes)
        yield from _node_size_problems(cluster.connection.cluster, pool, pool_nodes, devices)
        yield from _product_problems(cluster.connection.cluster, pool, pool_nodes)
        if with_pickers and pool.devices:
            yield from _untainted_node_problems(cluster.connection.cluster, pool, pool_nodes)


def _devices(api: Api) -> "Devices":
    kind = (RESOURCE_API, "ResourceSlice")
    resource = served_kinds(api, [kind]).get(kind)
    return Devices(api.items(resource.path()) if resource else (), ())


def _selects(pool: ExpectedNodes, node: _Item) -> bool:
    return pool.selector.items() <= (node["metadata"].get("labels") or {}).items()


def _node_count_problems(cluster: str, pool: ExpectedNodes, number: int) -> Iterator[Problem]:
    if number >= pool.least:
        return
    labels = _labels(pool)
    yield cluster_problem(
        cluster,
        f"pool {cluster}/{pool.name} declares {_nodes(pool.least)}, and the cluster has {number} with "
        f"{labels}; {_replicas(pool.replicas)} placed there",
        f"Add nodes, label those that are there (`kubectl label node <node> {labels.replace(',', ' ')}`), or "
        "correct the pool",
        pool.path("nodeCount"),
        severity="warning",
    )


def _closed_node_problems(cluster: str, pool: ExpectedNodes, nodes: Sequence[_Item]) -> Iterator[Problem]:
    """Yield which nodes take no pods, where too few do."""
    cordoned = [node["metadata"]["name"] for node in nodes if (node.get("spec") or {}).get("unschedulable")]
    unready = [node["metadata"]["name"] for node in nodes if _is_down(node)]
    if len(nodes) < pool.least or len(nodes) - len({*cordoned, *unready}) >= pool.least:
        return
    for closed, how, command in (
        (cordoned, "cordoned", "kubectl uncordon"),
        (unready, "not ready", "kubectl describe node"),
    ):
        if closed:
            yield cluster_problem(
                cluster,
                f"{_nodes(len(closed))} of pool {cluster}/{pool.name} ({listing(sorted(closed), _MANY)}) "
                f"{'is' if len(closed) == 1 else 'are'} {how}, so new pods find no place there; "
                f"{_replicas(pool.replicas)} placed in the pool",
                f"Run `{command} {' '.join(sorted(closed)[:_MANY])}`, or correct the pool",
                pool.path("nodeCount"),
                severity="warning",
            )


def _is_down(node: _Item) -> bool:
    conditions = node["status"].get("conditions") or ()
    return any(
        condition.get("type") == "Ready" and condition.get("status") != "True" for condition in conditions
    )


def _node_size_problems(
    cluster: str, pool: ExpectedNodes, nodes: Sequence[_Item], devices: "Devices"
) -> Iterator[Problem]:
    lacks: dict[str, list[str]] = {}
    for node in nodes:
        name, has = node["metadata"]["name"], node["status"].get("allocatable") or {}
        number = devices.of_node(name, pool.driver) if pool.claimed else _amount(has, pool.resource)
        if number < pool.devices:
            called = f"devices of {pool.driver}" if pool.claimed else pool.resource
            lacks.setdefault(f"{number} of {pool.devices} {called}", []).append(name)
        if (cpu := int(_amount(has, "cpu") * 1000)) < pool.cpu:
            lacks.setdefault(f"{cpu}m of {pool.cpu}m cpu", []).append(name)
        if (memory := int(_amount(has, "memory"))) < pool.memory:
            lacks.setdefault(f"{memory >> 20} of {pool.memory >> 20} MiB memory", []).append(name)
    for what, lacking in lacks.items():
        yield cluster_problem(
            cluster,
            f"{_nodes(len(lacking))} of pool {cluster}/{pool.name} ({listing(sorted(lacking), _MANY)}) "
            f"offer{'s' if len(lacking) == 1 else ''} {what} that class {pool.class_name} declares",
            f"Compare with `kubectl describe node {lacking[0]}`: correct the class, or install what offers "
            f"{pool.resource or 'it'} there (device plugin, DRA driver)",
            pool.path("className"),
            severity="warning",
        )


def _node_label_problems(
    cluster: DesiredCluster, pool: ExpectedNodes, nodes: Sequence[_Item], ended: Sequence[Workload]
) -> Iterator[Problem]:
    """Yield what pods of the pool ask of labels that not all of its nodes have. Of `ended` workloads pods end
    before their successors are ready.
    """
    name = cluster.connection.cluster
    field, label_them = (
        ("labels", "Write the label into the pool")
        if cluster.connection.cloud
        else ("nodeSelector", "Label the nodes (`kubectl label node <node> ...`)")
    )
    for conditions, deployments in pool.conditions.items():
        labels = [{**of_node(node, conditions.keys), **pool.labels} for node in nodes]
        matches = [label_match(conditions, of_this) for of_this in labels]
        unmet = [each for each in matches if each.nodes == MatchingNodes.NONE]
        if not unmet:
            continue
        needs = "; or ".join(dict.fromkeys("; or ".join(each.needs) for each in unmet))
        meeting = len(nodes) - len(unmet)
        problem = cluster_problem(
            name,
            f"pods of {listing(deployments, _MANY)} need {needs}, and of {_nodes(len(nodes))} of pool "
            f"{name}/{pool.name}, where they are placed, {meeting or 'none'} would do",
            f"{label_them}, or correct the template: pods that find none stay Pending",
            pool.path(field),
            severity="warning",
        )
        ending = [] if meeting or pool.autoscaled else _owners(ended, pool, conditions)
        if ending:
            problem = replace(
                problem,
                what=f"{problem.what}; pods of {listing(ending, _MANY)} that run there would end first",
                next_step=f"{label_them}, correct the template, or write rollout: Surge, which ends pods "
                "once others are ready",
                severity="error",
            )
        yield problem


def _owners(workloads: Iterable[Workload], pool: ExpectedNodes, conditions: NodeConditions) -> list[str]:
    """Return the deployments of workloads whose pods ask that of nodes of the pool."""
    # Templates for other pools have another selector, which is a condition more here.
    return sorted(
        {
            owner_of(workload)
            for workload in workloads
            for template in templates_of(workload)
            if conditions_of(template["spec"], without=pool.selector) == conditions
        }
    )


def _product_problems(cluster: str, pool: ExpectedNodes, nodes: Sequence[_Item]) -> Iterator[Problem]:
    """Yield nodes whose label of the product names another than the class."""
    for label, product in pool.products.items():
        others: dict[str, list[str]] = {}
        for node in nodes:
            named = (node["metadata"].get("labels") or {}).get(label)
            if named and not is_product(named, product):
                others.setdefault(named, []).append(node["metadata"]["name"])
        for named, names_of_nodes in others.items():
            yield cluster_problem(
                cluster,
                f"{_nodes(len(names_of_nodes))} of pool {cluster}/{pool.name} "
                f"({listing(sorted(names_of_nodes), _MANY)}) {'has' if len(names_of_nodes) == 1 else 'have'} "
                f"{named} ({label}), and class {pool.class_name} says {product}",
                "Correct productName in the class, or give the pool the class of its nodes",
                pool.path("className"),
                severity="warning",
            )


def _untainted_node_problems(cluster: str, pool: ExpectedNodes, nodes: Sequence[_Item]) -> Iterator[Problem]:
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


def _labels(pool: ExpectedNodes) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(pool.selector.items()))


def _amount(has: Mapping[str, Any], resource: str) -> Any:
    return parse_quantity(str(has.get(resource, "0")))


def _nodes(number: int) -> str:
    return f"{number} node{'' if number == 1 else 's'}"


def _replicas(number: int) -> str:
    return f"{number} replica{' is' if number == 1 else 's are'}"


def capacity_of_pools(
    desired: Desired,
    documents: Documents,
    kubeconfigs: Mapping[str, str],
    *,
    google: Addresses,
    today: date,
    seconds: float,
) -> tuple[dict[PoolKey, Observation], tuple[Problem, ...]]:
    """Return what there is for each pool of the clusters that answer within `seconds`, and why others do not.

    Pools that nobody has created yet are left out.
    """
    until = time.monotonic() + seconds

    def question(connection: Connection, api: Api) -> dict[PoolKey, Observation]:
        return _of_cluster(api, connection, documents, desired, today)

    answers = ask(desired, kubeconfigs, question, container_api=google.container, seconds=seconds)
    seen: dict[PoolKey, Observation] = {}
    problems: list[Problem] = []
    for _, answer in sorted(answers.items()):
        if isinstance(answer, Problem):
            problems.append(replace(answer, severity="warning"))
        elif isinstance(answer, dict):
            seen.update(answer)
    clusters = [
        cloud
        for cluster in desired.clusters
        if (cloud := cluster.connection.cloud) and isinstance(answers.get(cloud.cluster), dict)
    ]
    nodes_there = {key: one.nodes + len(one.held) for key, one in seen.items()}
    most, unanswered = allowed(documents, clusters, nodes_there, google=google, until=until)
    return {key: replace(one, most=most.get(key)) for key, one in seen.items()}, (*problems, *unanswered)


def _of_cluster(
    api: Api, connection: Connection, documents: Documents, desired: Desired, today: date
) -> dict[PoolKey, Observation]:
    """Return what each pool of a cluster has, by its nodes and the pods on them."""
    pools = documents.clusters[connection.cluster].spec.node_pools
    nodes = list(api.items("/api/v1/nodes"))
    query = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
    pods = list(api.items("/api/v1/pods", query=query))
    own_pods = _OwnPods(running(api, desired.stack))
    claimed = any(documents.classes[pool.class_name].spec.allocation == "DRA" for pool in pools)
    devices = Devices(
        _listed(api if claimed else None, "ResourceSlice"), _listed(api if claimed else None, "ResourceClaim")
    )
    pool_names = connection.cloud.pool_names if connection.cloud else {}
    seen: dict[PoolKey, Observation] = {}
    for pool in pools:
        label = pool_names.get(pool.name, pool.name)
        selector = dict(pool.node_selector or {names.POOL: label}).items()
        pool_nodes = [node for node in nodes if selector <= (node["metadata"].get("labels") or {}).items()]
        if pool_nodes or not connection.cloud:
            device = accelerator(documents.classes[pool.class_name])
            one = _of_pool(pool_nodes, pods, device, devices, own_pods, today)
            missing = 0 if pool.autoscaled else max(0, pool.size - len(pool_nodes))
            key = connection.cluster, pool.name
            labels = _labels_of_nodes(pool_nodes, _unknown_labels(desired.plan.demands, key))
            seen[key] = replace(one, missing=missing, labels=labels)
    return seen


def _unknown_labels(demands: Demands, pool: PoolKey) -> list[str]:
    """Return the labels that templates name and that neither documents nor a cloud say of a pool, but for
    names of nodes.
    """
    named = {key for of_role in demands.conditions.values() for each in of_role for key in each.keys}
    return sorted(named - OF_ONE_NODE - demands.labels[pool].keys()) if named else []


def _labels_of_nodes(nodes: Sequence[_Item], keys: Sequence[str]) -> dict[str, tuple[str | None, ...]]:
    """Return the values of labels on nodes, None among them where one lacks the label. Labels of too many
    values for capacity.lock are left out.
    """
    by_node = [of_node(node, keys) for node in nodes]
    values = {key: {value for labels in by_node for value in labels[key]} for key in keys if nodes}
    return {
        key: (*([None] if None in found else []), *sorted(value for value in found if value is not None))
        for key, found in values.items()
        if len(found) <= MOST_VALUES
    }


def _of_pool(
    nodes: Sequence[_Item],
    pods: Sequence[_Item],
    device: Device | None,
    devices: "Devices",
    own_pods: "_OwnPods",
    today: date,
) -> Observation:
    """Return what the nodes of a pool offer, and what pods of others take of it."""
    on = {node["metadata"]["name"] for node in nodes}
    here = [pod for pod in pods if pod["spec"].get("nodeName") in on]
    gpus = {node["metadata"]["name"]: _gpus_of_node(node, device, devices) for node in nodes}
    usable = [node for node in nodes if _takes_pods(node)]
    usable_names = {node["metadata"]["name"] for node in usable}
    ours: Counter[str] = Counter()
    foreign: list[int] = []
    by_node: dict[str, list[_Item]] = {name: [] for name in usable_names}
    for pod in here:
        node, gpus_asked = pod["spec"]["nodeName"], _gpus_of_pod(pod, device, devices)
        own = own_pods.has(pod)
        if gpus_asked and own:
            ours[node] += gpus_asked
        elif gpus_asked and node in usable_names:
            foreign.append(gpus_asked)
        if node in usable_names and not (own and _is_planned(pod)):
            by_node[node].append(pod)
    daemons = [_besides(pod for pod in on_node if _of_every_node(pod)) for on_node in by_node.values()]
    others = [_besides(pod for pod in on_node if not _of_every_node(pod)) for on_node in by_node.values()]
    offered = [node["status"].get("allocatable") or {} for node in usable]
    return Observation(
        today,
        len(usable),
        tuple(sorted(gpus[name] - min(ours[name], gpus[name]) for name in on - usable_names)),
        min((gpus[name] for name in usable_names), default=None) if device else None,
        min((int(parse_quantity(amounts.get("cpu", "0")) * 1000) for amounts in offered), default=None),
        min((_whole_mebibytes(amounts.get("memory", "0")) for amounts in offered), default=None),
        tuple(sorted(foreign)),
        daemons=Amounts(*(max(amounts) for amounts in zip(NOTHING, *daemons, strict=True))),
        others=tuple(sorted(one for one in others if any(one))),
    )


def _is_planned(pod: _Item) -> bool:
    """Return whether the plan counts what a pod of the stack requests: it has a role in a replica."""
    return names.ROLE in (pod["metadata"].get("labels") or {})


def _of_every_node(pod: _Item) -> bool:
    """Return whether each node has such a pod: one of a DaemonSet, or of a file that its kubelet reads."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner.get("kind") in ("DaemonSet", "Node") for owner in owners)


def _besides(pods: Iterable[_Item]) -> Amounts:
    """Return what pods request besides GPUs, the memory in whole MiB."""
    cpu = memory = 0
    for pod in pods:
        cpu += requests(pod["spec"], "cpu")
        memory += requests(pod["spec"], "memory")
    return Amounts(cpu, -(-memory // 2**20) * 2**20)


def _whole_mebibytes(written: str) -> int:
    return int(parse_quantity(written)) // 2**20 * 2**20


def _takes_pods(node: _Item) -> bool:
    ready = [
        condition.get("status")
        for condition in node["status"].get("conditions") or ()
        if condition.get("type") == "Ready"
    ]
    return not node["spec"].get("unschedulable") and ready in ([], ["True"])


def _gpus_of_node(node: _Item, device: Device | None, devices: "Devices") -> int:
    if device is None:
        return 0
    published = devices.of_node(node["metadata"]["name"], device.driver)
    allocatable = node["status"].get("allocatable") or {}
    return max(published, int(parse_quantity(allocatable.get(str(device.asked_as), "0"))))


def _gpus_of_pod(pod: _Item, device: Device | None, devices: "Devices") -> int:
    if device is None:
        return 0
    requested = requests(pod["spec"], str(device.asked_as))
    return requested + devices.of_pod(pod["metadata"]["uid"], device.driver)


class _OwnPods:
    """Which pods are of workloads of the stack. Pods have no label of it, and other stacks may be there."""

    def __init__(self, workloads: Iterator[dict[str, Any]]) -> None:
        self._selectors: dict[str, list[Mapping[str, str]]] = {}
        for item in workloads:
            metadata, spec = item["metadata"], item["spec"]
            selector = (spec.get("selector") or {}).get("matchLabels") or names.group_selector(
                metadata["name"]
            )
            self._selectors.setdefault(metadata["namespace"], []).append(selector)

    def has(self, pod: _Item) -> bool:
        """Return whether a pod is of one of the workloads."""
        labels = (pod["metadata"].get("labels") or {}).items()
        return any(
            selector.items() <= labels for selector in self._selectors.get(pod["metadata"]["namespace"], ())
        )


def _listed(api: Api | None, kind: str) -> Iterator[dict[str, Any]]:
    if api is not None and (resource := served_kinds(api, [(RESOURCE_API, kind)]).get((RESOURCE_API, kind))):
        yield from api.items(resource.path())


class _Device(NamedTuple):
    driver: str
    pool: str
    name: str


class Devices:
    """Whole devices that drivers publish on nodes (ResourceSlices), and those that pods have by claims.

    A driver may publish partitions beside the device that they are parts of; they consume the counters that
    it consumes too, so not all of them can be allocated. Counted are as many as can be at once, the largest
    first: where a whole GPU is published with its partitions, that is the GPU. A partition that somebody has
    takes the whole one away
    (https://kubernetes.io/docs/concepts/resource-management/dynamic-resource-allocation/dra-features/,
    partitionable devices). Claims with admin access allocate nothing to their holders, and take nothing away.
    """

    def __init__(self, slices: Iterable[_Item], claims: Iterable[_Item]) -> None:
        self._on_node: Counter[tuple[str, str]] = Counter()
        self._taken: dict[_Device, frozenset[_Device]] = {}
        for pool, of_pool in _newest(slices).items():
            self._count(pool, of_pool)
        self._of_pod: Counter[tuple[str, str]] = Counter()
        taken: set[_Device] = set()
        for holder, device in _held(claims):
            for whole in self._taken.get(device, frozenset({device})) - taken:
                taken.add(whole)
                self._of_pod[holder, whole.driver] += 1

    def of_node(self, node: str, driver: str) -> int:
        """Return how many devices of a driver a node has."""
        return self._on_node[node, driver]

    def of_pod(self, uid: str, driver: str) -> int:
        """Return how many devices of a driver a pod has by claims. Several pods that share one count once."""
        return self._of_pod[uid, driver]

    def _count(self, pool: _DriversPool, slices: Iterable[_Item]) -> None:
        """Count the devices of a pool that can be allocated at once, and note what others take of them."""
        specs = [slice_["spec"] for slice_ in slices]
        counters: _Counters = {
            (shared["name"], name): parse_quantity(str(counter["value"]))
            for spec in specs
            for shared in spec.get("sharedCounters") or ()
            for name, counter in (shared.get("counters") or {}).items()
        }
        found = [
            (
                _Device(*pool, device["name"]),
                spec.get("nodeName") or device.get("nodeName") or "",
                _uses(device),
            )
            for spec in specs
            for device in spec.get("devices") or ()
        ]
        whole: list[tuple[_Device, set[str]]] = []
        for device, node, uses in sorted(found, key=lambda one: (-sum(one[2].values()), one[0])):
            if all(counters.get(counter, Decimal(0)) >= amount for counter, amount in uses.items()):
                for counter, amount in uses.items():
                    counters[counter] -= amount
                whole.append((device, {name for name, _ in uses}))
                self._on_node[node, device.driver] += 1
        chosen = {device for device, _ in whole}
        for device, _, uses in found:
            if device not in chosen:
                sets = {name for name, _ in uses}
                self._taken[device] = frozenset(other for other, of_sets in whole if of_sets & sets)


def _newest(slices: Iterable[_Item]) -> dict[_DriversPool, list[_Item]]:
    """Return the slices of each pool of a driver; those of an earlier generation count no more."""
    by_pool: dict[_DriversPool, dict[int, list[_Item]]] = {}
    for slice_ in slices:
        spec = slice_["spec"]
        pool = spec.get("pool") or {}
        key = spec["driver"], str(pool.get("name", ""))
        by_pool.setdefault(key, {}).setdefault(int(pool.get("generation", 0)), []).append(slice_)
    return {key: generations[max(generations)] for key, generations in by_pool.items()}


def _uses(device: _Item) -> _Counters:
    return {
        (consumed["counterSet"], name): parse_quantity(str(counter["value"]))
        for consumed in device.get("consumesCounters") or ()
        for name, counter in (consumed.get("counters") or {}).items()
    }


def _held(claims: Iterable[_Item]) -> Iterator[tuple[str, _Device]]:
    """Yield the devices that claims hold, with the pod that has them: of several, the first."""
    for claim in claims:
        status = claim.get("status") or {}
        results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
        for holder in (status.get("reservedFor") or ())[:1]:
            for result in results:
                if not result.get("adminAccess"):
                    device = _Device(result["driver"], str(result.get("pool", "")), result["device"])
                    yield holder.get("uid", ""), device
