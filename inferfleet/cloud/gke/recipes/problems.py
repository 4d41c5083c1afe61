"""What a rule of recipes finds wrong with a class or a pool, and how certain that is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from inferfleet.cloud.gke.described import DescribedClass, DescribedPool
from inferfleet.cloud.gke.facts.floors import minor
from inferfleet.cloud.gke.facts.sources import Source

# rule: never works. creation: never works for a pool that is made, but a cluster that exists may have one.
# fact: the table of machines says no, unless the class is `verified`. floor: a fact about the version with
# which a cluster begins, so of one that exists it is not sure. doubt: may not work.
Certainty = Literal["rule", "creation", "fact", "floor", "doubt"]

# `minVersion` is what a cluster begins with; its channel upgrades it later.
MAYBE_UPGRADED = "; the cluster exists, and may have been upgraded since"

GKE = "spec.provisioning.gke"


@dataclass(frozen=True)
class RecipeProblem:
    """What a rule finds wrong with a class or a pool, and the source of the rule.

    Several sources are one text, and "" says that it contradicts itself. `what` continues the sentence where
    "class x" or "pool x of cluster y" ends. `path` is in the document of the class, or of the pool's cluster.
    """

    certainty: Certainty
    path: str
    what: str
    source: Source | str
    next_step: str

    def about(self, subject: str) -> str:
        """Return the whole sentence about `class x` or `pool x of cluster y`, with the source."""
        return f"{subject} {self.what}" + (f" ({self.source})" if self.source else "")


ClassRule = Callable[[DescribedClass], Iterator[RecipeProblem]]

PoolRule = Callable[[DescribedPool], Iterator[RecipeProblem]]


def either(choices: Sequence[int | str]) -> str:
    """Return the choices as `1, 2 or 4`; there must be at least one."""
    *all_but_last, last = (str(choice) for choice in choices)
    return f"{', '.join(all_but_last)} or {last}" if all_but_last else last


def begin_with(needed: str) -> str:
    """Return the step to a version that has what `needed` has."""
    return f'Write minVersion: "{minor(needed)}", or a newer one where Google supports that no longer'
