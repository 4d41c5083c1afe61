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
from inferfleet.documents.pods.template import containers_of
from inferfleet.documents.problems import FieldPath, Mistake, Problem
from inferfleet.documents.wording import path_of
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.names import LWS_GROUP_KEY
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.chain import LinkProblem
from inferfleet.serving.pod.template import Spec

_NODE = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NAMESPACE = "kubernetes.io/metadata.name"
# Given to all pods of one revision of a Deployment; its value is not known before.
_REVISION = "pod-template-hash"
_ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True)
class _PodGroup:
    """The pods of one template that a placement has on its pool."""

    pods: Pods
    spec: Spec
    count: int
    """How many there are."""
    spare: int
    """How many more there are while an update replaces one worker."""
    nodes: int
    """Nodes of the pool."""
    values: Mapping[str, tuple[str, ...]]
    """The values that labels can have on nodes of the pool, by label."""
    pool: str
    """The pool in words."""

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
    by_pool: dict[PoolKey, list[_PodGroup]] = {}
    for placement in planned.placements:
        for pods in templates[placement.spot]:
            if not pods.outcome.link_problems:
                group = _pod_group(documents, planned, placement, pods)
                by_pool.setdefault((placement.spot.cluster, pods.request.pool.name), []).append(group)
    problems: list[Problem] = []
    link_problems: list[LinkProblem] = []
    for groups in by_pool.values():
        by_itself = [mistake for group in groups for mistake in _within_group(group)]
        for group, mistake, by_document in (*by_itself, *_same_port(groups), *_apart(groups)):
            if by_document:
                problems.append(_document_problem(group.pods, mistake))
            else:
                link_problems.append(_link_problem(group.pods, mistake))
    return problems, link_problems


def _pod_group(documents: Documents, planned: Plan, placement: Placement, pods: Pods) -> _PodGroup:
    """Return the pods that a placement makes of one template, by how many workers and pods its role has."""
    spot, request = pods.spot, pods.request
    pool = documents.clusters[spot.cluster].spec.pool(request.pool.name)
    demand = planned.demands.of(spot.deployment, pods.role, (spot.cluster, pool.name))
    # A worker has one entry, and all others of its gang are followers.
    in_worker = 1 if pods.placed.position == "Entry" else demand.gang - 1
    values = {key: (value,) for key, value in request.pool.node_labels.items()}
    return _PodGroup(
        pods=pods,
        spec=pods.outcome.template["spec"],
        count=placement.replicas * demand.workers * in_worker,
        spare=in_worker if demand.spare else 0,
        nodes=pool.size,
        values=values | ({_ZONE: request.pool.zones} if request.pool.zones else {}),
        pool=f"pool {pool.name} of cluster {spot.cluster}",
    )


def _document_problem(pods: Pods, mistake: Mistake) -> Problem:
    """Return the mistake as one of the document of the pods."""
    return Problem(
        mistake.what,
        mistake.next_step,
        f"{pods.placed.path}.{path_of(mistake.field_path)}",
        kind="ModelDeployment",
        key=pods.spot.deployment,
    )


def _link_problem(pods: Pods, mistake: Mistake) -> LinkProblem:
    """Return the mistake as one of the last link that changed what it is about."""
    path = field_path(pods.outcome.template, mistake.field_path)
    effect = pods.outcome.changed_by(path)
    # Without such an effect a link has narrowed the nodes, on which a term of the document cannot hold then.
    effect = effect or next(effect for effect in reversed(pods.outcome.effects) if effect.changes)
    what = f"{path}: {mistake.what}"
    return LinkProblem(pods.link_of(effect), what, mistake.next_step, pods.request)


# The pods that a mistake is told of, the mistake, and whether their document makes it without plugins.
_Mistakes = Iterator[tuple[_PodGroup, Mistake, bool]]


def _within_group(group: _PodGroup) -> _Mistakes:
    """Yield what keeps pods of one template off each other's nodes."""
    if not (any(_terms(group.spec)) or any(_ports(group.spec))):
        return
    of_document = list(_exclusion_mistakes(group.pods.generated["spec"], group))
    for mistake in of_document:
        yield group, mistake, True
    said_of_document = {mistake.what for mistake in of_document}
    for mistake in _exclusion_mistakes(group.spec, group):
        if mistake.what not in said_of_document:
            yield group, mistake, False


