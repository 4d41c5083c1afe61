"""How much of the fleet the deployments of each namespace have, and may have.

A replica counts with the GPUs of all its roles, by the class of their pools, and with the part of each node's
list price that is theirs: by GPUs, or by cores on nodes without any. Prices are those by which pools are
chosen, on Spot pools that of Spot. Replicas on lost clusters count too, because they come back. Only new
replicas are refused: what runs stays, whatever a quota says.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.policy.quota import Quota
from inferfleet.api.problems import Problem, Where
from inferfleet.api.wording import listing
from inferfleet.fleet.placement.prices import class_of, hourly, offer
from inferfleet.fleet.shapes import Demand, Demands, PoolKey
from inferfleet.fleet.spot import Spot

_Prices = Mapping[str, Fraction]


class Refusal(NamedTuple):
    """Why a policy keeps a replica from a pool that suits it, for one pool and for several clusters, and what
    to do about it: "" where that depends on all replicas without a place.
    """

    why: str
    short: str
    step: str


@dataclass
class Limit:
    """One limit of a quota: the most and what is used, of `path`, a field of the document.

    It counts GPUs of `class_name` (of all classes for ""), or, where it has prices, what they cost. `where`
    is its line.
    """

    quota: str
    path: str
    most: Fraction
    class_name: str = ""
    prices: _Prices | None = None
    currency: str = ""
    used: Fraction = Fraction(0)
    where: Where | None = None

    def amount(self, bought: str, demand: Demand) -> Fraction:
        """Return how much a role of a replica on nodes of an offer counts."""
        if self.prices is None:
            return Fraction(demand.gpus if self.class_name in ("", class_of(bought)) else 0)
        units = Fraction(demand.gpus) if demand.gpus else Fraction(demand.cpu, 1000)
        return units * self.prices.get(bought, 0)

    @property
    def name(self) -> str:
        """Return which limit it is: `spec.gpus of Quota ml/q (stacks/a.yaml:7)`."""
        return f"{self.path} of Quota {self.quota}{f' ({self.where})' if self.where else ''}"

    def told(self, amount: Fraction) -> str:
        """Return an amount of it, `16` GPUs or `USD 80.01`, rounded up to a cent."""
        if self.prices is None:
            return str(amount)
        return f"{self.currency} {Decimal(-(-amount * 100 // 1)) / 100:.2f}"

    def __str__(self) -> str:
        """Return what is used: `16 of 16 GPUs of class h100`, `USD 80.00 of 100.00 per hour`."""
        if self.prices is not None:
            return f"{self.currency} {float(self.used):.2f} of {float(self.most):.2f} per hour"
        of_class = f" of class {self.class_name}" if self.class_name else ""
        return f"{self.used} of {self.most} GPUs{of_class}"


class Quotas:
    """The limits of each namespace, and what is used of them."""

    def __init__(self, documents: Documents, demands: Demands) -> None:
        self._demands = demands
        self._offer_of: dict[PoolKey, str] = {
            (name, pool.name): offer(pool, documents.classes[pool.class_name])
            for name, cluster in documents.clusters.items()
            for pool in cluster.spec.node_pools
        }
        self._known: dict[Spot, list[tuple[Limit, Fraction]]] = {}
        self.limits: dict[str, list[Limit]] = {}
        for key, quota in sorted(documents.quotas.items()):
            self.limits.setdefault(quota.metadata.namespace, []).extend(_limits(documents, key, quota))

    def add(self, spot: Spot, replicas: int) -> None:
        """Count more replicas on a spot, or fewer with a negative number."""
        for limit, each in self.amounts(spot):
            limit.used += replicas * each

    def allow(self, spot: Spot, replicas: int, leaving: Spot | None = None) -> bool:
        """Return whether more replicas may be on a spot. Those that leave another one may use as much as
        there.
        """
        before = [each for _, each in self.amounts(leaving)] if leaving else None
        for place, (limit, each) in enumerate(self.amounts(spot)):
            if limit.used + replicas * each > limit.most and each > (before[place] if before else 0):
                return False
        return True

    def why(self, deployment: str, role: str, pool: PoolKey, other_gpus: int) -> Refusal | None:
        """Return which limit keeps a role of one more replica from a pool, or None. Its other roles have so
        many GPUs.
        """
        namespace = deployment.partition("/")[0]
        demand, bought = self._demands.of(deployment, role, pool), self._offer_of[pool]
        for limit in self.limits.get(namespace, ()):
            more = limit.amount(bought, demand)
            if limit.prices is None and not limit.class_name:
                more += other_gpus
            if more and limit.used + more > limit.most:
                which = limit.quota.partition("/")[2]
                # What other roles count by class or cost depends on their pools.
                least = "at least " if other_gpus and (limit.prices is not None or limit.class_name) else ""
                needs = f"a replica needs {least}{limit.told(more)}"
                where = f" ({limit.where})" if limit.where else ""
                return Refusal(
                    f"quota {which} of namespace {namespace}{where}: {limit} used, {needs}",
                    f"refused by quota {which} ({limit} used, {needs})",
                    "",
                )
        return None

    def amounts(self, spot: Spot) -> list[tuple[Limit, Fraction]]:
        """Return the limits of a namespace, with how much a replica on a spot counts for each."""
        if spot.namespace not in self.limits:
            return []
        if spot not in self._known:
            of_roles = [
                (self._offer_of[key], self._demands.of(spot.deployment, role, key))
                for role, pool in spot.pools
                if (key := (spot.cluster, pool)) in self._offer_of
                and self._demands.has(spot.deployment, role)
            ]
            self._known[spot] = [
                (limit, sum((limit.amount(*of_role) for of_role in of_roles), Fraction(0)))
                for limit in self.limits[spot.namespace]
            ]
        return self._known[spot]

    def problems(self, spots: Iterable[Spot]) -> Iterator[Problem]:
        """Yield a warning for each limit that running replicas exceed, and for classes on whose pools they
        are (the `spots` of the plan) without the price that a limit of cost needs.
        """
        offers: dict[str, set[str]] = {}
        for spot in spots:
            pools = {self._offer_of[spot.cluster, pool] for _, pool in spot.pools}
            offers.setdefault(spot.namespace, set()).update(pools)
        for namespace, limits in sorted(self.limits.items()):
            for limit in limits:
                if limit.used > limit.most:
                    yield _warning(
                        limit,
                        f"{limit} are used by replicas that run, and none of them ends for it",
                        "Raise the quota, or lower replicas of a deployment in this namespace",
                    )
                if limit.prices is None:
                    continue
                lacking = offers.get(namespace, set()) - limit.prices.keys()
                if unpriced := sorted(set(map(class_of, lacking))):
                    yield _warning(
                        limit,
                        f"without a price in {limit.currency}, replicas count nothing on nodes of "
                        f"{listing(unpriced)}",
                        "Add spec.price to the class, or limit gpusByClass",
                    )


def _limits(documents: Documents, key: str, quota: Quota) -> Iterator[Limit]:
    spec = quota.spec

    def where(path: str) -> Where | None:
        return documents.where("Quota", key, path)

    if spec.gpus is not None:
        yield Limit(key, "spec.gpus", Fraction(spec.gpus), where=where("spec.gpus"))
    for name, most in sorted(spec.gpus_by_class.items()):
        path = f"spec.gpusByClass.{name}"
        yield Limit(key, path, Fraction(most), name, where=where(path))
    if spec.cost is not None:
        most_cost, currency = Fraction(spec.cost.amount), spec.cost.currency
        priced = hourly(documents, currency)
        yield Limit(key, "spec.cost", most_cost, prices=priced, currency=currency, where=where("spec.cost"))


def _warning(limit: Limit, what: str, next_step: str) -> Problem:
    return Problem(what, next_step, limit.path, kind="Quota", key=limit.quota, severity="warning")
