"""From documents, plan and what was before to the things that policies are asked of."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.fleet.bill import bill, prices_gone
from inferfleet.fleet.decisions import changes
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.prices import common_currency
from inferfleet.fleet.whatif.each import n_minus_one
from inferfleet.review.policy import facts
from inferfleet.review.policy.held import Before, held
from inferfleet.review.policy.nodes import clusters, pools, region
from inferfleet.review.policy.pods import images, plugins
from inferfleet.review.policy.things import Thing


class Gathered:
    """The facts of a stack, each worked out when a policy asks for it."""

    def __init__(self, documents: Documents, lock: Lock, desired: Desired, before: Before) -> None:
        self._documents, self._lock, self._desired, self._before = documents, lock, desired, before
        placed = {placement.spot: placement.replicas for placement in desired.plan.placements}
        self._now = Before(documents, placed, desired.plan.demands)
        self._currency = common_currency(documents)
        self._bills = tuple(
            bill(fleet.documents, fleet.placements, fleet.demands) for fleet in (before, self._now)
        )
        # Without its price a class costs nobody knows what, which must not pass for less than before.
        self._unknown = prices_gone(*self._bills)
        self._after, self._old = (
            held(fleet, self._currency, unknown=self._unknown) for fleet in (self._now, before)
        )

    @cached_property
    def stack(self) -> facts.Stack:
        """Return the stack as a whole."""
        old, after = self._bills
        return facts.Stack(
            name=self._documents.settings.stack,
            currency=self._currency,
            gpus=sum(self._after.gpus.values()),
            gpus_before=sum(self._old.gpus.values()),
            cost=float(after.without(self._unknown).get(self._currency, 0)),
            cost_before=float(old.without(self._unknown).get(self._currency, 0)),
            unpriced=after.unpriced,
            unpriced_before=old.unpriced,
        )

    @cached_property
    def fleet(self) -> tuple[Thing, ...]:
        """Return the fleet as a whole, as one thing."""
        old = Lock(placements=self._before.placements)
        new = Lock(placements=self._now.placements)
        moved = {change.spot.deployment for change in changes(old, new) if change.after < change.before}
        whole = facts.Fleet(
            teams=_facts(self.team),
            models=_facts(self.model),
            clusters=_facts(self.cluster),
            pools=_facts(self.pool),
            placements=_facts(self.placement),
            moves=tuple(sorted(moved)),
        )
        return (Thing(whole, "the fleet", "fleet"),)

    @cached_property
    def team(self) -> tuple[Thing, ...]:
        """Return the namespaces with deployments, now or before."""
        names = {_team(key) for key in (*self._documents.deployments, *self._old.replicas)}
        return tuple(
            Thing(
                facts.Team(
                    name=team,
                    models=sum(_team(key) == team for key in self._documents.deployments),
                    gpus=int(_of_team(self._after.gpus, team)),
                    gpus_before=int(_of_team(self._old.gpus, team)),
                    cost=_of_team(self._after.cost, team),
                    cost_before=_of_team(self._old.cost, team),
                ),
                f"team {team}",
                team,
            )
            for team in sorted(names)
        )

    @cached_property
    def model(self) -> tuple[Thing, ...]:
        """Return the deployments."""
        return tuple(
            Thing(fact, f"model {key}", key, "ModelDeployment", key) for key, fact in self._models.items()
        )

    @cached_property
    def _models(self) -> dict[str, facts.Model]:
        there: dict[str, list[str]] = {}
        for spot in self._now.placements:
            there.setdefault(spot.deployment, []).append(spot.cluster)
        made = {}
        for key, document in self._documents.deployments.items():
            names = tuple(dict.fromkeys(there.get(key, ())))
            regions = {region(self._documents.clusters[name]) for name in names}
            made[key] = facts.Model(
                namespace=document.metadata.namespace,
                name=document.metadata.name,
                labels=document.metadata.labels,
                engine=document.spec.engine.type,
                priority=document.spec.priority,
                replicas=document.spec.wanted,
                placed=self._after.replicas.get(key, 0),
                placed_before=self._old.replicas.get(key, 0),
                gpus=self._after.gpus.get(key, 0),
                gpus_before=self._old.gpus.get(key, 0),
                cost=float(self._after.cost.get(key, 0)),
                cost_before=float(self._old.cost.get(key, 0)),
                clusters=names,
                regions=tuple(sorted(regions - {""})),
            )
        return made

    @cached_property
    def placement(self) -> tuple[Thing, ...]:
        """Return the placements."""
        of_cluster = {thing.fact.name: thing.fact for thing in self.cluster}
        made = []
        for spot, replicas in self._now.placements.items():
            if spot.deployment not in self._models or spot.cluster not in self._documents.clusters:
                continue
            spec, names = self._documents.clusters[spot.cluster].spec, {pool for _, pool in spot.pools}
            fact = facts.Placement(
                model=self._models[spot.deployment],
                cluster=of_cluster[spot.cluster],
                pools=tuple(sorted(names)),
                capacity=tuple(
                    sorted({pool.capacity.model for pool in spec.node_pools if pool.name in names})
                ),
                replicas=replicas,
                replicas_before=self._before.placements.get(spot, 0),
            )
            said = f"{spot.deployment} on {spot.place}"
            made.append(Thing(fact, said, spot.deployment, "ModelDeployment", spot.deployment))
        return tuple(made)

    @cached_property
    def image(self) -> tuple[Thing, ...]:
        """Return the images of models."""
        return tuple(images(self._desired, self._models))

    @cached_property
    def plugin(self) -> tuple[Thing, ...]:
        """Return the plugins of models."""
        return tuple(plugins(self._desired, self._models))

    @cached_property
    def pool(self) -> tuple[Thing, ...]:
        """Return the pools."""
        return tuple(pools(self._documents, self._desired, self._after))

    @cached_property
    def cluster(self) -> tuple[Thing, ...]:
        """Return the clusters."""
        return tuple(clusters(self._documents, self._desired, self._after, self.pool))

    @cached_property
    def loss(self) -> tuple[Thing, ...]:
        """Return what the loss of each cluster, pool and reservation would do."""
        made = []
        for consequence in n_minus_one(self._documents, self._lock, self._desired.plan):
            loss = consequence.loss
            fact = facts.Loss(
                kind=loss.kind,
                name=loss.name,
                replicas=consequence.replicas,
                lacking=sum(lacking.replicas for lacking in consequence.lacking),
                unserved=consequence.unserved,
                repairable=consequence.repair is not None,
                repair_cost=float(consequence.costs.get(self._currency, 0)),
            )
            key = loss.name.partition("/")[0] if loss.kind != "reservation" else ""
            kind = "InferenceCluster" if key else ""
            made.append(Thing(fact, f"the loss of {loss}", str(loss), kind, key))
        return tuple(made)


def _facts(things: tuple[Thing, ...]) -> tuple[Any, ...]:
    return tuple(thing.fact for thing in things)


def _team(key: str) -> str:
    return key.partition("/")[0]


def _of_team(amounts: Mapping[str, Fraction] | Mapping[str, int], team: str) -> float:
    return float(sum(amount for key, amount in amounts.items() if _team(key) == team))
