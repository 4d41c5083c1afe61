"""What pod templates ask of the labels of nodes, and whether nodes of a pool meet it, as kube-scheduler
compares them: `nodeSelector`, and node affinity that is required (component-helpers/scheduling/corev1/
nodeaffinity of Kubernetes 1.36).

Of a pool it is known that each node has one of some values of a label, or nothing is known of the label. So a
condition is met, met by some of the nodes, not met, or unknown. That two labels of a node go together is not
known: a zone and a rack are looked at one by one.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster, NodePool
from inferfleet.documents.pods.template import POOL_LABEL
from inferfleet.tables.devices import (
    GKE_ACCELERATOR,
    NVIDIA_DRIVERS,
    PRODUCT_LABELS,
    is_product,
    product_in_label,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
# The one field of nodes that an affinity may name; here it is read as a label that every node has.
NAME = "metadata.name"
# Labels of which each node has a value of its own.
OF_ONE_NODE = frozenset({NAME, "kubernetes.io/hostname"})
OS, REGION, ZONE = "kubernetes.io/os", "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
# Labels of the nodes of a pool: each node has one of the values, or for None it does not have the label.
Labels = Mapping[str, Collection[str | None]]
_NO_LABELS: Labels = MappingProxyType({})
# What labels with the name of a product say on nodes of a class, where nodes have them.
Products = Mapping[str, str]
# As Go's ParseInt reads it.
_NUMBER = re.compile(r"[-+]?[0-9]{1,19}")
_PRODUCT = "productName"


class Requirement(NamedTuple):
    """A condition on one label; `values` are those of the operator, none for Exists and DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def meets(self, value: str | None) -> bool:
        """Return whether a node meets it whose label has the value, or which lacks the label."""
        if self.operator == "In":
            return value in self.values
        if self.operator == "NotIn":
            return value not in self.values
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        limit = self.values[0] if len(self.values) == 1 else ""
        if value is None or not _NUMBER.fullmatch(value) or not _NUMBER.fullmatch(limit):
            return False
        return int(value) > int(limit) if self.operator == "Gt" else int(value) < int(limit)

    def __str__(self) -> str:
        """Return it as kubectl writes selectors: `zone=a`, `zone in (a,b)`, `!spot`; `size > 5`."""
        listed = f"({','.join(self.values)})"
        if self.operator == "In":
            return f"{self.key}={self.values[0]}" if len(self.values) == 1 else f"{self.key} in {listed}"
        if self.operator == "NotIn":
            return f"{self.key} notin {listed}"
        if self.operator in ("Gt", "Lt"):
            return f"{self.key} {'>' if self.operator == 'Gt' else '<'} {','.join(self.values)}"
        return self.key if self.operator == "Exists" else f"!{self.key}"


_Terms = tuple[tuple[Requirement, ...], ...]


class NodeConditions(NamedTuple):
    """What a pod asks of its node: all of its selector, and one term of its affinity, if it has one."""

    selector: tuple[Requirement, ...]
    terms: _Terms | None

    @property
    def keys(self) -> frozenset[str]:
        """Return the labels that it names."""
        return frozenset(requirement.key for requirement in self._every)

    @property
    def wanted(self) -> frozenset[str]:
        """Return the labels that it asks nodes to have."""
        return frozenset(each.key for each in self._every if each.operator not in ("NotIn", "DoesNotExist"))

    @property
    def _every(self) -> tuple[Requirement, ...]:
        return (*self.selector, *(requirement for term in self.terms or () for requirement in term))


class MatchingNodes(IntEnum):
    """Which nodes of a pool meet a condition; of several conditions the largest counts."""

    ALL = 0
    SOME = 1
    UNKNOWN = 2
    NONE = 3


class LabelMatch(NamedTuple):
    """Whether the labels of a pool's nodes meet a condition."""

    nodes: MatchingNodes
    needs: tuple[str, ...] = ()
    """The requirements that not all nodes meet, or for which the label is not known; of a condition those of
    each term, any of which will do.
    """
    keys: tuple[str, ...] = ()
    """Their labels."""
    has: str = ""
    """What nodes have instead, where none meets it."""
    on_day: str = ""
    """The day of capacity.lock on which that was seen, "" where documents or a cloud say it."""

    @property
    def why(self) -> str:
        """Return why no node meets it."""
        needs = "; or ".join(self.needs)
        return f"its nodes have {self.has}, and the template needs {needs}" if self.has else f"needs {needs}"


ALL_MATCH = LabelMatch(MatchingNodes.ALL)
_EMPTY_TERM = LabelMatch(MatchingNodes.NONE, ("an empty term, which takes no node",))


def conditions_of(
    spec: Mapping[str, Any], *, without: Mapping[str, str] = MappingProxyType({})
) -> NodeConditions | None:
    """Return what a pod asks of its node, None where that is nothing. `without` is a part of its selector
    that is left out.
    """
    selector = tuple(
        Requirement(key, "In", (value,))
        for key, value in sorted(spec.get("nodeSelector", {}).items())
        if without.get(key) != value
    )
    required = spec.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED)
    if required is None:
        return NodeConditions(selector, None) if selector else None
    return NodeConditions(selector, tuple(map(_requirements, required["nodeSelectorTerms"])))