def _same_port(groups: list[_PodGroup]) -> _Mistakes:
    """Yield ports of the node that pods of several deployments take, once for the same deployments."""
    nodes, pool = groups[0].nodes, groups[0].pool
    takers: dict[tuple[str, int], list[tuple[_PodGroup, FieldPath]]] = {}
    for group in groups:
        for at, port in _node_ports(group.spec):
            takers.setdefault(port, []).append((group, at))
    reported = set()
    for (protocol, number), taking in takers.items():
        by_deployment = {group.pods.spot.deployment: group for group, _ in taking}
        count = sum(group.count for group in by_deployment.values())
        alone = _alone(list(by_deployment.values()), nodes)
        if len(by_deployment) < 2 or count <= nodes or alone or tuple(by_deployment) in reported:
            continue
        reported.add(tuple(by_deployment))
        by_document = [
            (protocol, number) in [port for _, port in _node_ports(group.pods.generated["spec"])]
            for group, _ in taking
        ]
        first = _first(by_document)
        group, at = taking[first]
        what = (
            f"pods of {' and '.join(by_deployment)} take port {number} of the node, which one pod per node "
            f"has, but {count} were placed on {pool}, which has {nodes} nodes"
        )
        mistake = Mistake(what, f"Remove {at[-1]}, or give the pool {count} nodes", at)
        yield group, mistake, by_document[first]


def _apart(groups: list[_PodGroup]) -> _Mistakes:
    """Yield terms by which pods of several deployments need more nodes than there are."""
    nodes, pool = groups[0].nodes, groups[0].pool
    holders: dict[str, list[tuple[_PodGroup, FieldPath, Mapping[str, Any]]]] = {}
    for group in groups:
        pods = group.pods
        for at, term in _node_terms(group.spec):
            names = term.get("namespaces") or [pods.spot.namespace]
            key = json.dumps([term["labelSelector"], sorted(names)], sort_keys=True)
            holders.setdefault(key, []).append((group, at, term))
    by_label = _by_label(groups) if holders else {}
    for holding in holders.values():
        _, _, term = holding[0]
        names = term.get("namespaces") or [holding[0][0].pods.spot.namespace]
        labels = term["labelSelector"].get("matchLabels", {})
        candidates = min((by_label.get(pair, []) for pair in labels.items()), key=len, default=groups)
        selected = [
            group
            for group in candidates
            if group.pods.spot.namespace in names and _is_selected(term, group.labels)
        ]
        with_term = {id(group): group for group, _, _ in holding}
        both = [group for group in selected if id(group) in with_term]
        only_selected = [group for group in selected if id(group) not in with_term]
        selected_ids = {id(group) for group in both}
        only_with_term = [group for group in with_term.values() if id(group) not in selected_ids]
        # No two pods of `both` share a node. Pods of the other two may share one with their like, but with no
        # pod of another list.
        most = sum(group.count for group in both) + _packed(only_selected) + _packed(only_with_term)
        deployments = sorted(
            {group.pods.spot.deployment for group in (*both, *only_selected, *only_with_term)}
        )
        if not selected or len(deployments) < 2 or most <= nodes or _alone(both, nodes):
            continue
        by_document = [
            term in [generated for _, generated in _node_terms(group.pods.generated["spec"])]
            for group, _, term in holding
        ]
        first = _first(by_document)
        group, at, _ = holding[first]
        what = (
            f"pods of {' and '.join(deployments)} may not share a node, but they need {most} nodes of "
            f"{pool}, where they were placed, which has {nodes}"
        )
        next_step = f"Make it preferred, give the pool {most} nodes, or lower replicas"
        yield group, Mistake(what, next_step, at), by_document[first]


def _by_label(groups: list[_PodGroup]) -> dict[tuple[str, str], list[_PodGroup]]:
    """Return the groups by each label of their pods, so that a term does not look at all of them."""
    by_label: dict[tuple[str, str], list[_PodGroup]] = {}
    for group in groups:
        for pair in group.labels.items():
            by_label.setdefault(pair, []).append(group)
    return by_label


