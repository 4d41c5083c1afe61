"""What policies are asked of, made of documents, the plan and what was before: models, pools, images ..."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, TypedDict

from inferfleet.cloud.values import CloudChange
from inferfleet.desired.values import Desired, DesiredCluster
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster, NodePool
from inferfleet.documents.wording import path_of
from inferfleet.fleet.bill import bill, prices_gone
from inferfleet.fleet.decisions import changes
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.prices import class_of, common_currency, hourly, offer
from inferfleet.fleet.shapes import PoolKey, node
from inferfleet.fleet.whatif import n_minus_one
from inferfleet.review.policy import facts
from inferfleet.review.policy.enforcement import FleetState
from inferfleet.tables.images import reference_of

_REGION_LABEL = "topology.kubernetes.io/region"
_CONTAINERS, _VOLUMES = ("initContainers", "containers"), "volumes"


class Subject(NamedTuple):
    """One thing that a policy is asked of: its typed value, its names, and where it is written.

    `title` names it in messages, `name` in waivers. `kind`, `key` and `path` are its document and field;
    `kind` is "" where it has none.
    """

    fact: Any
    title: str
    name: str
    kind: str = ""
    key: str = ""
    path: str = ""


class Subjects:
    """All subjects of a stack: a property for each word that a policy's `each` may have.

    Each is worked out when a policy asks for it.
    """

    def __init__(self, documents: Documents, lock: Lock, desired: Desired, before: FleetState) -> None:
        self._documents, self._lock, self._desired, self._before = documents, lock, desired, before
        placements = {placement.spot: placement.replicas for placement in desired.plan.placements}
        self._after = FleetState(documents, placements, desired.plan.demands)
        self._currency = common_currency(documents)
        self._bills = tuple(
            bill(state.documents, state.placements, state.demands) for state in (before, self._after)
        )
        # Without its price a class costs nobody knows what, which must not pass for less than before.
        self._unknown = prices_gone(*self._bills)
        self._usage = _usage(self._after, self._currency, unknown=self._unknown)
        self._usage_before = _usage(before, self._currency, unknown=self._unknown)

    @cached_property
    def stack(self) -> facts.Stack:
        """Return the stack as a whole, which every condition sees."""
        before, after = self._bills
        return facts.Stack(
            name=self._documents.settings.stack,
            currency=self._currency,
            gpus=sum(self._usage.gpus.values()),
            gpus_before=sum(self._usage_before.gpus.values()),
            cost=float(after.without(self._unknown).get(self._currency, 0)),
            cost_before=float(before.without(self._unknown).get(self._currency, 0)),
            unpriced=after.unpriced,
            unpriced_before=before.unpriced,
        )

    @cached_property
    def fleet(self) -> tuple[Subject, ...]:
        """Return the fleet as a whole, as one subject."""
        old = Lock(placements=self._before.placements)
        new = Lock(placements=self._after.placements)
        moved = {change.spot.deployment for change in changes(old, new) if change.after < change.before}
        fleet = facts.Fleet(
            teams=_facts(self.team),
            models=_facts(self.model),
            clusters=_facts(self.cluster),
            pools=_facts(self.pool),
            placements=_facts(self.placement),
            moves=tuple(sorted(moved)),
        )
        return (Subject(fleet, "the fleet", "fleet"),)

    @cached_property
    def team(self) -> tuple[Subject, ...]:
        """Return the namespaces with deployments, now or before."""
        teams = {_team(key) for key in (*self._documents.deployments, *self._usage_before.replicas)}
        return tuple(
            Subject(
                facts.Team(
                    name=team,
                    models=sum(_team(key) == team for key in self._documents.deployments),
                    gpus=int(_of_team(self._usage.gpus, team)),
                    gpus_before=int(_of_team(self._usage_before.gpus, team)),
                    cost=_of_team(self._usage.cost, team),
                    cost_before=_of_team(self._usage_before.cost, team),
                ),
                f"team {team}",
                team,
            )
            for team in sorted(teams)
        )

    @cached_property
    def model(self) -> tuple[Subject, ...]:
        """Return the deployments."""
        return tuple(
            Subject(fact, f"model {key}", key, "ModelDeployment", key) for key, fact in self._models.items()
        )

    @cached_property
    def _models(self) -> dict[str, facts.Model]:
        """Return what policies may ask of each deployment, by its key."""
        clusters: dict[str, list[str]] = {}
        for spot in self._after.placements:
            clusters.setdefault(spot.deployment, []).append(spot.cluster)
        models = {}
        for key, document in self._documents.deployments.items():
            names = tuple(dict.fromkeys(clusters.get(key, ())))
            regions = {_region(self._documents.clusters[name]) for name in names}
            models[key] = facts.Model(
                namespace=document.metadata.namespace,
                name=document.metadata.name,
                labels=document.metadata.labels,
                engine=document.spec.engine.type,
                priority=document.spec.priority,
                replicas=document.spec.wanted,
                placed=self._usage.replicas.get(key, 0),
                placed_before=self._usage_before.replicas.get(key, 0),
                gpus=self._usage.gpus.get(key, 0),
                gpus_before=self._usage_before.gpus.get(key, 0),
                cost=float(self._usage.cost.get(key, 0)),
                cost_before=float(self._usage_before.cost.get(key, 0)),
                clusters=names,
                regions=tuple(sorted(regions - {""})),
            )
        return models

    @cached_property
    def placement(self) -> tuple[Subject, ...]:
        """Return the placements of deployments and clusters that have documents."""
        clusters = {subject.fact.name: subject.fact for subject in self.cluster}
        subjects = []
        for spot, replicas in self._after.placements.items():
            if spot.deployment not in self._models or spot.cluster not in self._documents.clusters:
                continue
            node_pools = self._documents.clusters[spot.cluster].spec.node_pools
            names = {pool for _, pool in spot.pools}
            fact = facts.Placement(
                model=self._models[spot.deployment],
                cluster=clusters[spot.cluster],
                pools=tuple(sorted(names)),
                capacity=tuple(sorted({pool.capacity.model for pool in node_pools if pool.name in names})),
                replicas=replicas,
                replicas_before=self._before.placements.get(spot, 0),
            )
            title = f"{spot.deployment} on {spot.place}"
            subjects.append(Subject(fact, title, spot.deployment, "ModelDeployment", spot.deployment))
        return tuple(subjects)

    @cached_property
    def image(self) -> tuple[Subject, ...]:
        """Return the images of models."""
        return tuple(_images(self._desired, self._models))

    @cached_property
    def plugin(self) -> tuple[Subject, ...]:
        """Return the plugins of models."""
        return tuple(_plugins(self._desired, self._models))

    @cached_property
    def pool(self) -> tuple[Subject, ...]:
        """Return the pools."""
        return tuple(_pools(self._documents, self._desired, self._usage))

    @cached_property
    def cluster(self) -> tuple[Subject, ...]:
        """Return the clusters."""
        return tuple(_clusters(self._documents, self._desired, self._usage, _facts(self.pool)))

    @cached_property
    def loss(self) -> tuple[Subject, ...]:
        """Return what the loss of each cluster, pool and reservation would do."""
        subjects = []
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
            subjects.append(Subject(fact, f"the loss of {loss}", str(loss), kind, key))
        return tuple(subjects)


def _facts(subjects: tuple[Subject, ...]) -> tuple[Any, ...]:
    return tuple(subject.fact for subject in subjects)


def _team(key: str) -> str:
    return key.partition("/")[0]


def _of_team(amounts: Mapping[str, Fraction] | Mapping[str, int], team: str) -> float:
    return float(sum(amount for key, amount in amounts.items() if _team(key) == team))


@dataclass(frozen=True)
class _Usage:
    """Replicas, GPUs and cost of an hour by deployment; GPUs by pool, and replicas by cluster."""

    replicas: Mapping[str, int]
    gpus: Mapping[str, int]
    cost: Mapping[str, Fraction]
    on_pool: Mapping[PoolKey, int]
    on_cluster: Mapping[str, int]


def _usage(state: FleetState, currency: str, *, unknown: Collection[str]) -> _Usage:
    """Return what replicas hold; those of which documents say nothing any more hold nothing.

    Nodes of the classes whose price is `unknown` cost nothing here.
    """
    documents, demands = state.documents, state.demands
    prices = {
        name: price for name, price in hourly(documents, currency).items() if class_of(name) not in unknown
    }
    offers = {
        (name, pool.name): offer(pool, documents.classes[pool.class_name])
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
    }
    replicas: Counter[str] = Counter()
    gpus: Counter[str] = Counter()
    cost: dict[str, Fraction] = {}
    on_pool: Counter[PoolKey] = Counter()
    on_cluster: Counter[str] = Counter()
    for spot, number in state.placements.items():
        replicas[spot.deployment] += number
        on_cluster[spot.cluster] += number
        for role, pool in spot.pools:
            key = (spot.cluster, pool)
            if key not in offers or not demands.has(spot.deployment, role):
                continue
            demand = demands.of(spot.deployment, role, key)
            gpus[spot.deployment] += number * demand.gpus
            on_pool[key] += number * demand.gpus
            units = Fraction(demand.gpus) if demand.gpus else Fraction(demand.cpu, 1000)
            cost.setdefault(spot.deployment, Fraction(0))
            cost[spot.deployment] += number * units * prices.get(offers[key], 0)
    return _Usage(replicas, gpus, cost, on_pool, on_cluster)


def _pools(documents: Documents, desired: Desired, usage: _Usage) -> Iterator[Subject]:
    """Yield the pools of documents, then those that are removed from Google Cloud."""
    cloud_changes = {(change.cluster, change.pool): change for change in desired.cloud_changes if change.pool}
    declared = set()
    for name, cluster in documents.clusters.items():
        for position, pool in enumerate(cluster.spec.node_pools):
            key = (name, pool.name)
            declared.add(key)
            empty = node(documents.classes[pool.class_name])
            gpus = pool.size * empty.gpus if empty else 0
            fact = facts.Pool(
                cluster=name,
                name=pool.name,
                class_name=pool.class_name,
                capacity=pool.capacity.model,
                region=_region(cluster),
                labels=cluster.metadata.labels,
                nodes=pool.size,
                gpus=gpus,
                free_gpus=max(0, gpus - usage.on_pool.get(key, 0)),
                provider=_passed_of_pool(pool, documents.classes[pool.class_name]),
                **_change(cloud_changes.get(key)),
            )
            title, path = f"pool {name}/{pool.name}", path_of(("spec", "nodePools", position))
            yield Subject(fact, title, f"{name}/{pool.name}", "InferenceCluster", name, path)
    for key in sorted(cloud_changes.keys() - declared):
        yield _removed_pool(cloud_changes[key], documents.clusters.get(key[0]))


def _removed_pool(change: CloudChange, cluster: InferenceCluster | None) -> Subject:
    name = f"{change.cluster}/{change.pool}"
    fact = facts.Pool(
        cluster=change.cluster,
        name=change.pool,
        class_name="",
        capacity="",
        region=_region(cluster) if cluster else "",
        labels=cluster.metadata.labels if cluster else {},
        nodes=0,
        gpus=0,
        free_gpus=0,
        provider={},
        **_change(change),
    )
    kind, path = ("InferenceCluster", "spec.nodePools") if cluster else ("", "")
    return Subject(fact, f"pool {name}", name, kind, change.cluster, path)


def _clusters(
    documents: Documents, desired: Desired, usage: _Usage, pools: tuple[facts.Pool, ...]
) -> Iterator[Subject]:
    """Yield the clusters of documents, then those that are removed from Google Cloud."""
    cloud_changes = {change.cluster: change for change in desired.cloud_changes if not change.pool}
    for name, cluster in documents.clusters.items():
        of_cluster = [pool for pool in pools if pool.cluster == name]
        fact = facts.Cluster(
            name=name,
            labels=cluster.metadata.labels,
            state=cluster.spec.state,
            source=cluster.spec.cluster.source,
            region=_region(cluster),
            replicas=usage.on_cluster.get(name, 0),
            gpus=sum(pool.gpus for pool in of_cluster),
            free_gpus=sum(pool.free_gpus for pool in of_cluster),
            gke=_written_of_cluster(cluster),
            **_change(cloud_changes.get(name)),
        )
        yield Subject(fact, f"cluster {name}", name, "InferenceCluster", name)
    for name in sorted(cloud_changes.keys() - documents.clusters.keys()):
        fact = facts.Cluster(
            name=name,
            labels={},
            state="",
            source="GKE",
            region="",
            replicas=0,
            gpus=0,
            free_gpus=0,
            gke={},
            **_change(cloud_changes[name]),
        )
        yield Subject(fact, f"cluster {name}", name)


def _region(cluster: InferenceCluster) -> str:
    """Return the region of a cluster, "" where its document does not say it."""
    gke = cluster.spec.cluster.gke
    return gke.region if gke else cluster.metadata.labels.get(_REGION_LABEL, "")


def _written_of_cluster(cluster: InferenceCluster) -> dict[str, str]:
    gke = cluster.spec.cluster.gke
    return dict(_texts(gke.model_dump(mode="json", by_alias=True, exclude_none=True))) if gke else {}


def _passed_of_pool(pool: NodePool, hardware: InferenceClass) -> dict[str, str]:
    gke = hardware.spec.provisioning.gke if hardware.spec.provisioning else None
    return dict(_texts(gke.provider) if gke else ()) | dict(_texts(pool.provider))


def _texts(inputs: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield each input by its path, a text as it is and anything else as JSON."""
    for name, value in inputs.items():
        if isinstance(value, Mapping):
            yield from _texts(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value if isinstance(value, str) else json.dumps(value, sort_keys=True)


class _Change(TypedDict):
    """The fields of a cluster or pool that say what becomes of it."""

    change: str
    fields: tuple[str, ...]


def _change(change: CloudChange | None) -> _Change:
    if change is None:
        return {"change": "", "fields": ()}
    return {"change": change.kind, "fields": change.fields}


class _ImageUse(NamedTuple):
    """An image, and the container that runs it or the volume that is made of it; the other is ""."""

    reference: str
    container: str = ""
    volume: str = ""


def _images(desired: Desired, models: Mapping[str, facts.Model]) -> Iterator[Subject]:
    """Yield each image of each model once for each cluster: of containers and volumes of its pods, with what
    plugins add to them, and of its picker. No other object runs pods: plugins may add none that do.
    """
    for cluster in desired.clusters:
        deployments, name = _deployments_of_objects(cluster), cluster.connection.cluster
        uses = {
            (key, use): None
            for kube_object in cluster.objects
            if (key := deployments.get(kube_object.key, "")) in models
            for use in _images_in(kube_object.manifest)
        }
        for key, use in uses:
            registry, repository, tag, digest = reference_of(use.reference)
            fact = facts.Image(
                reference=use.reference,
                registry=registry,
                repository=repository,
                tag=tag,
                digest=digest,
                container=use.container,
                volume=use.volume,
                cluster=name,
                model=models[key],
            )
            yield Subject(fact, f"image {use.reference} of {key} on {name}", key, "ModelDeployment", key)


def _deployments_of_objects(cluster: DesiredCluster) -> dict[str, str]:
    """Return by key of an object the deployment whose pods it makes."""
    deployments = {key: spot.deployment for spot, keys in cluster.workloads.items() for key in keys}
    for deployment, served in cluster.served.items():
        for key in served.members:
            deployments.setdefault(key, deployment)
    return deployments


def _images_in(value: Any) -> Iterator[_ImageUse]:
    """Yield the image of every container and volume of the pod templates in an object."""
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if name in _CONTAINERS and isinstance(inner, list):
            for container in inner:
                yield _ImageUse(str(container.get("image", "")), container=str(container.get("name", "")))
        elif name == _VOLUMES and isinstance(inner, list):
            for volume in inner:
                if image := volume.get("image"):
                    yield _ImageUse(str(image.get("reference", "")), volume=str(volume.get("name", "")))
        else:
            yield from _images_in(inner)


def _plugins(desired: Desired, models: Mapping[str, facts.Model]) -> Iterator[Subject]:
    """Yield each plugin that edits pods of a model, once for each version."""
    edits = {
        (spot.deployment, effect.plugin, effect.version)
        for effects_of_spots in (desired.effects, desired.follower_effects)
        for spot, roles in effects_of_spots.items()
        for effects in roles.values()
        for effect in effects
        if effect.status == "changed"
    }
    for key, plugin, version in sorted(edits):
        if key in models:
            fact = facts.Plugin(name=plugin, version=version, model=models[key])
            yield Subject(fact, f"plugin {plugin} of {key}", key, "ModelDeployment", key, "spec.plugins")