def _requirements(term: Mapping[str, Any]) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(wanted["key"], wanted["operator"], tuple(wanted.get("values", ())))
        for part in ("matchExpressions", "matchFields")
        for wanted in term.get(part, ())
    )


_NOTHING: Products = MappingProxyType({})


def label_match(conditions: NodeConditions, labels: Labels, products: Products = _NOTHING) -> LabelMatch:
    """Return whether nodes with these labels meet the conditions."""
    of_terms = [
        _of_all((*conditions.selector, *term), labels, products) if term else _EMPTY_TERM
        for term in conditions.terms or ()
    ]
    if conditions.terms is None:
        of_terms = [_of_all(conditions.selector, labels, products)]
    best = min(of_terms, default=_EMPTY_TERM, key=lambda of_term: of_term.nodes)
    if best.nodes == MatchingNodes.ALL:
        return best
    same = list(dict.fromkeys(each for each in of_terms if each.nodes == best.nodes)) or [best]
    return LabelMatch(
        best.nodes,
        tuple(dict.fromkeys(", ".join(each.needs) for each in same)),
        tuple(dict.fromkeys(key for each in same for key in each.keys)),
        " and ".join(dict.fromkeys(each.has for each in same if each.has)),
    )


def _of_all(requirements: Iterable[Requirement], labels: Labels, products: Products) -> LabelMatch:
    """Return whether nodes meet all requirements. What one leaves of the values counts for the next."""
    possible: dict[str, Collection[str | None]] = {}
    unknown: list[Requirement] = []
    partly: list[Requirement] = []
    for requirement in requirements:
        key = requirement.key
        values = possible.get(key, labels.get(key))
        if values is None:
            if requirement.operator == "In":
                product = products.get(key)
                if product and not any(is_product(value, product) for value in requirement.values):
                    return _unmet(requirement, (product,))
                possible[key] = requirement.values
            unknown.append(requirement)
            continue
        left = [value for value in values if requirement.meets(value)]
        if not left and key in labels:
            return _unmet(requirement, labels[key])
        if not left:
            # The template contradicts itself, whatever nodes have.
            contradiction = *(each for each in unknown if each.key == key), requirement
            return LabelMatch(MatchingNodes.NONE, tuple(map(str, contradiction)), (key,))
        if len(left) < len(values):
            partly.append(requirement)
        possible[key] = left
    found = unknown or partly
    nodes = MatchingNodes.UNKNOWN if unknown else MatchingNodes.SOME if partly else MatchingNodes.ALL
    return LabelMatch(nodes, tuple(map(str, found)), tuple(dict.fromkeys(each.key for each in found)))


def _unmet(requirement: Requirement, values: Collection[str | None]) -> LabelMatch:
    key = requirement.key
    said = [f"{key}={value}" for value in sorted(value for value in values if value is not None)]
    said += [f"no label {key}"] if None in values else []
    return LabelMatch(MatchingNodes.NONE, (str(requirement),), (key,), " or ".join(said))


def worst(matches: Iterable[LabelMatch]) -> LabelMatch:
    """Return the match of pods that must all be on the same pool."""
    return max(matches, default=ALL_MATCH, key=lambda each: each.nodes)


def of_node(node: Mapping[str, Any], keys: Iterable[str]) -> Labels:
    """Return what a node that a cluster lists has of these labels."""
    metadata = node["metadata"]
    labels = {**(metadata.get("labels") or {}), NAME: metadata["name"]}
    return {key: (labels.get(key),) for key in keys}


# What documents and clouds say of the nodes of a pool.


def known_labels(cluster: InferenceCluster, pool: NodePool, of_cloud: Labels = _NO_LABELS) -> Labels:
    """Return what is known of labels of a pool's nodes: by the documents, and on a cluster that the stack
    creates by what its cloud gives to them.

    Region and zone of a cluster that exists are those of its own labels, as for `spread`.
    """
    labels: dict[str, Collection[str | None]] = {OS: ("linux",)}
    if cluster.spec.cluster.existing is None:
        return labels | {key: (value,) for key, value in pool.labels.items()} | dict(of_cloud)
    of_cluster = cluster.metadata.labels
    labels |= {key: (of_cluster[key],) for key in (REGION, ZONE) if key in of_cluster}
    return labels | {key: (value,) for key, value in (pool.node_selector or {POOL_LABEL: pool.name}).items()}


def products_of(inference_class: InferenceClass) -> dict[str, str]:
    """Return what labels with the name of the product say on nodes of a class that have them.

    It is the product in Google's words where the class has a recipe for GKE, and in the vendor's words where
    its device has the attribute `productName`.
    """
    provisioning = inference_class.spec.provisioning
    gke = provisioning.gke if provisioning else None
    products = {GKE_ACCELERATOR: gke.accelerator.type} if gke and gke.accelerator else {}
    for device in inference_class.spec.all_devices:
        label, space = PRODUCT_LABELS.get(device.driver, ("", ""))
        for name, attribute in device.attributes.items():
            if label and name.rpartition("/")[2] == _PRODUCT and attribute.string:
                products[label] = product_in_label(attribute.string, space)
                if device.driver in NVIDIA_DRIVERS:
                    products.setdefault(GKE_ACCELERATOR, products[label])
    return products
