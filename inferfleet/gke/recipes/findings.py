"""What the rules of recipes look at and what they find: a class with its machine, a pool with its recipe."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from inferfleet.api.kinds.gke_cluster import Gke
from inferfleet.api.kinds.inference_class import GkeProvisioning, InferenceClass
from inferfleet.api.kinds.node_pool import NodePool
from inferfleet.gke.facts.machine import Machine

# rule: never works. fact: the table of machines says no, unless the class is `verified`. doubt: may not work.
Weight = Literal["rule", "fact", "doubt"]


@dataclass(frozen=True)
class Finding:
    """What stands against a class or a pool, and where that was read ("": it contradicts itself).

    `what` goes on where "class x" or "pool x of cluster y" ends.
    """

    weight: Weight
    path: str
    what: str
    source: str
    next_step: str

    def said_of(self, subject: str) -> str:
        return f"{subject} {self.what}" + (f" ({self.source})" if self.source else "")


@dataclass(frozen=True)
class Recipe:
    """A class that GKE provisions. `known` is False when its machine's facts are the class's own words."""

    document: InferenceClass
    gke: GkeProvisioning
    machine: Machine
    known: bool

    @property
    def name(self) -> str:
        return self.document.metadata.name


@dataclass(frozen=True)
class PoolRecipe:
    """Pool number `place` of a GKE cluster, made by a recipe."""

    cluster: str
    gke: Gke
    place: int
    pool: NodePool
    recipe: Recipe

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones of its nodes; empty where Google is to pick them."""
        return self.pool.zones or self.gke.zones

    def path(self, field: str) -> str:
        return f"spec.nodePools[{self.place}].{field}"


RecipeRule = Callable[[Recipe], Iterator[Finding]]
PoolRule = Callable[[PoolRecipe], Iterator[Finding]]
GKE = "spec.provisioning.gke"


def either(choices: Sequence[int | str]) -> str:
    """`1, 2 or 4`, of at least one choice."""
    *others, last = (str(one) for one in choices)
    return f"{', '.join(others)} or {last}" if others else last
