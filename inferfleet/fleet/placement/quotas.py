"""How much of the fleet the deployments of each namespace have, and may have.

A replica counts with the GPUs of all its roles, by the class of their pools, and with the part of each node's
list price that is theirs: by GPUs, or by cores on nodes without any. Prices are those by which pools are
chosen, on Spot pools that of Spot. Replicas on lost clusters count too, because they come back. Only new
replicas are refused: what runs stays, whatever a quota says.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.policy import Quota
from inferfleet.documents.problems import Problem, Where
from inferfleet.documents.wording import listing
from inferfleet.fleet.demands import Demand, Demands
from inferfleet.fleet.placement.prices import class_of, hourly, offer
from inferfleet.fleet.placement.suitability import REFUSED, Obstacle
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot

_Prices = Mapping[str, Fraction]


@dataclass(frozen=True, eq=False)
class Limit:
    """One limit of a quota: the most GPUs, or the most that they may cost in an hour."""

    quota: str
    path: str
    """Its field in the document."""
    most: Fraction
    class_name: str = ""
    """The class whose GPUs it counts, empty where it counts those of all."""
    prices: _Prices | None = None
    """Of a limit of cost, the price of a GPU by offer."""
    currency: str = ""
    where: Where | None = None

    def amount(self, bought: str, demand: Demand) -> Fraction:
        """Return how much a role of a replica counts on nodes of an offer."""
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

    def told_used(self, used: Fraction) -> str:
        """Return the use in words: `16 of 16 GPUs of class h100`, `USD 80.00 of 100.00 per hour`."""
        if self.prices is not None:
            return f"{self.currency} {float(used):.2f} of {float(self.most):.2f} per hour"
        of_class = f" of class {self.class_name}" if self.class_name else ""
        return f"{used} of {self.most} GPUs{of_class}"


class Limits:
    """The limits of all quotas, by what they count.

    Of the limits of a namespace that count the same, such as GPUs of one class, the lowest alone decides. So
    a replica is looked up in a few limits, however many quotas there are.
    """

    def __init__(self, documents: Documents, demands: Demands) -> None:
        self._demands = demands
        self._offer_of: dict[PoolKey, str] = {
            (name, pool.name): offer(pool, documents.classes[pool.class_name])
            for name, cluster in documents.clusters.items()
            for pool in cluster.spec.node_pools
        }
        self._amounts: dict[Spot, list[tuple[Limit, Fraction]]] = {}
        priced = _Priced(documents)
        alike: dict[str, dict[tuple[str, str], list[Limit]]] = {}
        for key, quota in sorted(documents.quotas.items()):
            of_namespace = alike.setdefault(quota.metadata.namespace, {})
            for limit in _limits(documents, key, quota, priced):
                of_namespace.setdefault((limit.class_name, limit.currency), []).append(limit)
        self.alike = {
            namespace: {
                counted: tuple(sorted(limits, key=lambda limit: limit.most))
                for counted, limits in by_count.items()
            }
            for namespace, by_count in sorted(alike.items())
        }
        self._currency_of = priced.currency_of

    def counting(self, namespace: str, bought: str) -> list[Limit]:
        """Return the limits of a namespace for nodes of an offer, the lowest of each kind."""
        alike = self.alike.get(namespace, {})
        name = class_of(bought)
        counted = (("", ""), (name, ""), ("", self._currency_of.get(name, "")))
        return [alike[key][0] for key in dict.fromkeys(counted) if key in alike]

    def bought(self, pool: PoolKey) -> str:
        """Return the offer that nodes of a pool are of."""
        return self._offer_of[pool]

    def amounts(self, spot: Spot) -> list[tuple[Limit, Fraction]]:
        """Return the lowest limits that a replica on a spot counts for, with how much that is."""
        if spot.namespace not in self.alike:
            return []
        if spot not in self._amounts:
            sums: dict[Limit, Fraction] = {}
            for role, pool in spot.pools:
                bought = self._offer_of.get((spot.cluster, pool))
                if bought is None or not self._demands.has(spot.deployment, role):
                    continue
                demand = self._demands.of(spot.deployment, role, (spot.cluster, pool))
                for limit in self.counting(spot.namespace, bought):
                    sums[limit] = sums.get(limit, Fraction(0)) + limit.amount(bought, demand)
            self._amounts[spot] = list(sums.items())
        return self._amounts[spot]


class Quotas:
    """How much replicas use of the limits, and what these allow."""

    def __init__(self, limits: Limits, demands: Demands) -> None:
        self.limits = limits
        self._demands = demands
        self._used: dict[Limit, Fraction] = {}

    def used(self, limit: Limit) -> Fraction:
        """Return how much is used of what a limit counts. The limit is one of the lowest of its namespace."""
        return self._used.get(limit, Fraction(0))

    def add(self, spot: Spot, replicas: int) -> None:
        """Count more replicas on a spot, or fewer with a negative number."""
        for limit, amount in self.limits.amounts(spot):
            self._used[limit] = self.used(limit) + replicas * amount

    def allow(self, spot: Spot, replicas: int, leaving: Spot | None = None) -> bool:
        """Return whether more replicas may be on a spot.

        Those that leave another spot may use as much as they did there.
        """
        before = dict(self.limits.amounts(leaving)) if leaving else {}
        return not any(
            self.used(limit) + replicas * amount > limit.most and amount > before.get(limit, 0)
            for limit, amount in self.limits.amounts(spot)
        )

    def why(self, deployment: str, role: str, pool: PoolKey, other_gpus: int) -> Obstacle | None:
        """Return the limit that keeps a role of one more replica from a pool, or None.

        `other_gpus` are those of the replica's other roles.
        """
        namespace = deployment.partition("/")[0]
        demand, bought = self._demands.of(deployment, role, pool), self.limits.bought(pool)
        for limit in self.limits.counting(namespace, bought):
            added_use, used = limit.amount(bought, demand), self.used(limit)
            if limit.prices is None and not limit.class_name:
                added_use += other_gpus
            if added_use and used + added_use > limit.most:
                name = limit.quota.partition("/")[2]
                # What other roles count by class or cost depends on their pools.
                least = "at least " if other_gpus and (limit.prices is not None or limit.class_name) else ""
                needs = f"a replica needs {least}{limit.told(added_use)}"
                line = f" ({limit.where})" if limit.where else ""
                return Obstacle(
                    f"quota {name} of namespace {namespace}{line}: {limit.told_used(used)} used, {needs}",
                    f"refused by quota {name} ({limit.told_used(used)} used, {needs})",
                    near=REFUSED,
                    step=f"raise {limit.name}",
                )
        return None

    def affordable(self, namespace: str, roles: Iterable[Mapping[str, Demand]]) -> bool:
        """Return whether enough is left for one more replica.

        `roles` have for each role of a replica what it needs by offer; the one counts that uses least.
        """
        roles = [of_role for of_role in roles if of_role]
        # What a role counts wherever it comes, it counts on any of its offers.
        limits = {
            limit: None for of_role in roles for limit in self.limits.counting(namespace, next(iter(of_role)))
        }
        for limit in limits:
            least = sum(
                (min(limit.amount(name, demand) for name, demand in of_role.items()) for of_role in roles),
                Fraction(0),
            )
            # What adds nothing to a limit may come where that is exceeded.
            if least and self.used(limit) + least > limit.most:
                return False
        return True

    def exceeded(self, limit: Limit, added_use: Fraction) -> tuple[Limit, ...]:
        """Return the limits that count the same as one of the lowest and are below what would be used."""
        alike = self.limits.alike[limit.quota.partition("/")[0]][limit.class_name, limit.currency]
        return alike[
            : bisect_left(alike, self.used(limit) + added_use, key=lambda alike_limit: alike_limit.most)
        ]

    def problems(self, spots: Iterable[Spot]) -> Iterator[Problem]:
        """Yield a warning for each limit that running replicas exceed, and for classes on whose pools they
        are (the `spots` of the plan) without the price that a limit of cost needs.
        """
        offers: dict[str, set[str]] = {}
        for spot in spots:
            pools = {self.limits.bought((spot.cluster, pool)) for _, pool in spot.pools}
            offers.setdefault(spot.namespace, set()).update(pools)
        for namespace, alike in self.limits.alike.items():
            for limits in alike.values():
                lowest = limits[0]
                for limit in self.exceeded(lowest, Fraction(0)):
                    yield _warning(
                        limit,
                        f"{limit.told_used(self.used(lowest))} are used by replicas that run, and none of "
                        "them ends for it",
                        "Raise the quota, or lower replicas of a deployment in this namespace",
                    )
                if lowest.prices is None:
                    continue
                lacking = offers.get(namespace, set()) - lowest.prices.keys()
                if unpriced := sorted(set(map(class_of, lacking))):
                    yield _warning(
                        lowest,
                        f"without a price in {lowest.currency}, replicas count nothing on nodes of "
                        f"{listing(unpriced)}",
                        "Add spec.price to the class, or limit gpusByClass",
                    )


class _Priced:
    """Prices of offers by currency, each worked out from the classes whose prices are in it."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self.currency_of: dict[str, str] = {}
        self._classes: dict[str, dict[str, InferenceClass]] = {}
        for name, inference_class in documents.classes.items():
            if inference_class.spec.price is not None:
                self.currency_of[name] = currency = inference_class.spec.price.currency
                self._classes.setdefault(currency, {})[name] = inference_class
        self._prices: dict[str, _Prices] = {}

    def __getitem__(self, currency: str) -> _Prices:
        if currency not in self._prices:
            classes = self._classes.get(currency, {})
            self._prices[currency] = hourly(replace(self._documents, classes=classes), currency)
        return self._prices[currency]


def _limits(documents: Documents, key: str, quota: Quota, priced: _Priced) -> Iterator[Limit]:
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
        prices = priced[currency]
        yield Limit(key, "spec.cost", most_cost, prices=prices, currency=currency, where=where("spec.cost"))


def _warning(limit: Limit, what: str, next_step: str) -> Problem:
    return Problem(what, next_step, limit.path, kind="Quota", key=limit.quota, severity="warning")
