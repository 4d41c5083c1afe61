"""`inferfleet explain`: why a deployment runs where it does and what changed its pods; settings of a pool."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from inferfleet.cli.output import print_line
from inferfleet.cli.report import reporting
from inferfleet.cli.show.plan import (
    gpus_or_cpu,
    pools,
    reason_rows,
    reason_values,
    spot_values,
    unplaced_values,
)
from inferfleet.cli.show.tables import print_table
from inferfleet.cli.source import (
    AsJson,
    FleetFolder,
    FleetLock,
    FleetName,
    Paths,
    StackName,
    source_of_options,
)
from inferfleet.cloud.provider import provider_of
from inferfleet.cloud.values import CloudCluster, Setting
from inferfleet.desired.values import Desired, ReadyHook
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import ModelDeployment, ReplicaRange
from inferfleet.documents.kinds.workers import Position, positions_of
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import listing, one_of, shown
from inferfleet.fleet import names
from inferfleet.fleet.accelerators import DeviceRequest
from inferfleet.fleet.advice.summaries import by_cluster, fix_lines
from inferfleet.fleet.decisions import Fix, Plan, Reason, RunnerUp, Unplaced
from inferfleet.fleet.demands import Demand, Demands
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.suitability import needed
from inferfleet.fleet.roles import DECODE, roles_of, workers_of
from inferfleet.fleet.shapes import RESOURCES, Pod, PoolKey, amounts, cores, gib, has_fabric
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.chain import LinkEffect, in_amounts
from inferfleet.review.digest.texts import command_text
from inferfleet.serving.engines.command_line import WorkerPod
from inferfleet.tables.devices import VENDOR_BY_NAME

# For settings that no document decides.
OURS = "inferfleet"
Thing = Annotated[
    str,
    typer.Argument(
        help="A deployment: NAMESPACE/NAME, or the name alone if it is unique; or a node pool that the stack "
        "creates: CLUSTER/POOL.",
        metavar="DEPLOYMENT|POOL",
    ),
]
# Names of resources by the fields of a pod that count them.
ASKED = dict(zip(Pod._fields[1:], RESOURCES, strict=True))


def explain(
    thing: Thing,
    paths: Paths = None,
    stack: StackName = None,
    folder: FleetFolder = None,
    fleet: FleetName = None,
    lock_file: FleetLock = None,
    as_json: AsJson = False,
) -> None:
    """Explain a deployment: its shape, why it is placed there and not elsewhere, what plugins changed.

    Or a node pool: its settings in Google Cloud, the field behind each, and what another value would do.
    """
    with reporting(as_json=as_json) as report:
        source = source_of_options(folder, stack, fleet, lock_file, paths=paths)
        report.documents = source.documents
        report.problems += source.notices
        desired = source.desired()
        report.problems += desired.warnings
        pools = _gke_pools(desired)
        if thing in pools and thing not in source.documents.deployments:
            report.values |= _pool_values(thing, pools[thing])
            if not as_json:
                _show_pool(thing, pools[thing])
            return
        key = _key(thing, source.documents, pools)
        explained = explanation(key, source.documents, source.lock, desired)
        report.values |= as_values(explained)
        if not as_json:
            show(explained)


def _key(name: str, documents: Documents, pools: Iterable[str]) -> str:
    deployments = documents.deployments
    if name in deployments:
        return name
    keys = sorted(key for key in deployments if key.partition("/")[2] == name)
    if len(keys) == 1:
        return keys[0]
    if keys:
        what = f"deployment {shown(name)!r} is in several namespaces"
        problem = Problem(what, f"Name one of {listing(keys)}")
    else:
        what = f"there is no deployment or GKE pool {shown(name)!r}"
        problem = Problem(what, one_of(name, [*deployments, *pools], "Known are"))
    raise InvalidDocuments([problem])


@dataclass(frozen=True)
class Role:
    """One role of a placement: its class of nodes, how long an update waits for it, what plugins did.

    `pods` and `gpus` are those of all its replicas there. `commands` are the written command lines of its
    engines, that of pods that serve first, none where the template or image has the program. `effects` are of
    its entries, `follower_effects` of the other pods of its workers, where they have several. `hooks` are the
    ready hooks of its workload.
    """

    name: str
    class_name: str
    pods: int
    gpus: int
    await_seconds: int | None
    commands: tuple[str, ...]
    effects: tuple[LinkEffect, ...]
    follower_effects: tuple[LinkEffect, ...] = ()
    hooks: tuple[ReadyHook, ...] = ()

    def hook(self, effect: LinkEffect) -> ReadyHook | None:
        """Return the ready hook that the link of an effect calls, None where it calls none."""
        for hook in self.hooks:
            if any(
                (bound.link.origin, bound.link.path) == (effect.origin, effect.path) for bound in hook.links
            ):
                return hook
        return None


@dataclass(frozen=True)
class Placed:
    """Replicas on one spot; `before` is their number in the lock, and `runner_up` the next best spot."""

    spot: Spot
    replicas: int
    before: int
    roles: tuple[Role, ...]
    runner_up: RunnerUp | None


@dataclass(frozen=True)
class Explanation:
    """One deployment, what a replica needs, where replicas are placed, and why not elsewhere.

    `demands` are by role; `spread` has those of groups of `tensor` larger than a node, by role and by GPUs of
    a node, for pools where they are or that have a network. `devices` are the accelerators by role. `edited`
    is what a role needs otherwise because of plugins, each with the pools on which it does.
    """

    key: str
    document: ModelDeployment
    demands: Mapping[str, Demand]
    spread: Mapping[str, Mapping[int, Demand]]
    devices: Mapping[str, DeviceRequest]
    placed: tuple[Placed, ...]
    reasons: tuple[Reason, ...]
    unplaced: Unplaced | None
    fix: Fix | None
    services: tuple[str, ...]
    edited: tuple[tuple[str, tuple[PoolKey, ...], Demand], ...]
    held: tuple[str, ...]
    """In words, where nothing of it changes: it is paused, or some of its clusters are, or are lost."""


def explanation(key: str, documents: Documents, lock: Lock, desired: Desired) -> Explanation:
    """Return the explanation of a deployment; `key` is its namespace/name."""
    document, plan = documents.deployments[key], desired.plan
    return Explanation(
        key=key,
        document=document,
        demands={role: plan.demands.declared[key, role] for role in roles_of(document)},
        spread={role: _spread(documents, plan, key, role) for role in roles_of(document)},
        devices={role: plan.demands.devices[key, role] for role in roles_of(document)},
        placed=tuple(
            Placed(
                placement.spot,
                placement.replicas,
                lock.placements.get(placement.spot, 0),
                _roles(placement.spot, placement.replicas, documents, desired),
                plan.runners_up.get(placement.spot),
            )
            for placement in plan.placements
            if placement.spot.deployment == key
        ),
        reasons=plan.reasons.get(key, ()),
        unplaced=next((missing for missing in plan.unplaced if missing.deployment == key), None),
        fix=plan.fixes.get(key),
        services=tuple(
            sorted(
                {
                    route.service
                    for route in plan.services
                    if any(backend.deployment == key for backend in route.backends)
                }
            )
        ),
        edited=tuple(
            (role, *edited) for role in roles_of(document) for edited in _edited(key, role, plan.demands)
        ),
        held=tuple(_held(key, documents, plan)),
    )


def _held(key: str, documents: Documents, plan: Plan) -> Iterator[str]:
    if documents.deployments[key].spec.paused:
        yield "paused: nothing of it changes"
    for endpoint in plan.endpoints:
        cluster = documents.clusters[endpoint.cluster].spec
        if endpoint.deployment == key and cluster.held:
            yield f"cluster {endpoint.cluster} is {cluster.state}: nothing of it changes there"


def _edited(key: str, role: str, demands: Demands) -> tuple[tuple[tuple[PoolKey, ...], Demand], ...]:
    pools: dict[Demand, list[PoolKey]] = {}
    for pool, demand in sorted(demands.edited.get((key, role), {}).items()):
        pools.setdefault(demand, []).append(pool)
    return tuple((tuple(on), demand) for demand, on in pools.items())


def _roles(spot: Spot, replicas: int, documents: Documents, desired: Desired) -> tuple[Role, ...]:
    """Return what is to be told of each role of a placement: its pods, the links that acted on them, and
    hooks.
    """
    components = [
        component
        for cluster in desired.clusters
        for component in cluster.components
        if component.kind == "ModelReplicas" and component.name == names.replicas_component(spot)
    ]
    budgets = {
        kube_object.kubernetes_name: kube_object.timeout
        for component in components
        for kube_object in component.objects
    }
    hooks = [hook for component in components for hook in component.hooks]
    chains, of_followers = desired.effects.get(spot, {}), desired.follower_effects.get(spot, {})
    classes = {pool.name: pool.class_name for pool in documents.clusters[spot.cluster].spec.node_pools}
    demands = {
        role: desired.plan.demands.of(spot.deployment, role, (spot.cluster, pool))
        for role, pool in spot.pools
    }
    return tuple(
        Role(
            role,
            classes[pool],
            replicas * demands[role].pods,
            replicas * demands[role].gpus,
            budgets.get(names.workload(spot, role)),
            _commands(documents.deployments[spot.deployment], role, demands[role].gang),
            chains.get(role, ()),
            of_followers.get(role, ()),
            tuple(hook for hook in hooks if hook.request.role == role),
        )
        for role, pool in spot.pools
    )


def _commands(deployment: ModelDeployment, role: str, pods: int) -> tuple[str, ...]:
    every = (command_text(WorkerPod(deployment, role, position, pods)) for position in positions_of(pods))
    return tuple(dict.fromkeys(filter(None, every)))


def show(explained: Explanation) -> None:
    """Print shape, placements, what plugins changed, and why not elsewhere."""
    replicas = explained.document.spec.wanted
    count = sum(placed.replicas for placed in explained.placed)
    least = explained.document.spec.replicas
    scaled = f", {least.min} to {least.max} run" if isinstance(least, ReplicaRange) else ""
    print_line(f"{explained.key}: {count} of {replicas} replicas placed{scaled}")
    for line in explained.held:
        print_line(line)
    print_line()
    for line in _shape(explained):
        print_line(line)
    if explained.placed:
        print_line()
        columns = ("cluster", "pools", "replicas", "in the lock", "GPUs", "class", "waits at most")
        print_table("placements", columns, [_row(placed, explained) for placed in explained.placed])
    for line in dict.fromkeys(_engines(explained.placed)):
        print_line(line)
    for placed in explained.placed:
        if runner_up := placed.runner_up:
            print_line(f"{placed.spot.place}: next best is {runner_up.spot.place}; {runner_up.why}")
    for placed in explained.placed:
        for role in placed.roles:
            place = f"{placed.spot.cluster}/{names.placement(placed.spot)}, role {role.name}"
            # What a link does to followers as it does to entries is said once.
            only_followers = [effect for effect in role.follower_effects if effect not in role.effects]
            for place_in_words, effects in ((place, role.effects), (f"{place}, followers", only_followers)):
                for effect in effects:
                    print_line()
                    chain = f"({effect.origin} chain, {effect.path})"
                    print_line(
                        f"{place_in_words}: plugin {effect.plugin} {effect.version} {chain}{_idle(effect)}"
                    )
                    for line in _effect_lines(effect, role.hook(effect)):
                        print_line(f"  {line}")
    of_unplaced = explained.unplaced.reasons if explained.unplaced else ()
    if elsewhere := [reason for reason in explained.reasons if reason not in of_unplaced]:
        print_line()
        print_table("why not elsewhere", ("cluster", "pool", "why"), reason_rows(elsewhere))
    if explained.unplaced:
        print_line()
        title = f"{explained.unplaced.replicas} without a place"
        print_table(title, ("cluster", "pool", "why not"), reason_rows(explained.unplaced.reasons))
        print_line(by_cluster(explained.unplaced.reasons))
        for line in fix_lines(explained.fix, explained.unplaced.reasons):
            print_line(line)
    print_line()
    if explained.document.spec.route.enabled:
        root = explained.document.spec.route.path
        print_line(f"reached under {root or names.deployment_path(explained.key)}")
    print_line(f"services that select it: {', '.join(explained.services) or 'none'}")


def _spread(documents: Documents, plan: Plan, key: str, role: str) -> dict[int, Demand]:
    """Return the demand of groups larger than a node, by GPUs of a node, where that is worth telling."""
    placed = {
        (placement.spot.cluster, dict(placement.spot.pools).get(role))
        for placement in plan.placements
        if placement.spot.deployment == key
    }
    sizes = {
        plan.demands.node_gpus.get((name, pool.name))
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
        if (name, pool.name) in placed or has_fabric(documents.classes[pool.class_name])
    }
    spread = plan.demands.spread.get((key, role), {})
    return {size: demand for size, demand in spread.items() if size in sizes}


def _engines(placements: tuple[Placed, ...]) -> Iterator[str]:
    for placed in placements:
        for role in placed.roles:
            for command in role.commands:
                yield f"engine of role {role.name}: {command}"


def _shape(explained: Explanation) -> Iterator[str]:
    """Yield lines with the arithmetic from a topology to the pods and GPUs of a replica, role by role."""
    several = len(explained.demands) > 1
    for role, demand in explained.demands.items():
        if several:
            yield f"role {role}"
        workers = workers_of(explained.document, role)
        topology = workers.topology
        resource, named_fewer = explained.devices[role].resource, demand.pod.gpus != topology.gpus_per_pod
        if resource not in (None, VENDOR_BY_NAME["NVIDIA"].resource):
            yield f"accelerator      {resource}"
        if demand.pod.gpus and named_fewer:
            yield f"GPUs per pod     {demand.pod.gpus:>4} by the engine's resources"
        elif demand.pod.gpus:
            yield (
                f"GPUs per pod     {demand.pod.gpus:>4} = tensor {topology.tensor} x dataLocal "
                f"{topology.data_local}"
            )
        else:
            without = f"{cores(demand.pod.cpu)} cores and {gib(demand.pod.memory)} of memory"
            yield f"GPUs per pod     none (accelerator: None); {without}"
        whole = f"pipeline {topology.pipeline} x data {topology.data}"
        if demand.pod.gpus and named_fewer:
            whole += f" x tensor {topology.tensor} / GPUs per pod {demand.pod.gpus}"
        else:
            whole += f" / dataLocal {topology.data_local}"
        yield f"pods per worker  {demand.gang:>4} = {whole}"
        yield (
            f"pods per replica {demand.pods:>4} = {demand.gang} per worker x {workers.count} "
            f"worker{'' if workers.count == 1 else 's'}"
        )
        if demand.gpus:
            yield f"GPUs per replica {demand.gpus:>4} = {demand.pods} x {demand.pod.gpus}"
        for node_gpus, wide in explained.spread[role].items():
            yield (
                f"on nodes of {node_gpus} GPUs, {wide.gang} pods per worker, each with {wide.pod.gpus} GPUs"
            )
        if demand.spare:
            yield f"kept free        {demand.spare:>4} pods per placement, for a new one beside an old one"
    for role, on, edited in explained.edited:
        of_role = f" of role {role}" if several else ""
        pools = ", ".join("/".join(pool) for pool in on)
        for position in positions(edited):
            pod, shares = edited.of(position)
            asked = [
                f"{name} {needed(pod, shares, field)}" for field, name in ASKED.items() if getattr(pod, field)
            ]
            which = "each pod" if edited.follower is None else f"each {position.lower()}"
            yield f"{which}{of_role} asks for {', '.join(asked) or 'nothing beside GPUs'} on {pools}"


def positions(demand: Demand) -> tuple[Position, ...]:
    """Return the positions whose pods ask for amounts of their own."""
    return ("Entry",) if demand.follower is None else ("Entry", "Follower")


def _row(placed: Placed, explained: Explanation) -> tuple[object, ...]:
    gpus = gpus_or_cpu(sum(role.gpus for role in placed.roles))
    classes = ", ".join(dict.fromkeys(role.class_name for role in placed.roles))
    budgets = [role.await_seconds for role in placed.roles if role.await_seconds is not None]
    waits = f"{-(-max(budgets) // 60)} min" if budgets else ""
    return (placed.spot.cluster, pools(placed.spot), placed.replicas, placed.before, gpus, classes, waits)


def _idle(effect: LinkEffect) -> str:
    return {"changed": "", "none": " changes nothing", "out of scope": " is out of scope"}[effect.status]


def _effect_lines(effect: LinkEffect, hook: ReadyHook | None) -> Iterator[str]:
    for change in effect.changes:
        if change.before is None:
            yield f"{change.path}: {_value(change.after)} (new)"
        elif change.after is None:
            yield f"{change.path}: removed (was {_value(change.before)})"
        else:
            yield f"{change.path}: {_value(change.before)} -> {_value(change.after)}"
    for companion in effect.companions:
        yield f"created {companion.when} the workload: {companion.title}"
    for container, requests in effect.injected.items():
        yield f"injected at admission: container {container}, which requests {in_amounts(requests)}"
    for remark in effect.remarks:
        yield f"remark: {remark}"
    if hook:
        when = "not called: updates do not wait for the pods" if hook.held else "called once pods are ready"
        yield f"ready hook: {when}"


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def as_values(explained: Explanation) -> dict[str, Any]:
    """Return the facts that `inferfleet explain` prints as values for JSON."""
    return {
        "deployment": explained.key,
        "replicas": explained.document.spec.wanted,
        "shape": _shape_values(explained, DECODE),
        "roles": {
            role: _shape_values(explained, role)
            | {
                "acrossNodes": [
                    {"nodeGpus": gpus, "podsPerWorker": wide.gang, "gpusPerPod": wide.pod.gpus}
                    for gpus, wide in explained.spread[role].items()
                ]
            }
            for role in explained.demands
        },
        "withPlugins": [_edited_values(*edited) for edited in explained.edited],
        "placements": [
            spot_values(placed.spot)
            | {
                "replicas": placed.replicas,
                "before": placed.before,
                "runnerUp": placed.runner_up
                and spot_values(placed.runner_up.spot) | {"why": placed.runner_up.why},
                "roles": [
                    {
                        "role": role.name,
                        "class": role.class_name,
                        "pods": role.pods,
                        "gpus": role.gpus,
                        "awaitSeconds": role.await_seconds,
                        "commands": list(role.commands),
                        "plugins": [_effect_values(effect, role.hook(effect)) for effect in role.effects],
                        "followerPlugins": [
                            _effect_values(effect, role.hook(effect)) for effect in role.follower_effects
                        ],
                    }
                    for role in placed.roles
                ],
            }
            for placed in explained.placed
        ],
        "elsewhere": reason_values(explained.reasons),
        "unplaced": explained.unplaced.replicas if explained.unplaced else 0,
        "whyUnplaced": explained.unplaced
        and unplaced_values(explained.unplaced, explained.fix, most=len(explained.unplaced.reasons)),
        "services": list(explained.services),
        "held": list(explained.held),
    }


def _shape_values(explained: Explanation, role: str) -> dict[str, int]:
    demand = explained.demands[role]
    return {
        "gpusPerPod": demand.pod.gpus,
        "podsPerWorker": demand.gang,
        "workersPerReplica": demand.workers,
        "gpusPerReplica": demand.gpus,
        "sparePodsPerPlacement": demand.spare,
    }


def _effect_values(effect: LinkEffect, hook: ReadyHook | None) -> dict[str, Any]:
    return {
        "plugin": effect.plugin,
        "version": effect.version,
        "origin": effect.origin,
        "path": effect.path,
        "config": effect.config,
        "effect": effect.status,
        "changes": [
            {"path": change.path, "before": change.before, "after": change.after} for change in effect.changes
        ],
        "companions": [{"object": beside.title, "when": beside.when} for beside in effect.companions],
        "injected": {container: dict(requests) for container, requests in effect.injected.items()},
        "remarks": list(effect.remarks),
        "readyHook": None if hook is None else "held" if hook.held else "called",
    }


def _edited_values(role: str, pools: tuple[PoolKey, ...], edited: Demand) -> dict[str, Any]:
    follower = edited.follower
    return {
        "role": role,
        "pools": [{"cluster": cluster, "pool": pool} for cluster, pool in pools],
        "pod": _amounts(edited.pod),
        "byPlugin": {share.plugin: _amounts(share.pod) for share in edited.shares},
        "follower": None
        if follower is None
        else {
            "pod": _amounts(follower),
            "byPlugin": {share.plugin: _amounts(share.pod) for share in edited.follower_shares},
        },
    }


def _amounts(pod: Pod) -> dict[str, str]:
    return {name: amounts(field)(getattr(pod, field)) for field, name in ASKED.items()}


def _gke_pools(desired: Desired) -> dict[str, CloudCluster]:
    """Return the cluster of every pool that the stack creates, by `cluster/pool`."""
    created = [cluster.connection.cloud for cluster in desired.clusters if cluster.connection.cloud]
    return {f"{cloud.cluster}/{pool}": cloud for cloud in created for pool in cloud.pools}


def _show_pool(key: str, cloud: CloudCluster) -> None:
    """Print whose pool it is, and for each setting the field behind it and what another value would do."""
    name = key.partition("/")[2]
    pool = cloud.pools[name]
    place = f"{pool.name} in {cloud.project}/{cloud.region}"
    print_line(f"pool {key}: {place}, class {pool.class_name}")
    print_line()
    rows = [
        (setting.path, _setting_text(setting.value), *_effect(setting))
        for setting in provider_of(cloud).settings(cloud, name)
    ]
    print_table("settings", ("setting", "value", "from", "another value"), rows)


def _pool_values(key: str, cloud: CloudCluster) -> dict[str, Any]:
    """Return the same facts, serialisable as JSON."""
    name = key.partition("/")[2]
    pool = cloud.pools[name]
    return {
        "pool": key,
        "name": pool.name,
        "project": cloud.project,
        "region": cloud.region,
        "class": pool.class_name,
        "settings": [
            {
                "path": setting.path,
                "value": setting.value,
                "fields": list(setting.names),
                "effect": setting.effect,
            }
            for setting in provider_of(cloud).settings(cloud, name)
        ],
    }


def _setting_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _effect(setting: Setting) -> tuple[str, str]:
    return (", ".join(setting.names), str(setting.effect)) if setting.effect else (OURS, "")
