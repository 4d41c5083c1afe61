"""Placed pods that keep each other off the nodes where the plan counted them.

The plan counts devices, and puts several pods on one node where they fit. A port of the node is there once
per node, whoever takes it; with hostNetwork all ports of a pod are such. A required anti-affinity takes one
of the pods that it selects per value of its label, and nodes where a pod with one runs take none that it
selects, nor the other way round.

Said is only what is certain. How many values nodes of a pool can have is known of the label of their names
and of those that the pool's documents say; of others nothing is said, and neither where a selector may leave
the pods out. Between workloads these are terms by the name of the node, without keys whose values differ from
pod to pod, and pods that are packed as closely as devices allow. kube-scheduler counts a pod against those
that are there, and takes nodes without the label (interpodaffinity and nodeports in
pkg/scheduler/framework/plugins of Kubernetes 1.36).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.desired.pods import Pods
from inferfleet.documents.documents import Documents
from inferfleet.documents.pods.diff import field_path
from inferfleet.documents.problems import Mistake, Problem, Steps
from inferfleet.documents.wording import path_of
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.names import LWS_GROUP_KEY
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.chain import LinkProblem
from inferfleet.serving.pod.template import Spec, containers

_NODE = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NAMESPACE = "kubernetes.io/metadata.name"
# Given to all pods of one revision of a Deployment; its value is not known before.
_REVISION = "pod-template-hash"
_ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True)
class _Workload:
    """The pods of a workload with one template, on a pool with so many `nodes`; `where` names that.

    `spare` is how many more there are while an update replaces one. `values` are those that labels can have
    on nodes of the pool.
    """

    pods: Pods
    count: int
    spare: int
    nodes: int
    values: Mapping[str, tuple[str, ...]]
    where: str

    @property
    def spec(self) -> Spec:
        spec: Spec = self.pods.outcome.template["spec"]
        return spec

    @property
    def labels(self) -> Mapping[str, str]:
        labels: Mapping[str, str] = self.pods.outcome.template["metadata"]["labels"]
        return labels

    @property
    def gpus(self) -> int:
        return self.count * self.pods.request.gpus


def anti_affinity_problems(
    documents: Documents, planned: Plan, templates: Mapping[Spot, tuple[Pods, ...]]
) -> tuple[list[Problem], list[LinkProblem]]:
    """Return what keeps pods off the nodes where they were placed: of documents, and of plugins."""
    by_pool: dict[PoolKey, list[_Workload]] = {}
    for placement in planned.placements:
        for pods in templates[placement.spot]:
            if not pods.outcome.link_problems:
                workload = _workload(documents, planned, placement, pods)
                by_pool.setdefault((placement.spot.cluster, pods.request.pool.name), []).append(workload)
    problems: list[Problem] = []
    link_problems: list[LinkProblem] = []
    for workloads in by_pool.values():
        by_itself = [mistake for workload in workloads for mistake in _from_itself(workload)]
        for workload, mistake, written in (*by_itself, *_same_port(workloads), *_apart(workloads)):
            if written:
                problems.append(_document_problem(workload.pods, mistake))
            else:
                link_problems.append(_link_problem(workload.pods, mistake))
    return problems, link_problems


def _workload(documents: Documents, planned: Plan, placement: Placement, pods: Pods) -> _Workload:
    spot, request = pods.spot, pods.request
    pool = documents.clusters[spot.cluster].spec.pool(request.pool.name)
    needs = planned.demands.of(spot.deployment, pods.role, (spot.cluster, pool.name))
    in_worker = 1 if pods.placed.position == "Entry" else needs.gang - 1
    values = {key: (value,) for key, value in request.pool.node_labels.items()}
    return _Workload(
        pods=pods,
        count=placement.replicas * needs.workers * in_worker,
        spare=in_worker if needs.spare else 0,
        nodes=pool.size,
        values=values | ({_ZONE: request.pool.zones} if request.pool.zones else {}),
        where=f"pool {pool.name} of cluster {spot.cluster}",
    )


def _document_problem(pods: Pods, mistake: Mistake) -> Problem:
    """Return the mistake as one of the document of the pods."""
    return Problem(
        mistake.what,
        mistake.next_step,
        f"{pods.placed.path}.{path_of(mistake.at)}",
        kind="ModelDeployment",
        key=pods.spot.deployment,
    )


def _link_problem(pods: Pods, mistake: Mistake) -> LinkProblem:
    """Return the mistake as one of the last link that changed what it is about."""
    where = field_path(pods.outcome.template, mistake.at)
    step = pods.outcome.changed_by(where)
    # Without such a step a link has narrowed the nodes, on which a term of the document cannot hold then.
    step = step or next(step for step in reversed(pods.outcome.steps) if step.changes)
    what = f"{where}: {mistake.what}"
    return LinkProblem(pods.link_of(step), what, mistake.next_step, pods.request)


# The workload that a mistake is told of, the mistake, and whether its document makes it already.
_Mistakes = Iterator[tuple[_Workload, Mistake, bool]]


def _from_itself(workload: _Workload) -> _Mistakes:
    """Yield what keeps pods of a workload off each other's nodes."""
    if not (any(_terms(workload.spec)) or any(_ports(workload.spec))):
        return
    written = list(_excluded(workload.pods.generated["spec"], workload))
    for mistake in written:
        yield workload, mistake, True
    own = {mistake.what for mistake in written}
    for mistake in _excluded(workload.spec, workload):
        if mistake.what not in own:
            yield workload, mistake, False


