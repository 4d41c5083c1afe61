"""Whether pods of one workload keep each other off the nodes where they were placed.

The plan counts devices, and puts several pods on one node where they fit. A required anti-affinity that
selects the pods of its own workload takes one pod per value of its label. A port of the node is there once
per node; with hostNetwork all ports of a pod are such.

How many values nodes of a pool can have is known of the label of their names and of those that the pool's
documents say; of others nothing is said, and neither where a selector may leave the pods out. kube-scheduler
counts a pod against those that are there, and takes nodes without the label (interpodaffinity and nodeports
in pkg/scheduler/framework/plugins of Kubernetes 1.36).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.problems import Steps
from inferfleet.fleet.names import LWS_GROUP_KEY
from inferfleet.manifests.pod.parts import Contradiction, Spec, containers

NODE = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NAMESPACE = "kubernetes.io/metadata.name"
# Given to all pods of one revision of a Deployment; its value is not known before.
_REVISION = "pod-template-hash"


@dataclass(frozen=True)
class Siblings:
    """The pods of one workload: how many there are, on how many nodes, and what is known of both.

    `spare` is how many more there are while an update replaces one. `values` are those that labels can have
    on nodes of the pool. `where` names pool and cluster.
    """

    pods: int
    spare: int
    nodes: int
    labels: Mapping[str, str]
    namespace: str
    values: Mapping[str, tuple[str, ...]]
    where: str


def separates(spec: Spec) -> bool:
    """Return whether a pod says anything that could keep it away from others."""
    return any(_terms(spec)) or any(_ports(spec))


def excluded(spec: Spec, siblings: Siblings) -> Iterator[Contradiction]:
    """Yield terms and ports by which some of the pods can never run beside the others."""
    for at, term in _terms(spec):
        if not _selects(term, siblings) or not _same_namespace(term, siblings.namespace):
            continue
        places, most = _places(term["topologyKey"], spec, siblings), _most(term, siblings)
        if places is not None and places < most:
            yield Contradiction(
                at,
                f"no two pods of the workload may have the same {term['topologyKey']}",
                f"{_were_placed(most, siblings)}, whose nodes have {places} between them",
                _step(term["topologyKey"], most, siblings),
            )
    most = siblings.pods + siblings.spare
    for at, number in _ports(spec):
        if siblings.nodes < most:
            yield Contradiction(
                at,
                f"one pod per node has port {number} of the node",
                f"{_were_placed(most, siblings)}, which has {siblings.nodes} nodes",
                f"Remove {at[-1]}, or "
                + ("write rollout: DeleteFirst" if most > siblings.pods else "lower replicas"),
            )


def node_ports(spec: Spec) -> Iterator[tuple[Steps, tuple[str, int]]]:
    """Yield every port of the node that a pod takes on all its addresses, with its protocol."""
    for at, container in containers(spec):
        for i, port in enumerate(container.get("ports", [])):
            number = port["containerPort"] if spec.get("hostNetwork") else port.get("hostPort")
            if number and not port.get("hostIP"):
                here = (*at, "ports", i, "hostPort") if port.get("hostPort") else ("spec", "hostNetwork")
                yield here, (port.get("protocol", "TCP"), number)


def node_terms(spec: Spec) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """Yield the required terms that keep pods off whole nodes, and select the same for all their pods."""
    for at, term in _terms(spec):
        differs = any(term.get(key) for key in ("matchLabelKeys", "mismatchLabelKeys", "namespaceSelector"))
        if term["topologyKey"] == NODE and term.get("labelSelector") is not None and not differs:
            yield at, term


def selects(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a term of `node_terms` is sure to select pods with these labels."""
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


def _were_placed(most: int, siblings: Siblings) -> str:
    if most == siblings.pods:
        return f"{most} were placed on {siblings.where}"
    return f"an update by Surge has {most} at a time on {siblings.where}"


def _step(key: str, most: int, siblings: Siblings) -> str:
    if most > siblings.pods:
        return f"Write matchLabelKeys: [{_REVISION}] in it, make it preferred, or write rollout: DeleteFirst"
    grow = f", give the pool {most} nodes" if key == NODE else ""
    return f"Make it preferred{grow}, or lower replicas"


def _places(key: str, spec: Spec, siblings: Siblings) -> int | None:
    """Return how many values of a label nodes of the pool can have at most, None where it is not known."""
    if key in spec.get("nodeSelector", {}):
        return 1
    if key in siblings.values:
        return min(len(siblings.values[key]), siblings.nodes)
    return siblings.nodes if key == NODE else None


def _most(term: Mapping[str, Any], siblings: Siblings) -> int:
    """Return how many pods a term counts at a time: in an update those of two revisions, if it sees both."""
    return siblings.pods + (0 if _REVISION in term.get("matchLabelKeys", []) else siblings.spare)


def _selects(term: Mapping[str, Any], siblings: Siblings) -> bool:
    """Return whether a term is sure to select the pods of the workload. One without a selector does not."""
    selector = term.get("labelSelector")
    if selector is None:
        return False
    # By the group of a worker of many pods, which its controller sets on each: only those of one group.
    if LWS_GROUP_KEY in term.get("matchLabelKeys", []):
        return False
    # Other keys that pods do not have are left out by the API server.
    if any(key == _REVISION or key in siblings.labels for key in term.get("mismatchLabelKeys", [])):
        return False
    return selects(term, siblings.labels)


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
