"""What is wrong with a plan, whatever the fleet: found without the planner's own packing and judgement."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from fleet_documents import Fleet
from packings import Size, Worker, fit
from plan_rules import Rules

from inferfleet.fleet import names
from inferfleet.fleet.advice.summaries import MOST, groups
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock, parse, text
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot

# Deployment, cluster, role and pool.
_Place = tuple[str, str, str, str]


def faults(fleet: Fleet, before: Lock, planned: Plan) -> Iterator[str]:
    """Yield what is wrong with the plan of a fleet whose lock was `before`."""
    known = _Known(fleet, before, planned)
    yield from known.unexplained()
    yield from known.identities()
    yield from known.unsuitable()
    yield from known.oversubscribed()
    yield from known.above_quotas()
    yield from known.uneven()
    yield from known.apart()
    if parse(text(planned.lock), file="placement.lock", stack="test") != planned.lock:
        yield "the new lock is read as another one than was written"


class _Known:
    def __init__(self, fleet: Fleet, before: Lock, planned: Plan) -> None:
        self.fleet = fleet
        self.rules = Rules(fleet)
        self.planned = planned
        self.after = {placement.spot: placement.replicas for placement in planned.placements}
        self.kept = {
            spot: number for spot, number in before.placements.items() if self._is_kept(before, spot)
        }
        self.errors = {
            problem.key
            for problem in planned.problems
            if (problem.kind, problem.severity) == ("ModelDeployment", "error")
        }

    def _is_kept(self, before: Lock, spot: Spot) -> bool:
        """Return whether replicas of the lock are planned with: neither dropped nor in the lock alone."""
        return (
            spot.deployment in self.rules.deployments
            and self.rules.state(spot.cluster) not in ("", "abandoned")
            and spot not in self.planned.lock.placements.keys() - self.after.keys()
        )

    def _at(self, spots: dict[Spot, int]) -> Counter[_Place]:
        """Return replicas by deployment, cluster, role and pool, whatever the revision."""
        found: Counter[_Place] = Counter()
        for spot, number in spots.items():
            for role, pool in spot.pools:
                if role in self.rules.roles(spot.deployment) and (spot.cluster, pool) in self.rules.pools:
                    found[spot.deployment, spot.cluster, role, pool] += number
        return found

    def unexplained(self) -> Iterator[str]:
        """Replicas without a place, and nobody is told why; or more of them than the document wants."""
        missing = {unplaced.deployment: unplaced for unplaced in self.planned.unplaced}
        for key, raw in self.rules.deployments.items():
            wanted = raw["spec"]["replicas"]
            spots = self.planned.lock.placements
            total = sum(number for spot, number in spots.items() if spot.deployment == key)
            fixed = sum(
                number
                for spot, number in spots.items()
                if spot.deployment == key
                and (spot not in self.after or self.rules.state(spot.cluster) == "lost")
            )
            unplaced = missing.pop(key, None)
            told = unplaced.replicas if unplaced else 0
            if total + told != max(wanted, fixed) and (
                total + told > max(wanted, fixed) or key not in self.errors
            ):
                yield f"{key}: {total} placed and {told} without a place are not {max(wanted, fixed)}"
            if unplaced is None:
                continue
            reasons = list(unplaced.reasons)
            if {reason.cluster for reason in reasons} != self.rules.clusters.keys():
                yield f"{key}: not every cluster has a reason against it"
            if not all(reason.why.strip() for reason in reasons):
                yield f"{key}: a reason says nothing"
            if any(reason.why == "has room" for reason in reasons if len(self.rules.roles(key)) == 1):
                yield f"{key}: a pool has room and is not used: {reasons}"
            if any(len(str(group)) > MOST for group in groups(reasons)):
                yield f"{key}: a reason is longer than {MOST}"
        for key in missing:
            yield f"{key}: lacks replicas without having a document"

    def identities(self) -> Iterator[str]:
        """Two placements of one identity, or with a workload of one name."""
        told = {problem.what for problem in self.planned.problems if "share pool" in problem.what}
        seen: dict[tuple[str, ...], Spot] = {}
        for spot in self.after:
            if any(str(spot) in what for what in told) or not self._is_whole(spot):
                continue
            own = [("component", names.replicas_component(spot))]
            for role, _ in spot.pools:
                for name in (names.workload, names.worker_set):
                    own.append((name.__name__, spot.cluster, spot.namespace, name(spot, role)))
            for identity in own:
                if (other := seen.setdefault(identity, spot)) != spot and not any(
                    str(other) in what for what in told
                ):
                    yield f"{spot} and {other} have one identity, {identity}"

    def _is_whole(self, spot: Spot) -> bool:
        return sorted(role for role, _ in spot.pools) == sorted(self.rules.roles(spot.deployment))

    def unsuitable(self) -> Iterator[str]:
        """New replicas where they must not be, replicas of half their roles, and what nobody is told of."""
        gained = self._at(self.after) - self._at(self.kept)
        for deployment, cluster, role, pool in gained:
            if why := self.rules.suits(deployment, role, (cluster, pool)):
                yield f"{deployment} {role} is new on {cluster}/{pool}: {why}"
        by_cluster = [Counter[tuple[str, str]](), Counter[tuple[str, str]]()]
        for count, spots in zip(by_cluster, (self.after, self.kept), strict=True):
            for spot, number in spots.items():
                count[spot.deployment, spot.cluster] += number
        for deployment, cluster in by_cluster[0] - by_cluster[1]:
            if why := self.rules.takes(deployment, cluster):
                yield f"{deployment} is new on {cluster}: {why}"
        for spot in self.after:
            what = f"cannot leave {spot.place} "
            lost = self.rules.state(spot.cluster) == "lost"
            silent = not any(what in problem.what for problem in self.planned.problems)
            if silent and not self._is_whole(spot) and not lost and spot.deployment not in self.errors:
                yield f"{spot} lacks a role, and nobody is told"

    def oversubscribed(self) -> Iterator[str]:
        """Pools whose nodes cannot hold the pods of the plan, where it put one there or told nobody."""
        after, kept = self._at(self.after), self._at(self.kept)
        by_pool: dict[PoolKey, list[_Place]] = {}
        for place in after:
            by_pool.setdefault((place[1], place[3]), []).append(place)
        for pool, places in sorted(by_pool.items()):
            if self.rules.state(pool[0]) == "lost":
                continue
            gained = any(after[place] > kept[place] for place in places)
            empty = self.rules.node(pool)
            workers: list[Worker] = []
            for place in places:
                workers += self.rules.asked(place[0], place[2], pool).on(after[place])
            name = "/".join(pool)
            holds = fit([empty] * self.rules.size(pool), [_clipped(worker, empty) for worker in workers])
            if holds is False and gained:
                yield f"{name} is oversubscribed and has new replicas"
            if holds is False and not any(
                f"pool {name} with" in problem.what for problem in self.planned.problems
            ):
                yield f"{name} is oversubscribed, and nobody is told"
            if gained and not any(kept[place] for place in places) and (left := self._seen(pool)) is not None:
                nodes, others = left
                if fit(nodes, others) and fit(nodes, [*others, *workers]) is False:
                    yield f"{name} has more new replicas than capacity.lock leaves room for"

    def _seen(self, pool: PoolKey) -> tuple[list[Size], list[Worker]] | None:
        """Return the nodes that were seen, and the pods of others on them; None where nothing was."""
        seen = self.fleet.seen.get(pool)
        if seen is None:
            return None
        empty, size = self.rules.node(pool), self.rules.size(pool)
        autoscaled = "maxNodeCount" in self.rules.pools[pool]
        # Of nodes that documents ask for since then, none is missing.
        missing = 0 if autoscaled else min(seen.missing, max(0, size - seen.nodes - len(seen.held)))
        there = size - missing
        there = min(there, size if seen.most is None else seen.most)
        has = Size(
            empty.gpus if seen.gpus is None else min(empty.gpus, seen.gpus),
            empty.cpu if seen.cpu is None else min(empty.cpu, seen.cpu),
            empty.memory if seen.memory is None else min(empty.memory, seen.memory),
        )
        nodes = [has if place < there - len(seen.held) else empty for place in range(there)]
        others: list[Worker] = [(empty,) if gpus >= empty.gpus else (Size(gpus, 0, 0),) for gpus in seen.held]
        return nodes, [*others, *((Size(min(gpus, empty.gpus), 0, 0),) for gpus in seen.foreign)]

    def above_quotas(self) -> Iterator[str]:
        """Quotas and limits of capacity models that the plan exceeds by more than what ran did."""
        for quota in self.fleet.of("Quota"):
            for name, most in self._limits(quota["spec"]):
                used, ran = self._used(self.after, name), self._used(self.kept, name)
                if used > max(most, ran):
                    yield f"quota of {name or 'GPUs'}: {used} of {most} are used, {ran} before"
        for key, raw in self.rules.deployments.items():
            spec = raw["spec"]
            if spec.get("onDemandReplicas"):
                most = max(0, spec["replicas"] - spec["onDemandReplicas"])
                now, ran = (self._unsteady(spots, key) for spots in (self.after, self.kept))
                if now > max(most, ran):
                    yield f"{key}: {now} replicas are on nodes that may be taken away, {most} may be"

    def _limits(self, spec: dict[str, object]) -> list[tuple[str, Fraction]]:
        found = [("", Fraction(spec["gpus"]))] if "gpus" in spec else []
        by_class, cost = spec.get("gpusByClass"), spec.get("cost")
        found += (
            [(name, Fraction(most)) for name, most in by_class.items()] if isinstance(by_class, dict) else []
        )
        return [*found, ("USD", Fraction(cost["perHour"]))] if isinstance(cost, dict) else found

    def _used(self, spots: dict[Spot, int], name: str) -> Fraction:
        used = Fraction(0)
        for (deployment, cluster, role, pool), number in self._at(spots).items():
            key = cluster, pool
            asked = self.rules.asked(deployment, role, key)
            if name == "USD":
                cores = Fraction(asked.workers * len(asked.worker) * asked.worker[0].cpu, 1000)
                used += number * (asked.gpus or cores) * self.rules.price(key)
            elif name in ("", self.rules.pools[key]["className"]):
                used += number * asked.gpus
        return used

    def _unsteady(self, spots: dict[Spot, int], deployment: str) -> int:
        return sum(
            number
            for spot, number in spots.items()
            if spot.deployment == deployment
            and self.rules.state(spot.cluster) != "lost"
            and any(
                (spot.cluster, pool) in self.rules.pools and not self.rules.is_steady((spot.cluster, pool))
                for role, pool in spot.pools
                if role in self.rules.roles(deployment)
            )
        )

    def uneven(self) -> Iterator[str]:
        """Domains that got new replicas though a spread that is required keeps them out."""
        for key, raw in self.rules.deployments.items():
            spread = raw["spec"].get("spread")
            if spread is None or spread["mode"] != "Require" or key in self.errors:
                continue
            first = self.rules.first_role(key)
            of = {pool: self.rules.domain(pool, spread["over"]) for pool in self.rules.pools}
            counts = [self._domains(spots, key, first, of) for spots in (self.after, self.kept)]
            gained, lost = counts[0] - counts[1], counts[1] - counts[0]
            eligible = {
                domain
                for pool, domain in of.items()
                if domain is not None
                and self.rules.size(pool)
                and not self.rules.takes(key, pool[0])
                and not self.rules.suits(key, first, pool)
            }
            least = min((counts[0][name] for name in eligible), default=0)
            for domain in gained if not lost else ():
                now = counts[0][domain]
                if len(eligible | {domain}) > 1 and now - least > spread.get("maxSkew", 1):
                    yield f"{key}: {spread['over']} {domain} has {now} replicas, another {least}"

    def _domains(
        self, spots: dict[Spot, int], deployment: str, role: str, of: dict[PoolKey, str | None]
    ) -> Counter[str]:
        counts: Counter[str] = Counter()
        for spot, number in spots.items():
            pool = spot.cluster, dict(spot.pools).get(role, "")
            if spot.deployment == deployment and self.rules.state(spot.cluster) != "lost":
                counts[of.get(pool) or ""] += number
        return counts

    def apart(self) -> Iterator[str]:
        """Replicas of pairs that are new beside others of their cluster and share no pools with these."""
        kept = {(spot.deployment, spot.cluster) for spot in self.kept}
        spots = Counter(
            (spot.deployment, spot.cluster)
            for spot in self.after
            if "prefill" in self.rules.deployments[spot.deployment]["spec"]
        )
        for (deployment, cluster), number in spots.items():
            if number > 1 and (deployment, cluster) not in kept:
                yield f"{deployment} has {number} new placements on {cluster}, and its replicas are together"


def _clipped(worker: Worker, empty: Size) -> Worker:
    """Return the pods of a worker, those that outgrew the nodes as whole nodes."""
    return tuple(Size(*map(min, pod, empty)) for pod in worker)