def _same_port(workloads: list[_Workload]) -> _Mistakes:
    """Yield ports of the node that pods of several workloads take, once for the same workloads."""
    nodes, where = workloads[0].nodes, workloads[0].where
    takers: dict[tuple[str, int], list[tuple[_Workload, Steps]]] = {}
    for workload in workloads:
        for at, port in _node_ports(workload.spec):
            takers.setdefault(port, []).append((workload, at))
    known = set()
    for (protocol, number), taking in takers.items():
        by_deployment = {workload.pods.spot.deployment: workload for workload, _ in taking}
        count = sum(workload.count for workload in by_deployment.values())
        alone = _alone(list(by_deployment.values()), nodes)
        if len(by_deployment) < 2 or count <= nodes or alone or tuple(by_deployment) in known:
            continue
        known.add(tuple(by_deployment))
        written = [
            (protocol, number) in [port for _, port in _node_ports(workload.pods.generated["spec"])]
            for workload, _ in taking
        ]
        first = _first(written)
        workload, at = taking[first]
        what = (
            f"pods of {' and '.join(by_deployment)} take port {number} of the node, which one pod per node "
            f"has, but {count} were placed on {where}, which has {nodes} nodes"
        )
        mistake = Mistake(what, f"Remove {at[-1]}, or give the pool {count} nodes", at)
        yield workload, mistake, written[first]


def _apart(workloads: list[_Workload]) -> _Mistakes:
    """Yield terms by which pods of several workloads need more nodes than there are."""
    nodes, where = workloads[0].nodes, workloads[0].where
    holders: dict[str, list[tuple[_Workload, Steps, Mapping[str, Any]]]] = {}
    for workload in workloads:
        pods = workload.pods
        for at, term in _node_terms(workload.spec):
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
            if other.pods.spot.namespace in names and _is_selected(term, other.labels)
        ]
        own = {id(workload): workload for workload, _, _ in holding}
        both = [workload for workload in selected if id(workload) in own]
        others = [workload for workload in selected if id(workload) not in own]
        chosen = {id(workload) for workload in both}
        unchosen = [workload for workload in own.values() if id(workload) not in chosen]
        # No two pods of `both` share a node, nor one of them, of `others` and of `unchosen` with one another.
        most = sum(workload.count for workload in both) + _packed(others) + _packed(unchosen)
        deployments = sorted({workload.pods.spot.deployment for workload in (*both, *others, *unchosen)})
        if not selected or len(deployments) < 2 or most <= nodes or _alone(both, nodes):
            continue
        written = [
            term in [written for _, written in _node_terms(workload.pods.generated["spec"])]
            for workload, _, term in holding
        ]
        first = _first(written)
        workload, at, _ = holding[first]
        what = (
            f"pods of {' and '.join(deployments)} may not share a node, but they need {most} nodes of "
            f"{where}, where they were placed, which has {nodes}"
        )
        next_step = f"Make it preferred, give the pool {most} nodes, or lower replicas"
        yield workload, Mistake(what, next_step, at), written[first]


def _by_label(workloads: list[_Workload]) -> dict[tuple[str, str], list[_Workload]]:
    """Return the workloads by each label of their pods, so that a term does not look at all of them."""
    by_label: dict[tuple[str, str], list[_Workload]] = {}
    for workload in workloads:
        for pair in workload.labels.items():
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


def _excluded(spec: Spec, workload: _Workload) -> Iterator[Mistake]:
    """Yield terms and ports by which some of the pods can never run beside the others."""
    for at, term in _terms(spec):
        if not _selects(term, workload) or not _same_namespace(term, workload.pods.spot.namespace):
            continue
        places, most = _places(term["topologyKey"], spec, workload), _most(term, workload)
        if places is not None and places < most:
            what = (
                f"no two pods of the workload may have the same {term['topologyKey']}, but "
                f"{_were_placed(most, workload)}, whose nodes have {places} between them"
            )
            yield Mistake(what, _step(term["topologyKey"], most, workload), at)
    most = workload.count + workload.spare
    for at, number in _ports(spec):
        if workload.nodes < most:
            what = (
                f"one pod per node has port {number} of the node, but {_were_placed(most, workload)}, which "
                f"has {workload.nodes} nodes"
            )
            fewer = "write rollout: DeleteFirst" if most > workload.count else "lower replicas"
            yield Mistake(what, f"Remove {at[-1]}, or {fewer}", at)


