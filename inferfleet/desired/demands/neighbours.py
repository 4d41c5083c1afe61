"""Pods of several workloads that keep each other off the nodes of one pool.

A port of the node is there once per node, whoever takes it, and nodes where a pod with a required
anti-affinity runs take none that it selects, nor the other way round. Said is only what is certain: terms by
the name of the node, without keys whose values differ from pod to pod, and pods that are packed as closely as
devices allow. What a workload does to itself alone is in `siblings`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem, Steps
from inferfleet.desired.demands.siblings import counted, of_document, of_plugin
from inferfleet.desired.pods import Pods
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot
from inferfleet.manifests.pod.parts import Contradiction
from inferfleet.manifests.pod.siblings import node_ports, node_terms, selects
from inferfleet.plugins.calling import Finding


@dataclass(frozen=True)
class _Workload:
    """The pods of a workload with one template on a pool, without those that an update adds."""

    pods: Pods
    count: int

    @property
    def gpus(self) -> int:
        return self.count * self.pods.request.gpus


def neighbour_problems(
    documents: Documents, planned: Plan, templates: Mapping[Spot, tuple[Pods, ...]]
) -> tuple[list[Problem], list[Finding]]:
    """Return what keeps pods that were placed on one pool apart: of documents, and of plugins."""
    by_pool: dict[PoolKey, list[_Workload]] = {}
    for placement in planned.placements:
        for pods in templates[placement.spot]:
            if not pods.outcome.findings:
                pool_key = placement.spot.cluster, pods.request.pool.name
                count, _ = counted(planned, placement, pods)
                by_pool.setdefault(pool_key, []).append(_Workload(pods, count))
    problems: list[Problem] = []
    findings: list[Finding] = []
    for (cluster, name), workloads in by_pool.items():
        nodes = documents.clusters[cluster].spec.pool(name).size
        where = f"pool {name} of cluster {cluster}"
        for workload, contradiction, written in (
            *_same_port(workloads, nodes, where),
            *_apart(workloads, nodes, where),
        ):
            if written:
                problems.append(of_document(documents, workload.pods, contradiction))
            else:
                findings.append(of_plugin(workload.pods, contradiction))
    return problems, findings


# The workload that it is told of, what is wrong, and whether its document says that already.
_Told = Iterator[tuple[_Workload, Contradiction, bool]]


def _same_port(workloads: list[_Workload], nodes: int, where: str) -> _Told:
    """Yield ports of the node that pods of several workloads take, once for the same workloads."""
    takers: dict[tuple[str, int], list[tuple[_Workload, Steps]]] = {}
    for workload in workloads:
        for at, port in node_ports(workload.pods.outcome.template["spec"]):
            takers.setdefault(port, []).append((workload, at))
    told = set()
    for (protocol, number), taking in takers.items():
        of = {workload.pods.spot.deployment: workload for workload, _ in taking}
        count = sum(workload.count for workload in of.values())
        if len(of) < 2 or count <= nodes or _alone(list(of.values()), nodes) or tuple(of) in told:
            continue
        told.add(tuple(of))
        written = [
            (protocol, number) in [port for _, port in node_ports(workload.pods.generated["spec"])]
            for workload, _ in taking
        ]
        first = _first(written)
        workload, at = taking[first]
        contradiction = Contradiction(
            at,
            f"pods of {' and '.join(of)} take port {number} of the node, which one pod per node has",
            f"{count} were placed on {where}, which has {nodes} nodes",
            f"Remove {at[-1]}, or give the pool {count} nodes",
        )
        yield workload, contradiction, written[first]


def _apart(workloads: list[_Workload], nodes: int, where: str) -> _Told:
    """Yield terms by which pods of several workloads need more nodes than there are."""
    holders: dict[str, list[tuple[_Workload, Steps, Mapping[str, Any]]]] = {}
    for workload in workloads:
        pods = workload.pods
        for at, term in node_terms(pods.outcome.template["spec"]):
            names = term.get("namespaces") or [pods.spot.namespace]
            key = json.dumps([term["labelSelector"], sorted(names)], sort_keys=True)
            holders.setdefault(key, []).append((workload, at, term))
    by_label = _by_label(workloads) if holders else {}
    for holding in holders.values():
        _, _, term = holding[0]
        names = term.get("namespaces") or [holding[0][0].pods.spot.namespace]
        labels = term["labelSelector"].get("matchLabels", {})
        candidates = min((by_label.get(pair, []) for pair in labels.items()), key=len, default=workloads)
        selected = [
            other
            for other in candidates
            if other.pods.spot.namespace in names
            and selects(term, other.pods.outcome.template["metadata"]["labels"])
        ]
        own = {id(workload): workload for workload, _, _ in holding}
        both = [workload for workload in selected if id(workload) in own]
        theirs = [workload for workload in selected if id(workload) not in own]
        chosen = {id(workload) for workload in both}
        mine = [workload for workload in own.values() if id(workload) not in chosen]
        # No two pods of `both` share a node, nor one of them, of `theirs` and of `mine` with one another.
        most = sum(workload.count for workload in both) + _packed(theirs) + _packed(mine)
        deployments = sorted({workload.pods.spot.deployment for workload in (*both, *theirs, *mine)})
        if not selected or len(deployments) < 2 or most <= nodes or _alone(both, nodes):
            continue
        written = [
            term in [theirs for _, theirs in node_terms(workload.pods.generated["spec"])]
            for workload, _, term in holding
        ]
        first = _first(written)
        workload, at, _ = holding[first]
        contradiction = Contradiction(
            at,
            f"pods of {' and '.join(deployments)} may not share a node",
            f"they need {most} nodes of {where}, where they were placed, which has {nodes}",
            f"Make it preferred, give the pool {most} nodes, or lower replicas",
        )
        yield workload, contradiction, written[first]


def _by_label(workloads: list[_Workload]) -> dict[tuple[str, str], list[_Workload]]:
    """Return the workloads by each label of their pods, so that a term does not look at all of them."""
    by_label: dict[tuple[str, str], list[_Workload]] = {}
    for workload in workloads:
        for pair in workload.pods.outcome.template["metadata"]["labels"].items():
            by_label.setdefault(pair, []).append(workload)
    return by_label


def _packed(workloads: list[_Workload]) -> int:
    """Return how many nodes the pods need at least, by their devices."""
    devices = [workload.pods.request.accelerator for workload in workloads]
    per_node = max((device.count for device in devices if device), default=1)
    return -(-sum(workload.gpus for workload in workloads) // per_node)


def _alone(workloads: list[_Workload], nodes: int) -> bool:
    """Return whether one of them needs too many nodes by itself, which is told of it."""
    return any(workload.count > nodes for workload in workloads)


def _first(written: list[bool]) -> int:
    """Return the place of the first workload that a plugin changed so, or of the last one if none did."""
    return written.index(False) if False in written else len(written) - 1
