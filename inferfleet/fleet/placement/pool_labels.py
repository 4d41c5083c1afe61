"""Which pools meet what the templates of a role ask of the labels of nodes.

Labels are known from documents, from the cloud where the stack creates the pool, else from what capacity.lock
has of its nodes. Each condition is judged once for each pool. Where templates of a role differ, a pool must
meet both, also where its workers have one pod alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import POSITIONS
from inferfleet.fleet.demands import Demands
from inferfleet.fleet.lock.capacity import FILE, Observation
from inferfleet.fleet.node_conditions import (
    MET,
    Labels,
    NodeConditions,
    Products,
    Standing,
    Verdict,
    conditions_of,
    declared_labels,
    products_of,
    verdict,
    worst,
)
from inferfleet.fleet.roles import template_path, workers_of
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


@dataclass(frozen=True)
class Standings:
    """How the pools of the stack stand to the conditions of a role."""

    verdicts: Mapping[PoolKey, Verdict]
    """Of pools that do not meet them for certain, on all nodes."""
    meeting: tuple[PoolKey, ...]
    """Pools that meet them on all nodes or on some, in the order of names."""
    unmet: frozenset[PoolKey]
    unmet_or_unknown: frozenset[PoolKey]

    def of(self, pool: PoolKey) -> Verdict:
        """Return how one pool stands to them."""
        return self.verdicts.get(pool, MET)


class PoolLabels:
    """How pools stand to the conditions of each role that has any."""

    def __init__(self, documents: Documents, demands: Demands, seen: Mapping[PoolKey, Observation]) -> None:
        self._documents = documents
        self._demands = demands
        self._seen = seen
        self._pools: tuple[_Pool, ...] | None = None
        self._known: dict[tuple[NodeConditions, ...], Standings] = {}

    def of(self, deployment: str, role: str) -> Standings | None:
        """Return how pools stand to the conditions of a role, None where its templates have none."""
        conditions = self._demands.conditions.get((deployment, role))
        if conditions is None:
            return None
        if conditions not in self._known:
            self._known[conditions] = self._judged(conditions)
        return self._known[conditions]

    def _judged(self, conditions: tuple[NodeConditions, ...]) -> Standings:
        if self._pools is None:
            self._pools = tuple(self._worked_out())
        judged = {pool.key: self._verdict(conditions, pool) for pool in self._pools}

        def standing(*any_of: Standing) -> list[PoolKey]:
            return [key for key, each in judged.items() if each.standing in any_of]

        return Standings(
            {key: each for key, each in judged.items() if each.standing != Standing.MET},
            tuple(standing(Standing.MET, Standing.SOME)),
            frozenset(standing(Standing.UNMET)),
            frozenset(standing(Standing.UNMET, Standing.UNKNOWN)),
        )

    def _verdict(self, conditions: tuple[NodeConditions, ...], pool: _Pool) -> Verdict:
        labels = {**pool.seen, **pool.known} if pool.seen else pool.known
        found = worst(verdict(each, labels, pool.products) for each in conditions)
        if found.standing == Standing.UNMET and any(
            key in pool.seen and key not in pool.known for key in found.keys
        ):
            return found._replace(has=f"{found.has} ({FILE}, {pool.day})")
        return found

    def _worked_out(self) -> list[_Pool]:
        products = {name: products_of(document) for name, document in self._documents.classes.items()}
        pools = []
        for name, cluster in sorted(self._documents.clusters.items()):
            for pool in sorted(cluster.spec.node_pools, key=lambda pool: pool.name):
                key = name, pool.name
                seen = self._seen.get(key)
                known = {**declared_labels(cluster, pool), **self._demands.labels.get(key, {})}
                pools.append(
                    _Pool(
                        key,
                        known,
                        seen.labels if seen else {},
                        products[pool.class_name],
                        str(seen.day) if seen else "",
                    )
                )
        return pools


def path_of_conditions(document: ModelDeployment, role: str) -> str:
    """Return where the first template of a role that asks for labels of nodes does so."""
    workers = workers_of(document, role)
    for position in POSITIONS:
        template = workers.of(position)
        if template and (conditions := conditions_of(template.spec)):
            field = "affinity.nodeAffinity" if conditions.terms is not None else "nodeSelector"
            return f"{template_path(document, role, position)}.spec.{field}"
    raise ValueError(f"no template of role {role} of {document.metadata.key} asks for labels of nodes")
