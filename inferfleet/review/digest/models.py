"""What becomes of each model: where its replicas go and why, what restarts, what serves meanwhile; its routes
and plugins.

Pods restart where anything differs in what they are made of: the template of a Deployment, the templates of a
LeaderWorkerSet and the size of its groups. Manifests of both sides say so, and no table of fields.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inferfleet.clusters.preflight.workloads import (
    REMADE,
    gpus_of_pod,
    meanwhile,
    pods_of_group,
    replaced_pickers,
    stops_serving,
)
from inferfleet.desired.values import Desired, DesiredCluster, KubeObject
from inferfleet.documents.pods.diff import compared
from inferfleet.fleet import names
from inferfleet.fleet.advice.summaries import change_lines, roll_line
from inferfleet.fleet.decisions import Change, Plan, Roll
from inferfleet.fleet.front_door import DoorRoute
from inferfleet.fleet.names import DEPLOYMENT, ROLE
from inferfleet.fleet.roles import roles_of, workers_of
from inferfleet.fleet.spot import Spot
from inferfleet.fleet.traffic import Requests
from inferfleet.plugins.chain import LinkEffect
from inferfleet.review.digest.resources import differing_fields, title_of
from inferfleet.review.digest.texts import command_text
from inferfleet.review.digest.update import Side, Update, at_least
from inferfleet.review.digest.values import (
    CommandChange,
    DoorChange,
    ImageChange,
    ModelChange,
    NewSet,
    PickerChange,
    PlaceChange,
    PluginChange,
    Presence,
    Restart,
    RouteChange,
    Scale,
)
from inferfleet.serving.engines.command_line import WorkerPod
from inferfleet.serving.routes import KIND as HTTP_ROUTE
from inferfleet.serving.workload import WORKER_SET, most_of, pods_of, templates_of

# Fields of a pod that one line names; the value has all of them.
_FIELDS = 3
# Instead of fields, where pods end with their nodes.
_NODES = ("nodes",)
_SOME_AT_A_TIME = "GKE replaces the nodes of its pool, some at a time, and its pods end with them"
_DELETED_FIRST = "the old nodes of its pool are deleted before new ones are created"
# The one field that differs where a workload becomes a LeaderWorkerSet or a Deployment.
_OF_ANOTHER_KIND = ("kind",)
# References of images in a pod template: of containers, and of volumes that are images.
_IMAGE = re.compile(r"(^|\.)(initContainers|containers)\[[^\]]*\]\.image$|\.image\.reference$")
_DIGEST = re.compile(r"(@\w+:[0-9a-fA-F]{12})[0-9a-fA-F]+$")
# Seconds that Kubernetes gives pods to end where their template says nothing.
_GRACE = 30


def models(update: Update) -> tuple[ModelChange, ...]:
    """Return the models of which anything changes: those with gaps and that end first, then by GPUs of
    pods that start, end or restart.
    """
    changes: dict[str, list[Change]] = {}
    for change in update.desired.plan.changes:
        changes.setdefault(change.spot.deployment, []).append(change)
    rolls: dict[str, list[Roll]] = {}
    for roll in update.desired.plan.rolls:
        rolls.setdefault(roll.spot.deployment, []).append(roll)
    restarts, scales, pickers = _restarts(update), _scales(update), _pickers(update)
    gpus = _gpus_that_come_or_go(update)
    new_or_gone = update.base.documents.deployments.keys() ^ update.head.documents.deployments.keys()
    every = (
        _model(
            update,
            deployment,
            changes=changes.get(deployment, []),
            rolls=rolls.get(deployment, []),
            restarts=restarts.get(deployment, ()),
            scales=scales.get(deployment, ()),
            pickers=tuple(pickers.get(deployment, ())),
            gpus=gpus[deployment],
        )
        for deployment in sorted({*new_or_gone, *changes, *rolls, *restarts, *scales, *pickers})
    )
    return tuple(
        sorted(every, key=lambda model: (not (model.gap or model.ends), -model.gpus, model.deployment))
    )


def _model(
    update: Update,
    deployment: str,
    *,
    changes: list[Change],
    rolls: list[Roll],
    restarts: tuple[Restart, ...],
    scales: tuple[Scale, ...],
    pickers: tuple[PickerChange, ...],
    gpus: int,
) -> ModelChange:
    """Return all that changes of a deployment, with the lines that tell it."""
    new_sets = tuple(
        NewSet(roll.spot.place, tuple(spot.place for spot in roll.before), not roll.beside) for roll in rolls
    )
    places = tuple(_place(update, change) for change in changes)
    before, after = (
        sum(replicas for spot, replicas in lock.placements.items() if spot.deployment == deployment)
        for lock in (update.lock, update.desired.plan.lock)
    )
    gap = any(restart.gap for restart in restarts)
    gap |= any(new_set.gap for new_set in new_sets) or any(picker.gap for picker in pickers)
    waits = any(place.waits for place in places)
    gap |= waits and before > 0 and not _stays(update, deployment)
    gap |= before > 0 and after == 0 and _is_wanted(update, deployment)
    return ModelChange(
        deployment=deployment,
        change=_presence(update, deployment),
        before=before,
        after=after,
        gpus=gpus + sum(restart.gpus for restart in restarts),
        gap=gap,
        places=places,
        restarts=restarts,
        scales=scales,
        rolls=new_sets,
        pickers=pickers,
        lines=(
            *change_lines(changes, update.desired.plan.departure_reasons),
            *map(roll_line, rolls),
            *(_waiting_line(place) for place in places if place.waits),
            *map(_restart_line, restarts),
            *(f"{scale.workload}: {scale.before} -> {scale.after} pods" for scale in scales),
            *map(_picker_line, pickers),
        ),
        commands=_commands(update, deployment),
        ends=before > 0 and after == 0,
    )


def _is_wanted(update: Update, deployment: str) -> bool:
    """Return whether the head still asks for replicas of the deployment."""
    document = update.head.documents.deployments.get(deployment)
    return document is not None and document.spec.wanted > 0


def _presence(update: Update, deployment: str) -> Presence:
    if deployment not in update.base.documents.deployments:
        return "added"
    return "changed" if deployment in update.head.documents.deployments else "removed"


def _stays(update: Update, deployment: str) -> bool:
    """Return whether replicas of the deployment stay where they are."""
    after = update.desired.plan.lock.placements
    return any(
        replicas and after.get(spot, 0)
        for spot, replicas in update.lock.placements.items()
        if spot.deployment == deployment
    )


def _place(update: Update, change: Change) -> PlaceChange:
    ending = _workloads_before(update, change.spot) if change.before > change.after else ()
    return PlaceChange(
        place=change.spot.place,
        before=change.before,
        after=change.after,
        why=update.desired.plan.departure_reasons.get(change.spot, ""),
        grace=max((_grace(workload.manifest) for workload in ending), default=0),
        waits=change.spot in update.desired.waiting,
    )


def _workloads_before(update: Update, spot: Spot) -> Iterator[KubeObject]:
    for cluster in update.base.desired.clusters:
        if keys := cluster.workloads.get(spot):
            yield from (workload for workload in cluster.objects if workload.key in keys)


def _commands(update: Update, deployment: str) -> tuple[CommandChange, ...]:
    before, after = (_command_lines(side, deployment) for side in (update.base, update.head))
    return tuple(
        CommandChange(role, before.get(role, ""), after[role])
        for role in sorted(after)
        if before.get(role, "") != after[role]
    )


def _command_lines(side: Side, deployment: str) -> dict[str, str]:
    """Return the written command line of each role in the shape of its document, "" where none is written."""
    document = side.documents.deployments.get(deployment)
    if document is None:
        return {}
    return {
        role: command_text(
            WorkerPod(document, role, "Entry", workers_of(document, role).topology.pods_per_worker)
        )
        for role in roles_of(document)
    }


def _waiting_line(place: PlaceChange) -> str:
    return f"{place.place}: pods start there once others have left, for which this update does not wait"


def _restart_line(restart: Restart) -> str:
    pods = f"{restart.pods} pod{'' if restart.pods == 1 else 's'}"
    if restart.fields == _OF_ANOTHER_KIND:
        return f"{restart.workload} takes the place of another kind with {pods}: {restart.serving}"
    verb = "restarts" if restart.pods == 1 else "restart"
    return f"{pods} of {restart.workload} {verb} ({_fields_in_short(restart)}): {restart.serving}"


def _fields_in_short(restart: Restart) -> str:
    """Return all images that change, and of the other fields the first, those of leaders and followers that
    are alike once.
    """
    images = [f"{image.path} {image.before} -> {image.after}" for image in restart.images]
    paths_of_images = {image.path for image in restart.images}
    paths = [path for path in dict.fromkeys(map(_below_pod, restart.fields)) if path not in paths_of_images]
    and_others = f", {len(paths) - _FIELDS} more" if len(paths) > _FIELDS else ""
    return ", ".join([*images, *paths[:_FIELDS]]) + and_others


def _picker_line(picker: PickerChange) -> str:
    what = f"the endpoint picker on {picker.cluster} is replaced ({', '.join(picker.fields)})"
    meanwhile = "requests fail meanwhile" if picker.gap else "the old one serves until the new one is ready"
    return f"{what}: {meanwhile}"


def _pickers(update: Update) -> dict[str, list[PickerChange]]:
    """Return the endpoint pickers that are replaced, by deployment."""
    pickers: dict[str, list[PickerChange]] = {}
    for _, cluster in update.remaining:
        name = cluster.connection.cluster
        for picker in replaced_pickers(cluster, update.workloads[name]):
            change = PickerChange(name, picker.changes, bool(picker.gaps))
            pickers.setdefault(picker.deployment, []).append(change)
    return pickers


def _restarts(update: Update) -> dict[str, tuple[Restart, ...]]:
    """Return the restarts by deployment, in their order.

    Placements of a deployment roll one after the other, unless updates wait for no pods.
    """
    together = update.head.documents.settings.await_ == "applied"
    restarts: dict[str, tuple[Restart, ...]] = {}
    nodes = _replaced_nodes(update)
    pairs = {
        spot: workloads for clusters in update.remaining for spot, workloads in _pairs(*clusters) if workloads
    }
    at_one_endpoint = Counter(map(_endpoint, pairs))
    for spot in sorted(pairs):
        earlier = restarts.get(spot.deployment, ())
        order = 1 if together or not earlier else earlier[-1].order + 1
        others = at_one_endpoint[_endpoint(spot)] > 1 and not together
        of_spot = tuple(
            restart
            for old, new in pairs[spot]
            if (restart := _restart(old, new, order, others=others, nodes=nodes.get(_pool(spot, new), "")))
        )
        if of_spot:
            restarts[spot.deployment] = (*earlier, *of_spot)
    return restarts


def _pairs(
    before: DesiredCluster, after: DesiredCluster
) -> Iterator[tuple[Spot, list[tuple[KubeObject, KubeObject]]]]:
    """Yield for each spot of a cluster the workloads that it has on both sides, before and after."""
    old = {workload.name: workload for workload in before.objects if ROLE in _labels(workload)}
    new = {workload.key: workload for workload in after.objects}
    for spot, keys in after.workloads.items():
        workloads = [new[key] for key in keys if key in new]
        yield spot, [(old[workload.name], workload) for workload in workloads if workload.name in old]


def _endpoint(spot: Spot) -> tuple[str, str, str]:
    """Return what spots share whose workloads take requests of one endpoint."""
    return spot.deployment, spot.cluster, spot.revision


def _replaced_nodes(update: Update) -> dict[tuple[str, str], str]:
    """Return the pools whose nodes end before others take their place, with the words for it."""
    words: dict[tuple[str, str], str] = {}
    for change in update.desired.cloud_changes:
        gke = update.head.documents.clusters[change.cluster].spec.cluster.gke if change.pool else None
        if change.kind == "nodes replaced":
            words[change.cluster, change.pool] = _SOME_AT_A_TIME
        elif change.kind == "replaced" and gke and gke.replace.order == "DeleteFirst":
            words[change.cluster, change.pool] = _DELETED_FIRST
    return words


def _pool(spot: Spot, workload: KubeObject) -> tuple[str, str]:
    return spot.cluster, spot.pool(_labels(workload)[ROLE])


def _restart(old: KubeObject, new: KubeObject, order: int, *, others: bool, nodes: str) -> Restart | None:
    """Return the restart of a workload, None for one whose pods run on.

    `others`: more workloads on the cluster take requests of the deployment. `nodes` says how nodes end before
    others take their place, "" for nodes that stay.
    """
    groups = min(most_of(old.manifest), most_of(new.manifest))
    remade = old.kind != new.kind
    fields = (
        _OF_ANOTHER_KIND if remade else differing_fields(_pod_parts(old.manifest), _pod_parts(new.manifest))
    )
    if nodes and not fields:
        fields = _NODES
    if not fields or not groups:
        return None
    serving, gap = REMADE, False
    if nodes:
        serving, gap = nodes, not others and (nodes == _DELETED_FIRST or groups == 1)
    elif not remade:
        fewest = at_least(old.manifest)
        stops = stops_serving(fewest, new.manifest)
        serving, gap = meanwhile(fewest, new.manifest)[0], stops and not others
        if others and stops:
            serving = "other workloads on the cluster take the requests meanwhile"
    return Restart(
        workload=title_of(new),
        role=_labels(new)[ROLE],
        pods=groups * pods_of_group(old.manifest),
        gpus=groups * _gpus_of_group(old.manifest),
        order=order,
        fields=fields,
        serving=serving,
        gap=gap,
        grace=_grace(old.manifest),
        images=() if remade else tuple(_images(old.manifest, new.manifest)),
    )


def _images(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[ImageChange]:
    """Yield the images of containers and volumes that are others, each once."""
    images = (
        ImageChange(_below_pod(change.path), _short_image(change.before), _short_image(change.after))
        for change in compared(_pod_parts(old), _pod_parts(new)).changes
        if _IMAGE.search(change.path) and change.before and change.after
    )
    yield from dict.fromkeys(sorted(images, key=lambda image: image.path))


def _short_image(reference: object) -> str:
    """Return the reference of an image with 12 of the 64 digits of its digest, if it has one."""
    return _DIGEST.sub(r"\1", str(reference))


def _below_pod(path: str) -> str:
    """Return the path of a field of a pod template as it is below `spec` of the pod."""
    return path.removeprefix("leaderTemplate.").removeprefix("workerTemplate.").removeprefix("spec.")


def _labels(workload: KubeObject) -> dict[str, str]:
    labels: dict[str, str] = workload.manifest["metadata"].get("labels") or {}
    return labels


def _pod_parts(workload: Mapping[str, Any]) -> Any:
    """Return the part of a workload that its pods are made of."""
    spec = workload["spec"]
    return spec.get("leaderWorkerTemplate") or spec["template"]


def _grace(workload: Mapping[str, Any]) -> int:
    """Return the seconds that requests in hand have at most when a pod of the workload ends."""
    entry = templates_of(workload)[0]
    return int(entry["spec"].get("terminationGracePeriodSeconds", _GRACE))


def _gpus_of_group(workload: Mapping[str, Any]) -> int:
    """Return the GPUs of a pod, or of a group of pods."""
    entry, *followers = templates_of(workload)
    size = pods_of_group(workload)
    return gpus_of_pod(entry) + sum((size - 1) * gpus_of_pod(follower) for follower in followers)


def _scales(update: Update) -> dict[str, tuple[Scale, ...]]:
    """Return by deployment the workloads whose number of pods is another, though no replica comes or goes."""
    changed = {change.spot for change in update.desired.plan.changes}
    scales: dict[str, tuple[Scale, ...]] = {}
    for clusters in update.remaining:
        for spot, pairs in _pairs(*clusters):
            for old, new in pairs if spot not in changed else ():
                before, after = pods_of(at_least(old.manifest)), pods_of(new.manifest)
                if before != after and not new.ignore:
                    scale = Scale(title_of(new), before, after)
                    scales[spot.deployment] = (*scales.get(spot.deployment, ()), scale)
    return scales


def _gpus_that_come_or_go(update: Update) -> Counter[str]:
    """Return by deployment the GPUs of pods that workloads get or lose."""
    before, after = _gpus(update.base.desired), _gpus(update.desired)
    changed: Counter[str] = Counter()
    for workload in before.keys() | after.keys():
        changed[workload[0]] += abs(after.get(workload, 0) - before.get(workload, 0))
    return changed


def _gpus(desired: Desired) -> dict[tuple[str, str], int]:
    """Return the GPUs of each workload of an engine, by deployment and name."""
    return {
        (f"{workload.namespace}/{labels[DEPLOYMENT]}", workload.name): most_of(workload.manifest)
        * _gpus_of_group(workload.manifest)
        for cluster in desired.clusters
        for workload in cluster.objects
        if ROLE in (labels := _labels(workload)) and workload.kind in ("Deployment", WORKER_SET)
    }


_RouteKey = tuple[str, str]  # (service, cluster)


def routes(update: Update) -> tuple[RouteChange, ...]:
    """Return the routes of services that come, go, or lead elsewhere, by other weights or rules."""
    old, new = _backends(update.base.desired.plan), _backends(update.desired.plan)
    fields: dict[_RouteKey, tuple[str, ...]] = {}
    for before, after in update.remaining:
        old_specs, new_specs = _route_specs(before), _route_specs(after)
        for service in old_specs.keys() & new_specs.keys():
            key = service, after.connection.cluster
            fields[key] = differing_fields(old_specs[service], new_specs[service])
    routed = {service for service, _ in new}
    return tuple(
        RouteChange(
            service,
            cluster,
            before=old.get((service, cluster), ()),
            after=new.get((service, cluster), ()),
            fields=fields.get((service, cluster), ()),
            ends=service not in routed,
        )
        for service, cluster in sorted({*old, *new})
        if old.get((service, cluster)) != new.get((service, cluster)) or fields.get((service, cluster))
    )


def doors(update: Update) -> tuple[DoorChange, ...]:
    """Return the services that InferenceGateways lead elsewhere, by other names, or for other callers."""
    old, new = _door_routes(update.base.desired), _door_routes(update.desired)
    nothing = DoorRoute("", (), Requests("", ()), (), ())
    return tuple(
        DoorChange(
            *key,
            before=_door_backends(before),
            after=_door_backends(after),
            names=(before.models, after.models),
            callers=(before.entries, after.entries),
        )
        for key in sorted({*old, *new})
        if _door_facts(before := old.get(key, nothing)) != _door_facts(after := new.get(key, nothing))
    )


def _door_routes(desired: Desired) -> dict[tuple[str, str, str], DoorRoute]:
    return {(door.gateway, door.hub, route.service): route for door in desired.doors for route in door.routes}


def _door_facts(route: DoorRoute) -> object:
    return route.models, route.backends, route.entries


def _door_backends(route: DoorRoute) -> tuple[str, ...]:
    return tuple(
        f"{backend.cluster} {backend.weight}{' (fallback)' if backend.fallback else ''}"
        for backend in route.backends
    )


def _backends(plan: Plan) -> dict[_RouteKey, tuple[str, ...]]:
    return {
        (route.service, route.cluster): tuple(
            f"{backend.deployment} {backend.weight}" for backend in route.backends
        )
        for route in plan.services
    }


def _route_specs(cluster: DesiredCluster) -> dict[str, object]:
    """Return what the HTTPRoutes of services say, by service."""
    return {
        f"{route.namespace}/{labels[names.SERVICE]}": route.manifest["spec"]
        for route in cluster.objects
        if route.kind == HTTP_ROUTE
        and names.SERVICE in (labels := route.manifest["metadata"].get("labels") or {})
    }


def plugins(update: Update) -> tuple[PluginChange, ...]:
    """Return the plugins that make something else of pods which both sides have, by name and versions."""
    old, new = _effects_by_workload(update.base.desired), _effects_by_workload(update.desired)
    workloads: dict[tuple[str, str, str], list[str]] = {}
    for workload in sorted(old.keys() & new.keys()):
        for plugin in sorted(old[workload].keys() | new[workload].keys()):
            before, after = old[workload].get(plugin, ()), new[workload].get(plugin, ())
            if _effects(before) != _effects(after):
                key = plugin, _version(before), _version(after)
                workloads.setdefault(key, []).append(workload)
    return tuple(PluginChange(*key, tuple(of_plugin)) for key, of_plugin in sorted(workloads.items()))


def _effects_by_workload(desired: Desired) -> dict[str, dict[str, tuple[LinkEffect, ...]]]:
    """Return by workload what each plugin did to its pods, where it did anything."""
    effects_by_workload: dict[str, dict[str, tuple[LinkEffect, ...]]] = {}
    for effects_by_spot in (desired.effects, desired.follower_effects):
        for spot, roles in effects_by_spot.items():
            for role, effects in roles.items():
                name = names.pulumi_object(spot.cluster, names.workload(spot, role), namespace=spot.namespace)
                by_plugin = effects_by_workload.setdefault(name, {})
                for effect in effects:
                    if effect.status == "changed":
                        by_plugin[effect.plugin] = (*by_plugin.get(effect.plugin, ()), effect)
    return effects_by_workload


def _effects(effects: Iterable[LinkEffect]) -> list[object]:
    return [
        (
            effect.version,
            tuple((change.path, change.after) for change in effect.changes),
            effect.companions,
            dict(effect.injected),
        )
        for effect in effects
    ]


def _version(effects: tuple[LinkEffect, ...]) -> str:
    return effects[-1].version if effects else ""