def _packed(groups: list[_PodGroup]) -> int:
    """Return how many nodes the pods need at least, by their devices."""
    devices = [group.pods.request.accelerator for group in groups]
    per_node = max((device.count for device in devices if device), default=1)
    return -(-sum(group.gpus for group in groups) // per_node)


def _alone(groups: list[_PodGroup], nodes: int) -> bool:
    """Return whether one of them needs too many nodes by itself, which is told of it."""
    return any(group.count > nodes for group in groups)


def _first(by_document: list[bool]) -> int:
    """Return the index of the first mistake that a plugin made, or of the last one if documents made all."""
    return by_document.index(False) if False in by_document else len(by_document) - 1


def _exclusion_mistakes(spec: Spec, group: _PodGroup) -> Iterator[Mistake]:
    """Yield terms and ports by which some of the pods can never run beside the others."""
    for at, term in _terms(spec):
        if not _selects(term, group) or not _same_namespace(term, group.pods.spot.namespace):
            continue
        places, most = _places(term["topologyKey"], spec, group), _most(term, group)
        if places is not None and places < most:
            what = (
                f"no two pods of the workload may have the same {term['topologyKey']}, but "
                f"{_were_placed(most, group)}, whose nodes have {places} between them"
            )
            yield Mistake(what, _step(term["topologyKey"], most, group), at)
    most = group.count + group.spare
    for at, number in _ports(spec):
        if group.nodes < most:
            what = (
                f"one pod per node has port {number} of the node, but {_were_placed(most, group)}, which "
                f"has {group.nodes} nodes"
            )
            fewer = "write rollout: DeleteFirst" if most > group.count else "lower replicas"
            yield Mistake(what, f"Remove {at[-1]}, or {fewer}", at)


def _node_ports(spec: Spec) -> Iterator[tuple[FieldPath, tuple[str, int]]]:
    """Yield every port of the node that a pod takes on all its addresses, with its protocol."""
    for at, container in containers_of(spec):
        for i, port in enumerate(container.get("ports", [])):
            number = port["containerPort"] if spec.get("hostNetwork") else port.get("hostPort")
            if number and not port.get("hostIP"):
                here = (*at, "ports", i, "hostPort") if port.get("hostPort") else ("spec", "hostNetwork")
                yield here, (port.get("protocol", "TCP"), number)


def _node_terms(spec: Spec) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    """Yield the required terms that keep pods off whole nodes, and select the same for all their pods."""
    for at, term in _terms(spec):
        differs = any(term.get(key) for key in ("matchLabelKeys", "mismatchLabelKeys", "namespaceSelector"))
        if term["topologyKey"] == _NODE and term.get("labelSelector") is not None and not differs:
            yield at, term


def _is_selected(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a term of `_node_terms` is sure to select pods with these labels."""
    return _matches(term["labelSelector"], labels, unknown=(_REVISION,))


def _terms(spec: Spec) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    for i, term in enumerate(spec.get("affinity", {}).get("podAntiAffinity", {}).get(_REQUIRED, [])):
        yield ("spec", "affinity", "podAntiAffinity", _REQUIRED, i), term


def _ports(spec: Spec) -> Iterator[tuple[FieldPath, int]]:
    """Yield the places of ports of the node: with hostNetwork the first one, since all depend on that."""
    for at, container in containers_of(spec):
        for i, port in enumerate(container.get("ports", [])):
            if spec.get("hostNetwork"):
                yield ("spec", "hostNetwork"), port["containerPort"]
                return
            if port.get("hostPort"):
                yield (*at, "ports", i, "hostPort"), port["hostPort"]


def _were_placed(most: int, group: _PodGroup) -> str:
    if most == group.count:
        return f"{most} were placed on {group.pool}"
    return f"an update by Surge has {most} at a time on {group.pool}"


def _step(key: str, most: int, group: _PodGroup) -> str:
    if most > group.count:
        return f"Write matchLabelKeys: [{_REVISION}] in it, make it preferred, or write rollout: DeleteFirst"
    grow = f", give the pool {most} nodes" if key == _NODE else ""
    return f"Make it preferred{grow}, or lower replicas"


def _places(key: str, spec: Spec, group: _PodGroup) -> int | None:
    """Return how many values of a label nodes of the pool can have at most, None where it is not known."""
    if key in spec.get("nodeSelector", {}):
        return 1
    if key in group.values:
        return min(len(group.values[key]), group.nodes)
    return group.nodes if key == _NODE else None


def _most(term: Mapping[str, Any], group: _PodGroup) -> int:
    """Return how many pods a term counts at a time: in an update those of two revisions, if it sees both."""
    return group.count + (0 if _REVISION in term.get("matchLabelKeys", []) else group.spare)


def _selects(term: Mapping[str, Any], group: _PodGroup) -> bool:
    """Return whether a term is sure to select the pods of the group. One without a selector does not."""
    selector = term.get("labelSelector")
    if selector is None:
        return False
    # By the group of a worker of many pods, which its controller sets on each: only those of one group.
    if LWS_GROUP_KEY in term.get("matchLabelKeys", []):
        return False
    # Other keys that pods do not have are left out by the API server.
    if any(key == _REVISION or key in group.labels for key in term.get("mismatchLabelKeys", [])):
        return False
    return _is_selected(term, group.labels)


def _same_namespace(term: Mapping[str, Any], namespace: str) -> bool:
    """Return whether a term is sure to look into the namespace of the pods."""
    names, selector = term.get("namespaces", []), term.get("namespaceSelector")
    if namespace in names or (not names and selector is None):
        return True
    labels = {_NAMESPACE: namespace}
    return selector is not None and _keys(selector) <= labels.keys() and _matches(selector, labels)


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
