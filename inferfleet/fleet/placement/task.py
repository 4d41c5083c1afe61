"""What a plan has to solve, as one value: ledgers and steps are made from it as often as a search needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from inferfleet.documents.documents import Documents
from inferfleet.fleet.lock.capacity import Seen
from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.held_back import HeldBack
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.placing import Placing
from inferfleet.fleet.placement.policy.quotas import Limits, Quotas
from inferfleet.fleet.placement.rooms import Rooms
from inferfleet.fleet.placement.suitability import Suitability
from inferfleet.fleet.shapes import Demands, PoolKey
from inferfleet.fleet.spot import Spot


def changeable(documents: Documents) -> list[str]:
    """Return the clusters whose replicas are placed: all but those that are lost or abandoned."""
    return [
        name
        for name, cluster in documents.clusters.items()
        if cluster.spec.state not in ("lost", "abandoned")
    ]


@dataclass(frozen=True)
class Task:
    """How many replicas of each deployment are to be placed on the clusters that can be changed, and by what.

    `targets` are those replicas by deployment, `fixed` the ones on clusters that cannot be changed, and
    `seen` is what capacity.lock has. `valid` deployments may move and grow, all others may only shrink. From
    pools that do not hold their replicas some leave: from `shrunk` ones any, from others those of `yielding`
    deployments.
    """

    documents: Documents
    demands: Demands
    suitability: Suitability
    fixed: Mapping[Spot, int]
    seen: Mapping[PoolKey, Seen]
    targets: dict[str, int]
    valid: list[str]
    shrunk: frozenset[PoolKey] = frozenset()
    yielding: frozenset[str] = frozenset()

    @cached_property
    def _limits(self) -> Limits:
        return Limits(self.documents, self.demands)

    def ledger(self, replicas: Mapping[Spot, int], more: Mapping[PoolKey, int] | None = None) -> Ledger:
        """Return a ledger of the clusters that can be changed with these replicas, and with what was seen to
        keep new ones away.

        Quotas count the fixed replicas too. Pools in `more` have so many nodes more.
        """
        quotas = Quotas(self._limits, self.demands) if self.documents.quotas else None
        rooms, held_back = (
            Rooms(self.documents, changeable(self.documents)),
            HeldBack(self.documents, self.seen),
        )
        ledger = Ledger(rooms, self.demands, quotas, held_back)
        for pool, nodes in (more or {}).items():
            ledger.rooms.grow(pool, nodes)
        if quotas:
            for spot, number in self.fixed.items():
                quotas.add(spot, number)
        for spot, number in replicas.items():
            ledger.add(spot, number)
        ledger.hold_back()
        return ledger

    def candidates(self, ledger: Ledger) -> Candidates:
        """Return where replicas could go in a ledger."""
        return Candidates(self.documents, self.suitability, ledger, self.targets)

    def placing(self, ledger: Ledger, candidates: Candidates, *, ran: Mapping[str, int]) -> Placing:
        """Return the planner's steps on a ledger."""
        return Placing(
            ledger,
            self.suitability,
            candidates,
            targets=self.targets,
            valid=self.valid,
            ran=ran,
            shrunk=self.shrunk,
            yielding=self.yielding,
        )

    def placed(self, ledger: Ledger) -> dict[Spot, int]:
        """Return the replicas of all deployments in a ledger."""
        return {
            spot: number
            for name in self.documents.deployments
            for spot, number in ledger.replicas(name).items()
        }
