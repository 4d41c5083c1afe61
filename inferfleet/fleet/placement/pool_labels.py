"""Which pools meet what the templates of a role ask of the labels of nodes.

Labels are known from documents, from the cloud where the stack creates the pool, else from what capacity.lock
has of its nodes. What capacity.lock alone says makes no document wrong, and moves nothing that runs. Each
condition is judged once for each pool. Where templates of a role differ, a pool must meet both, also where
its workers have one pod alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.work import spend
from inferfleet.fleet.demands import Demands
from inferfleet.fleet.lock.capacity import FILE, Observation
from inferfleet.fleet.node_conditions import (
    ALL_MATCH,
    LabelMatch,
    Labels,
    MatchingNodes,
    NodeConditions,
    Products,
    label_match,
    products_of,
    worst,
)
from inferfleet.fleet.roles import role_conditions
from inferfleet.fleet.shapes import PoolKey


@dataclass(frozen=True)
class _Pool:
    key: PoolKey
    known: Labels
    """By documents and cloud."""
    seen: Labels
    """By capacity.lock."""
    products: Products
    day: str

    def says(self, label: str) -> tuple[Any, ...]:
        """Return all that is known of a label, equal for pools that nothing else tells apart."""
        return self.known.get(label), self.seen.get(label), self.products.get(label), self.day

    def label_match(self, conditions: tuple[NodeConditions, ...]) -> LabelMatch:
        """Return whether nodes of the pool meet all of the conditions."""
        found = self._match(conditions, self.known)
        if found.nodes == MatchingNodes.NONE or not self.seen:
            return found
        found = self._match(conditions, {**self.seen, **self.known})
        if found.nodes == MatchingNodes.NONE:
            return found._replace(has=f"{found.has} ({FILE}, {self.day})", on_day=self.day)
        return found

    def _match(self, conditions: tuple[NodeConditions, ...], labels: Labels) -> LabelMatch:
        return worst(label_match(each, labels, self.products) for each in conditions)


class PoolMatches:
    """Which pools of the stack meet the conditions of a role."""

    def __init__(self, matches: Mapping[PoolKey, LabelMatch]) -> None:
        self._matches = matches

    def of(self, pool: PoolKey) -> LabelMatch:
        """Return whether one pool meets them; one that no document has any more meets them."""
        return self._matches.get(pool, ALL_MATCH)

    @cached_property
    def meeting(self) -> tuple[PoolKey, ...]:
        """Pools that meet them on all nodes or on some, in the order of names."""
        return tuple(self._with(MatchingNodes.ALL, MatchingNodes.SOME))

    @cached_property
    def unmet(self) -> frozenset[PoolKey]:
        return frozenset(self._with(MatchingNodes.NONE))

    @cached_property
    def unmet_by_documents(self) -> frozenset[PoolKey]:
        """Pools that do not meet them, whatever capacity.lock has."""
        return frozenset(key for key in self.unmet if not self._matches[key].on_day)

    @cached_property
    def unmet_or_unknown(self) -> frozenset[PoolKey]:
        return frozenset(self._with(MatchingNodes.NONE, MatchingNodes.UNKNOWN))

    def _with(self, *nodes: MatchingNodes) -> Iterator[PoolKey]:
        return (key for key, each in self._matches.items() if each.nodes in nodes)


class PoolLabels:
    """Which pools meet the conditions of each role that has any."""

    def __init__(self, documents: Documents, demands: Demands, seen: Mapping[PoolKey, Observation]) -> None:
        """`seen` is what capacity.lock has."""
        self._documents = documents
        self._demands = demands
        self._seen = seen
        self._known: dict[tuple[NodeConditions, ...], PoolMatches] = {}
        self._alike: dict[str, list[int]] = {}

    def of(self, deployment: str, role: str) -> PoolMatches | None:
        """Return which pools meet the conditions of a role, None where its templates have none."""
        conditions = self._demands.conditions.get((deployment, role))
        if conditions is None:
            return None
        if conditions not in self._known:
            self._known[conditions] = self._judged(conditions)
        return self._known[conditions]

    def _judged(self, conditions: tuple[NodeConditions, ...]) -> PoolMatches:
        """Judge one of the pools of which the same is known of the labels that matter."""
        spend(len(self._pools), "comparing labels of nodes with templates")
        labels = sorted({label for each in conditions for label in each.keys})
        judged: dict[tuple[int, ...], LabelMatch] = {}
        matches: dict[PoolKey, LabelMatch] = {}
        for pool, *alike in zip(self._pools, *map(self._numbers, labels), strict=True):
            key = tuple(alike)
            if key not in judged:
                judged[key] = pool.label_match(conditions)
            matches[pool.key] = judged[key]
        return PoolMatches(matches)

    def _numbers(self, label: str) -> list[int]:
        """Return a number for each pool, equal where the same is known of the label."""
        if label not in self._alike:
            numbers: dict[tuple[Any, ...], int] = {}
            said = (pool.says(label) for pool in self._pools)
            self._alike[label] = [numbers.setdefault(each, len(numbers)) for each in said]
        return self._alike[label]

    @cached_property
    def _pools(self) -> tuple[_Pool, ...]:
        products = {name: products_of(document) for name, document in self._documents.classes.items()}
        pools = []
        for name, cluster in sorted(self._documents.clusters.items()):
            for pool in sorted(cluster.spec.node_pools, key=lambda pool: pool.name):
                key = name, pool.name
                seen = self._seen.get(key)
                pools.append(
                    _Pool(
                        key,
                        self._demands.labels[key],
                        seen.labels if seen else {},
                        products[pool.class_name],
                        str(seen.day) if seen else "",
                    )
                )
        return tuple(pools)


def path_of_conditions(document: ModelDeployment, role: str) -> str:
    """Return where the first template of a role that asks for labels of nodes does so."""
    for path, conditions in role_conditions(document, role):
        return f"{path}.spec.{'nodeSelector' if conditions.terms is None else 'affinity.nodeAffinity'}"
    raise ValueError(f"no template of role {role} of {document.metadata.key} asks for labels of nodes")