def _node_ports(spec: Spec) -> Iterator[tuple[Steps, tuple[str, int]]]:
    """Yield every port of the node that a pod takes on all its addresses, with its protocol."""
    for at, container in containers(spec):
        for i, port in enumerate(container.get("ports", [])):
            number = port["containerPort"] if spec.get("hostNetwork") else port.get("hostPort")
            if number and not port.get("hostIP"):
                here = (*at, "ports", i, "hostPort") if port.get("hostPort") else ("spec", "hostNetwork")
                yield here, (port.get("protocol", "TCP"), number)


def _node_terms(spec: Spec) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """Yield the required terms that keep pods off whole nodes, and select the same for all their pods."""
    for at, term in _terms(spec):
        differs = any(term.get(key) for key in ("matchLabelKeys", "mismatchLabelKeys", "namespaceSelector"))
        if term["topologyKey"] == _NODE and term.get("labelSelector") is not None and not differs:
            yield at, term


def _is_selected(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a term of `_node_terms` is sure to select pods with these labels."""
    return _matches(term["labelSelector"], labels, unknown=(_REVISION,))


def _terms(spec: Spec) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    for i, term in enumerate(spec.get("affinity", {}).get("podAntiAffinity", {}).get(_REQUIRED, [])):
        yield ("spec", "affinity", "podAntiAffinity", _REQUIRED, i), term


def _ports(spec: Spec) -> Iterator[tuple[Steps, int]]:
    """Yield the places of ports of the node: with hostNetwork the first one, since all depend on that."""
    for at, container in containers(spec):
        for i, port in enumerate(container.get("ports", [])):
            if spec.get("hostNetwork"):
                yield ("spec", "hostNetwork"), port["containerPort"]
                return
            if port.get("hostPort"):
                yield (*at, "ports", i, "hostPort"), port["hostPort"]


def _were_placed(most: int, workload: _Workload) -> str:
    if most == workload.count:
        return f"{most} were placed on {workload.where}"
    return f"an update by Surge has {most} at a time on {workload.where}"


def _step(key: str, most: int, workload: _Workload) -> str:
    if most > workload.count:
        return f"Write matchLabelKeys: [{_REVISION}] in it, make it preferred, or write rollout: DeleteFirst"
    grow = f", give the pool {most} nodes" if key == _NODE else ""
    return f"Make it preferred{grow}, or lower replicas"


def _places(key: str, spec: Spec, workload: _Workload) -> int | None:
    """Return how many values of a label nodes of the pool can have at most, None where it is not known."""
    if key in spec.get("nodeSelector", {}):
        return 1
    if key in workload.values:
        return min(len(workload.values[key]), workload.nodes)
    return workload.nodes if key == _NODE else None


def _most(term: Mapping[str, Any], workload: _Workload) -> int:
    """Return how many pods a term counts at a time: in an update those of two revisions, if it sees both."""
    return workload.count + (0 if _REVISION in term.get("matchLabelKeys", []) else workload.spare)


def _selects(term: Mapping[str, Any], workload: _Workload) -> bool:
    """Return whether a term is sure to select the pods of the workload. One without a selector does not."""
    selector = term.get("labelSelector")
    if selector is None:
        return False
    # By the group of a worker of many pods, which its controller sets on each: only those of one group.
    if LWS_GROUP_KEY in term.get("matchLabelKeys", []):
        return False
    # Other keys that pods do not have are left out by the API server.
    if any(key == _REVISION or key in workload.labels for key in term.get("mismatchLabelKeys", [])):
        return False
    return _is_selected(term, workload.labels)


def _same_namespace(term: Mapping[str, Any], namespace: str) -> bool:
    """Return whether a term is sure to look into the namespace of the pods."""
    names, selector = term.get("namespaces", []), term.get("namespaceSelector")
    if namespace in names or (not names and selector is None):
        return True
    known = {_NAMESPACE: namespace}
    return selector is not None and _keys(selector) <= known.keys() and _matches(selector, known)


def _matches(
    selector: Mapping[str, Any], labels: Mapping[str, str], *, unknown: tuple[str, ...] = ()
) -> bool:
    """Return whether labels are sure to match a selector; of `unknown` ones only that they are there."""
    return all(
        key not in unknown and labels.get(key) == value
        for key, value in selector.get("matchLabels", {}).items()
    ) and all(
        _meets(requirement, labels, unknown=unknown) for requirement in selector.get("matchExpressions", [])
    )


def _meets(requirement: Mapping[str, Any], labels: Mapping[str, str], *, unknown: tuple[str, ...]) -> bool:
    key, operator, values = requirement["key"], requirement["operator"], requirement.get("values", [])
    if key in unknown:
        return bool(operator == "Exists")
    if operator == "In":
        return labels.get(key) in values
    if operator == "NotIn":
        return labels.get(key) not in values
    return (key in labels) is (operator == "Exists")


def _keys(selector: Mapping[str, Any]) -> set[str]:
    return {*selector.get("matchLabels", {}), *(term["key"] for term in selector.get("matchExpressions", []))}
