"""What would place replicas without a place and costs no nodes: moves, and what documents limit.

Moves are those of `moves.py`. Where no number of nodes helps, the replicas are placed on pools that grow as
far as they must, as for a fix, but without the quotas of documents and then without those of Google: what
lets them have a place is what keeps them from it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from inferfleet.fleet.advice.fixes import Fixes
from inferfleet.fleet.advice.growing import Growing, Part
from inferfleet.fleet.advice.moves import MakingRoom, RoomMade
from inferfleet.fleet.decisions import Ways
from inferfleet.fleet.lock.capacity import FILE
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.policy.quotas import Limit
from inferfleet.fleet.placement.sizes import counted
from inferfleet.fleet.placement.task import Task
from inferfleet.fleet.spot import Spot

# Limits of quotas that are told one by one.
_MOST_RAISED = 5


class AllWays(Mapping[str, Ways]):
    """By deployment that lacks replicas, what would place them. It is worked out when somebody asks."""

    def __init__(self, task: Task, ledger: Ledger, fixes: Fixes) -> None:
        self._task = task
        self._ledger = ledger
        self._fixes = fixes
        self._replicas = task.placed(ledger)
        self._missing = {name: task.targets[name] - ledger.total(name) for name in fixes}

    def __getitem__(self, deployment: str) -> Ways:
        if deployment not in self._missing:
            raise KeyError(deployment)
        made = self._made.get(deployment) or RoomMade((), 0)
        steps = () if self._fixes[deployment] else tuple(self._limits(deployment))
        return Ways(made.moves, made.placed, steps)

    def __iter__(self) -> Iterator[str]:
        return iter(self._missing)

    def __len__(self) -> int:
        return len(self._missing)

    @cached_property
    def _made(self) -> dict[str, RoomMade]:
        return MakingRoom(self._task, self._replicas).found(self._missing)

    def _limits(self, deployment: str) -> Iterator[str]:
        """Yield which limits are in the way, and what they would have to be."""
        of_documents = list(self._quotas(deployment))
        yield from of_documents
        part = Part((0, 0))
        if of_documents:
            return
        growing = self._growing(limited=True)
        if growing.place(deployment, self._missing[deployment], part):
            for (cluster, pool), more_nodes in sorted(part.nodes.items()):
                seen = self._task.seen.get((cluster, pool))
                most = seen.most if seen else None
                if most is not None:
                    yield (
                        f"raise Google's quota or the reservation of pool {cluster}/{pool}, which allow "
                        f"{counted(most, 'node')} ({FILE}): {counted(more_nodes, 'more node')} would do"
                    )

    def _quotas(self, deployment: str) -> Iterator[str]:
        quotas, number = self._ledger.quotas, 0
        if quotas is None:
            return
        every = self._needs.get(deployment.partition("/")[0], {})
        for limit, need in self._needs.get(deployment, {}).items():
            for exceeded in quotas.exceeded(limit, every[limit]):
                number += 1
                if number <= _MOST_RAISED:
                    used = quotas.used(limit)
                    yield self._raised(deployment, exceeded, used, need, every[limit] - need)
        if number > _MOST_RAISED:
            yield f"raise {number - _MOST_RAISED:,} more limits of quotas of this namespace"

    def _raised(self, deployment: str, limit: Limit, used: Fraction, need: Fraction, more: Fraction) -> str:
        number = self._missing[deployment]
        replicas = f"{counted(number, 'replica')} without a place need{'s' if number == 1 else ''}"
        others = f", others without a place {limit.told(more)}" if more else ""
        return (
            f"raise {limit.name} from {limit.told(limit.most)} to {limit.told(used + need + more)}: "
            f"{limit.told(used)} used, {replicas} {limit.told(need)}{others}"
        )

    @cached_property
    def _needs(self) -> dict[str, dict[Limit, Fraction]]:
        """Return what missing replicas count for limits of quotas, by deployment and in each namespace."""
        needs: dict[str, dict[Limit, Fraction]] = {}
        quotas = self._ledger.quotas
        if quotas is None:
            return needs
        for name, spots in self._unlimited.items():
            for spot, number in spots.items():
                for limit, each in quotas.limits.amounts(spot):
                    for key in (name, name.partition("/")[0]) if each else ():
                        of = needs.setdefault(key, {})
                        of[limit] = of.get(limit, Fraction(0)) + number * each
        return needs

    @cached_property
    def _unlimited(self) -> dict[str, dict[Spot, int]]:
        """Return where missing replicas of namespaces with quotas would be, were there no quotas."""
        growing = self._growing(limited=False)
        found = {}
        namespaces = self._ledger.quotas.limits.alike if self._ledger.quotas else {}
        for name, number in self._missing.items():
            if name.partition("/")[0] not in namespaces:
                continue
            before = growing.ledger.replicas(name)
            if growing.place(name, number, Part((0, 0))):
                after = growing.ledger.replicas(name)
                found[name] = {
                    spot: count - before.get(spot, 0)
                    for spot, count in after.items()
                    if count > before.get(spot, 0)
                }
        return found

    def _growing(self, *, limited: bool) -> Growing:
        """Return pools that may grow: by quotas of documents (`limited`), or by those that Google has."""
        task = (
            self._task if limited else replace(self._task, documents=replace(self._task.documents, quotas={}))
        )
        ledger = task.ledger(self._replicas)
        most = {} if limited else self._fixes.most
        return Growing(ledger, task.candidates(ledger), task.documents, most)
