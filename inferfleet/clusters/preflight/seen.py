"""What clusters and Google Cloud have for pools now: nodes, pods of others, quotas and reservations.

`inferfleet capacity` asks, and nothing else does: plans read what it wrote. Everything is asked with GET
requests, and a cluster that does not answer is left out, with why.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from inferfleet.clusters.connections.api import Api
from inferfleet.clusters.connections.at_once import ask
from inferfleet.clusters.connections.google_login import Addresses
from inferfleet.clusters.connections.resources import known
from inferfleet.clusters.preflight.capacity import allowed
from inferfleet.clusters.preflight.leaving import running
from inferfleet.clusters.preflight.published import Published
from inferfleet.desired.values import Connection, Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import Device
from inferfleet.documents.problems import Problem
from inferfleet.documents.quantity import parse_quantity
from inferfleet.fleet import names
from inferfleet.fleet.lock.capacity import NOTHING, Beside, Seen
from inferfleet.fleet.shapes import PoolKey, accelerator, requests
from inferfleet.tables.devices import RESOURCE_API, RESOURCE_BY_DRIVER

_Object = Mapping[str, Any]


def look(
    desired: Desired,
    documents: Documents,
    kubeconfigs: Mapping[str, str],
    *,
    google: Addresses,
    today: date,
    seconds: float,
) -> tuple[dict[PoolKey, Seen], tuple[Problem, ...]]:
    """Return what there is for each pool of the clusters that answer within `seconds`, and why others do not.

    Pools that nobody has created yet are left out.
    """
    until = time.monotonic() + seconds

    def question(connection: Connection, api: Api) -> dict[PoolKey, Seen]:
        return _of_cluster(api, connection, documents, desired.stack, today)

    answers = ask(desired, kubeconfigs, question, container_api=google.container, seconds=seconds)
    seen: dict[PoolKey, Seen] = {}
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
    there = {key: one.nodes + len(one.held) for key, one in seen.items()}
    most, unanswered = allowed(clusters, there, google=google, until=until)
    return {key: replace(one, most=most.get(key)) for key, one in seen.items()}, (*problems, *unanswered)


def _of_cluster(
    api: Api, connection: Connection, documents: Documents, stack: str, today: date
) -> dict[PoolKey, Seen]:
    pools = documents.clusters[connection.cluster].spec.node_pools
    nodes = list(api.items("/api/v1/nodes"))
    query = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
    pods = list(api.items("/api/v1/pods", query=query))
    own_pods = _OwnPods(running(api, stack))
    claimed = any(documents.classes[pool.class_name].spec.allocation == "DRA" for pool in pools)
    devices = Published(
        _listed(api if claimed else None, "ResourceSlice"), _listed(api if claimed else None, "ResourceClaim")
    )
    named = connection.cloud.pools if connection.cloud else {}
    seen: dict[PoolKey, Seen] = {}
    for pool in pools:
        label = named.get(pool.name, pool.name)
        selector = dict(pool.node_selector or {names.POOL: label}).items()
        own = [node for node in nodes if selector <= (node["metadata"].get("labels") or {}).items()]
        if own or not connection.cloud:
            device = accelerator(documents.classes[pool.class_name])
            one = _of_pool(own, pods, device, devices, own_pods, today)
            missing = 0 if pool.autoscaled else max(0, pool.size - len(own))
            seen[connection.cluster, pool.name] = replace(one, missing=missing)
    return seen


def _of_pool(
    nodes: Sequence[_Object],
    pods: Sequence[_Object],
    device: Device | None,
    devices: Published,
    own_pods: "_OwnPods",
    today: date,
) -> Seen:
    on = {node["metadata"]["name"] for node in nodes}
    here = [pod for pod in pods if pod["spec"].get("nodeName") in on]
    gpus = {node["metadata"]["name"]: _gpus_of_node(node, device, devices) for node in nodes}
    usable = [node for node in nodes if _takes_pods(node)]
    usable_names = {node["metadata"]["name"] for node in usable}
    ours: Counter[str] = Counter()
    foreign: list[int] = []
    by_node: dict[str, list[_Object]] = {name: [] for name in usable_names}
    for pod in here:
        node, asked = pod["spec"]["nodeName"], _gpus_of_pod(pod, device, devices)
        own = own_pods.has(pod)
        if asked and own:
            ours[node] += asked
        elif asked and node in usable_names:
            foreign.append(asked)
        if node in usable_names and not (own and _is_planned(pod)):
            by_node[node].append(pod)
    daemons = [_besides(pod for pod in there if _of_every_node(pod)) for there in by_node.values()]
    others = [_besides(pod for pod in there if not _of_every_node(pod)) for there in by_node.values()]
    offered = [node["status"].get("allocatable") or {} for node in usable]
    return Seen(
        today,
        len(usable),
        tuple(sorted(gpus[name] - min(ours[name], gpus[name]) for name in on - usable_names)),
        min((gpus[name] for name in usable_names), default=None) if device else None,
        min((int(parse_quantity(amounts.get("cpu", "0")) * 1000) for amounts in offered), default=None),
        min((_whole_mebibytes(amounts.get("memory", "0")) for amounts in offered), default=None),
        tuple(sorted(foreign)),
        daemons=Beside(*(max(amounts) for amounts in zip(NOTHING, *daemons, strict=True))),
        others=tuple(sorted(one for one in others if any(one))),
    )


def _is_planned(pod: _Object) -> bool:
    """Return whether the plan counts what a pod of the stack requests: it has a role in a replica."""
    return names.ROLE in (pod["metadata"].get("labels") or {})


def _of_every_node(pod: _Object) -> bool:
    """Return whether each node has such a pod: one of a DaemonSet, or of a file that its kubelet reads."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner.get("kind") in ("DaemonSet", "Node") for owner in owners)


def _besides(pods: Iterable[_Object]) -> Beside:
    """Return what pods request besides GPUs, the memory in whole MiB."""
    cpu = memory = 0
    for pod in pods:
        cpu += requests(pod["spec"], "cpu")
        memory += requests(pod["spec"], "memory")
    return Beside(cpu, -(-memory // 2**20) * 2**20)


def _whole_mebibytes(written: str) -> int:
    return int(parse_quantity(written)) // 2**20 * 2**20


def _takes_pods(node: _Object) -> bool:
    ready = [
        condition.get("status")
        for condition in node["status"].get("conditions") or ()
        if condition.get("type") == "Ready"
    ]
    return not node["spec"].get("unschedulable") and ready in ([], ["True"])


def _gpus_of_node(node: _Object, device: Device | None, devices: Published) -> int:
    if device is None:
        return 0
    published = devices.of_node(node["metadata"]["name"], device.driver)
    allocatable = node["status"].get("allocatable") or {}
    return max(published, int(parse_quantity(allocatable.get(RESOURCE_BY_DRIVER[device.driver], "0"))))


def _gpus_of_pod(pod: _Object, device: Device | None, devices: Published) -> int:
    if device is None:
        return 0
    requested = requests(pod["spec"], RESOURCE_BY_DRIVER[device.driver])
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

    def has(self, pod: _Object) -> bool:
        """Return whether a pod is of one of the workloads."""
        labels = (pod["metadata"].get("labels") or {}).items()
        return any(
            selector.items() <= labels for selector in self._selectors.get(pod["metadata"]["namespace"], ())
        )


def _listed(api: Api | None, kind: str) -> Iterator[dict[str, Any]]:
    if api is not None and (resource := known(api, [(RESOURCE_API, kind)]).get((RESOURCE_API, kind))):
        yield from api.items(resource.path())
