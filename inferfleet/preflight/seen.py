"""What clusters and Google Cloud have for pools now: nodes, pods of others, quotas and reservations.

`inferfleet capacity` asks, and nothing else does: plans read what it wrote. Everything is asked with GET
requests, and a cluster that does not answer is left out, with why.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.inference_class import Device
from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.problems import Problem
from inferfleet.desired.values import Connection, Desired
from inferfleet.fleet import names
from inferfleet.fleet.lock.capacity import Seen
from inferfleet.fleet.shapes import PoolKey, accelerator
from inferfleet.preflight.capacity import allowed
from inferfleet.preflight.leaving import running
from inferfleet.profiles.devices import RESOURCE_BY_DRIVER
from inferfleet.profiles.dra import RESOURCE_API
from inferfleet.reach.api import Api
from inferfleet.reach.at_once import ask
from inferfleet.reach.google_login import Addresses
from inferfleet.reach.resources import known

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
    devices = _Devices(api if claimed else None)
    named = connection.cloud.pools if connection.cloud else {}
    seen: dict[PoolKey, Seen] = {}
    for pool in pools:
        label = named.get(pool.name, pool.name)
        selector = dict(pool.node_selector or {names.POOL: label}).items()
        own = [node for node in nodes if selector <= (node["metadata"].get("labels") or {}).items()]
        if own or not connection.cloud:
            device = accelerator(documents.classes[pool.class_name])
            seen[connection.cluster, pool.name] = _of_pool(own, pods, device, devices, own_pods, today)
    return seen


def _of_pool(
    nodes: Sequence[_Object],
    pods: Sequence[_Object],
    device: Device | None,
    devices: "_Devices",
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
    for pod in here:
        node, asked = pod["spec"]["nodeName"], _gpus_of_pod(pod, device, devices)
        if asked and own_pods.has(pod):
            ours[node] += asked
        elif asked and node in usable_names:
            foreign.append(asked)
    offered = [node["status"].get("allocatable") or {} for node in usable]
    return Seen(
        today,
        len(usable),
        tuple(sorted(gpus[name] - min(ours[name], gpus[name]) for name in on - usable_names)),
        min((gpus[name] for name in usable_names), default=None) if device else None,
        min((int(parse_quantity(amounts.get("cpu", "0")) * 1000) for amounts in offered), default=None),
        min((_whole_mebibytes(amounts.get("memory", "0")) for amounts in offered), default=None),
        tuple(sorted(foreign)),
    )


def _whole_mebibytes(written: str) -> int:
    return int(parse_quantity(written)) // 2**20 * 2**20


def _takes_pods(node: _Object) -> bool:
    ready = [
        condition.get("status")
        for condition in node["status"].get("conditions") or ()
        if condition.get("type") == "Ready"
    ]
    return not node["spec"].get("unschedulable") and ready in ([], ["True"])


def _gpus_of_node(node: _Object, device: Device | None, devices: "_Devices") -> int:
    if device is None:
        return 0
    published = devices.of_node(node["metadata"]["name"], device.driver)
    allocatable = node["status"].get("allocatable") or {}
    return max(published, int(parse_quantity(allocatable.get(RESOURCE_BY_DRIVER[device.driver], "0"))))


def _gpus_of_pod(pod: _Object, device: Device | None, devices: "_Devices") -> int:
    if device is None:
        return 0
    containers = [*(pod["spec"].get("containers") or ()), *(pod["spec"].get("initContainers") or ())]
    requested = [
        int(parse_quantity(str(amount)))
        for container in containers
        if (
            amount := ((container.get("resources") or {}).get("requests") or {}).get(
                RESOURCE_BY_DRIVER[device.driver]
            )
        )
    ]
    return sum(requested) + devices.of_pod(pod["metadata"]["uid"], device.driver)


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


class _Devices:
    """The devices that drivers publish on nodes, and those that pods have by claims."""

    def __init__(self, api: Api | None) -> None:
        self._on_node: Counter[tuple[str, str]] = Counter()
        self._of_pod: Counter[tuple[str, str]] = Counter()
        for slice_ in _listed(api, "ResourceSlice"):
            spec = slice_["spec"]
            self._on_node[spec.get("nodeName", ""), spec["driver"]] += len(spec.get("devices") or ())
        for claim in _listed(api, "ResourceClaim"):
            status = claim.get("status") or {}
            results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
            # Pods that share a claim share its devices: the first of them counts.
            for holder in (status.get("reservedFor") or ())[:1]:
                for result in results:
                    self._of_pod[holder.get("uid", ""), result["driver"]] += 1

    def of_node(self, node: str, driver: str) -> int:
        """Return how many devices of a driver a node has."""
        return self._on_node[node, driver]

    def of_pod(self, uid: str, driver: str) -> int:
        """Return how many devices of a driver a pod has by claims."""
        return self._of_pod[uid, driver]


def _listed(api: Api | None, kind: str) -> Iterator[dict[str, Any]]:
    if api is not None and (resource := known(api, [(RESOURCE_API, kind)]).get((RESOURCE_API, kind))):
        yield from api.items(resource.path())
