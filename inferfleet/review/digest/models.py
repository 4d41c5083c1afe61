"""What becomes of each model: where its replicas go and why, what restarts, what serves meanwhile."""

from collections.abc import Iterator

from inferfleet.clusters.preflight.pickers import replaced_pickers
from inferfleet.desired.values import KubeObject
from inferfleet.fleet.advice.summaries import change_lines, roll_line
from inferfleet.fleet.decisions import Change
from inferfleet.fleet.decisions import Roll as PlannedRoll
from inferfleet.fleet.roles import roles_of, workers_of
from inferfleet.fleet.spot import Spot
from inferfleet.review.digest.restarts import (
    OF_ANOTHER_KIND,
    below_pod,
    gpus_that_come_or_go,
    grace,
    restarts,
    scales,
)
from inferfleet.review.digest.texts import command_text
from inferfleet.review.digest.update import Side, Update
from inferfleet.review.digest.values.models import Coming, Command, Model, Picker, Place, Restart, Roll, Scale
from inferfleet.serving.engines.worker import WorkerPod

# Fields of a pod that one line names; the value has all of them.
_FIELDS = 3


def models(update: Update) -> tuple[Model, ...]:
    """Return the models of which anything changes: those with gaps and that end first, then by GPUs of
    pods that start, end or restart.
    """
    changes: dict[str, list[Change]] = {}
    for change in update.desired.plan.changes:
        changes.setdefault(change.spot.deployment, []).append(change)
    rolls: dict[str, list[PlannedRoll]] = {}
    for roll in update.desired.plan.rolls:
        rolls.setdefault(roll.spot.deployment, []).append(roll)
    restarted, pickers = restarts(update), _pickers(update)
    scaled, gpus = scales(update), gpus_that_come_or_go(update)
    documents = update.base.documents.deployments.keys() ^ update.head.documents.deployments.keys()
    made = (
        _model(
            update,
            deployment,
            changes=changes.get(deployment, []),
            rolls=rolls.get(deployment, []),
            restarted=restarted.get(deployment, ()),
            scaled=scaled.get(deployment, ()),
            pickers=tuple(pickers.get(deployment, ())),
            gpus=gpus[deployment],
        )
        for deployment in sorted({*documents, *changes, *rolls, *restarted, *scaled, *pickers})
    )
    return tuple(
        sorted(made, key=lambda model: (not (model.gap or model.ends), -model.gpus, model.deployment))
    )


def _model(
    update: Update,
    deployment: str,
    *,
    changes: list[Change],
    rolls: list[PlannedRoll],
    restarted: tuple[Restart, ...],
    scaled: tuple[Scale, ...],
    pickers: tuple[Picker, ...],
    gpus: int,
) -> Model:
    sets = tuple(
        Roll(roll.spot.place, tuple(spot.place for spot in roll.before), not roll.beside) for roll in rolls
    )
    places = tuple(_place(update, change) for change in changes)
    gaps = [each.gap for each in restarted] + [each.gap for each in sets] + [each.gap for each in pickers]
    before, after = (
        sum(replicas for spot, replicas in lock.placements.items() if spot.deployment == deployment)
        for lock in (update.lock, update.desired.plan.lock)
    )
    waits = any(place.waits for place in places)
    gaps.append(waits and before > 0 and not _stays(update, deployment))
    gaps.append(before > 0 and after == 0 and _is_wanted(update, deployment))
    return Model(
        deployment,
        _coming(update, deployment),
        before,
        after,
        gpus + sum(restart.gpus for restart in restarted),
        any(gaps),
        places,
        restarted,
        scaled,
        sets,
        pickers,
        (
            *change_lines(changes, update.desired.plan.left),
            *map(roll_line, rolls),
            *(_waiting_line(place) for place in places if place.waits),
            *map(_restart_line, restarted),
            *(f"{scale.workload}: {scale.before} -> {scale.after} pods" for scale in scaled),
            *map(_picker_line, pickers),
        ),
        _commands(update, deployment),
        before > 0 and after == 0,
    )


def _commands(update: Update, deployment: str) -> tuple[Command, ...]:
    before, after = (_lines(side, deployment) for side in (update.base, update.head))
    return tuple(
        Command(role, before.get(role, ""), after[role])
        for role in sorted(after)
        if before.get(role, "") != after[role]
    )


def _lines(side: Side, deployment: str) -> dict[str, str]:
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


def _is_wanted(update: Update, deployment: str) -> bool:
    """Return whether the head still asks for replicas of the deployment."""
    document = update.head.documents.deployments.get(deployment)
    return document is not None and document.spec.wanted > 0


def _coming(update: Update, deployment: str) -> Coming:
    if deployment not in update.base.documents.deployments:
        return "added"
    return "changed" if deployment in update.head.documents.deployments else "removed"


def _place(update: Update, change: Change) -> Place:
    why = update.desired.plan.left.get(change.spot, "")
    ending = _standing(update, change.spot) if change.before > change.after else ()
    seconds = max((grace(made.manifest) for made in ending), default=0)
    waits = change.spot in update.desired.waiting
    return Place(change.spot.place, change.before, change.after, why, seconds, waits)


def _stays(update: Update, deployment: str) -> bool:
    """Return whether replicas of the deployment stay where they are."""
    after = update.desired.plan.lock.placements
    return any(
        replicas and after.get(spot, 0)
        for spot, replicas in update.lock.placements.items()
        if spot.deployment == deployment
    )


def _standing(update: Update, spot: Spot) -> Iterator[KubeObject]:
    """Yield the workloads of a spot before the update."""
    for cluster in update.base.desired.clusters:
        if keys := cluster.workloads.get(spot):
            yield from (made for made in cluster.objects if made.key in keys)


def _pickers(update: Update) -> dict[str, list[Picker]]:
    """Return the endpoint pickers that are replaced, by deployment."""
    made: dict[str, list[Picker]] = {}
    for _, cluster in update.remaining:
        name = cluster.connection.cluster
        for picker in replaced_pickers(cluster, update.workloads[name]):
            replaced = Picker(name, picker.changes, bool(picker.gaps))
            made.setdefault(picker.deployment, []).append(replaced)
    return made


def _waiting_line(place: Place) -> str:
    return f"{place.place}: pods start there once others have left, for which this update does not wait"


def _restart_line(restart: Restart) -> str:
    pods = f"{restart.pods} pod{'' if restart.pods == 1 else 's'}"
    if restart.fields == OF_ANOTHER_KIND:
        return f"{restart.workload} takes the place of another kind with {pods}: {restart.serving}"
    verb = "restarts" if restart.pods == 1 else "restart"
    return f"{pods} of {restart.workload} {verb} ({_some(restart)}): {restart.serving}"


def _picker_line(picker: Picker) -> str:
    what = f"the endpoint picker on {picker.cluster} is replaced ({', '.join(picker.fields)})"
    meanwhile = "requests fail meanwhile" if picker.gap else "the old one serves until the new one is ready"
    return f"{what}: {meanwhile}"


def _some(restart: Restart) -> str:
    """Return all images that change, and of the other fields the first, those of leaders and followers that
    are alike once.
    """
    images = [f"{image.path} {image.before} -> {image.after}" for image in restart.images]
    told = {image.path for image in restart.images}
    known = [field for field in dict.fromkeys(map(below_pod, restart.fields)) if field not in told]
    more = f", {len(known) - _FIELDS} more" if len(known) > _FIELDS else ""
    return ", ".join([*images, *known[:_FIELDS]]) + more
