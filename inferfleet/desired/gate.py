"""Errors that stop an update, and warnings that reviewers read before it.

Problems name their field; who asks adds the lines (`Documents.located`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from inferfleet.desired.transition import Unfilled
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing, one_line, shown
from inferfleet.fleet.advice.exposure import lost_route_problems
from inferfleet.fleet.advice.summaries import MOST, fix_step, in_short, named_and_counted
from inferfleet.fleet.decisions import Change, Plan, Roll, Unplaced, moves
from inferfleet.fleet.lock.lock import Lock, matches
from inferfleet.fleet.shapes import counted
from inferfleet.fleet.spot import Spot

# Deployments that one message names.
_NAMED = 8
# Characters that the reasons of one deployment get at least.
_LEAST_REASONS = 40


def blocking_problems(
    desired: Desired, documents: Documents, lock: Lock, *, locked: bool, preview: bool
) -> tuple[Problem, ...]:
    """Return the errors that stop a run: a lock that would change while `locked`, replicas without a place.

    A preview shows replicas without a place as warnings (see `announced_problems`), an update refuses them.
    """
    errors = list(lock_mismatch_problems(desired, lock)) if locked else []
    if not preview:
        refused = [unplaced for unplaced in desired.plan.unplaced if stops_update(documents, unplaced)]
        errors += unplaced_problems(refused, desired.plan, documents)
    return tuple(errors)


def stops_update(documents: Documents, unplaced: Unplaced) -> bool:
    """Return whether replicas without a place stop an update, as their deployment says, else the stack."""
    of_deployment = documents.deployments[unplaced.deployment].spec.unplaced
    if of_deployment is not None:
        return of_deployment == "Refuse"
    setting = documents.settings.unplaced
    return setting == "error" or (setting == "errorOnLoss" and unplaced.running > 0)


def announced_problems(
    desired: Desired, documents: Documents, lock: Lock, *, locked: bool, preview: bool
) -> tuple[Problem, ...]:
    """Return the warnings that reviewers should read before the update runs."""
    warnings = list(desired.warnings)
    allowed = [
        unplaced for unplaced in desired.plan.unplaced if preview or not stops_update(documents, unplaced)
    ]
    warnings += [
        replace(problem, severity="warning")
        for problem in unplaced_problems(allowed, desired.plan, documents)
    ]
    warnings += lost_route_problems(documents, desired.plan, lock)
    warnings += _roll_problems(desired, unwaited=documents.settings.await_ == "applied")
    for spot in sorted(desired.waiting - {roll.spot for roll in desired.plan.rolls}):
        warnings.append(
            Problem(
                f"{spot.deployment} on {spot.place} fits only once workloads that are "
                "leaving are gone, so this update does not wait for its pods",
                "Run the next `pulumi up` when they are: it waits for them",
                kind="ModelDeployment",
                key=spot.deployment,
                severity="warning",
                about=f"{spot.deployment} on {spot.place}",
            )
        )
    if documents.settings.await_ == "applied":
        warnings += _rolling_together_problems(desired, documents, lock)
    if locked:
        warnings += [
            cluster_problem(
                name,
                f"placement.lock does not know the UID of cluster {name}",
                f"Run `inferfleet plan {documents.options} --write` where the cluster can be "
                "reached, and commit the lock",
                severity="warning",
            )
            for name, cluster in sorted(desired.plan.lock.clusters.items())
            # Clusters on GKE are identified by project, region and name; at first they have no UID.
            if cluster.uid is None and cluster.source == "Existing"
        ]
    return tuple(warnings)


def unfilled_problems(unfilled: Unfilled) -> Iterator[Problem]:
    """Yield a notice for each placement that waits for weights."""
    step = "Run `pulumi up` again once they are there; `inferfleet status` says how far it is"
    for spots, consequence in (
        (unfilled.held, "nothing of the deployment changes in this update"),
        (unfilled.starting, "its pods start and wait for them, and this update does not wait for its pods"),
    ):
        for spot, caches in sorted(spots.items()):
            about = f"{spot.deployment} on {spot.place}"
            progress = (unfilled.progress.get((spot, key)) for key in caches)
            far = [one_line(words) for words in progress if words]
            yield Problem(
                f"weights of ModelCache {listing(caches)} are not on cluster {spot.cluster} yet"
                f"{f' ({listing(far)})' if far else ''}, from which {about} loads: {consequence}",
                step,
                kind="ModelDeployment",
                key=spot.deployment,
                severity="notice",
                about=about,
            )


def parallelism_problems(plan: Plan, *, parallel: int | None) -> tuple[Problem, ...]:
    """Return a notice where Pulumi waits for fewer workloads at once than the fleet has.

    `parallel` is the number of operations that Pulumi runs at once, four per CPU of its machine by default
    (None: it did not say). One that waits for pods occupies its turn for as long as they take.
    """
    workloads = sum(len(spot.pools) for spot in plan.lock.placements)
    if parallel is None or workloads <= parallel:
        return ()
    enough = _round(workloads)
    return (
        Problem(
            f"an update that starts the pods of all {workloads} workloads waits for {parallel} of them at "
            "once, because Pulumi runs no more operations in parallel",
            f"Set PULUMI_PARALLEL={enough}, or write --parallel {enough}: waiting costs nothing",
            severity="notice",
        ),
    )


def _round(workloads: int) -> int:
    """Return a power of two that leaves some for pickers beside the workloads, so that it stays true for a
    while.
    """
    return 1 << (workloads * 3 // 2).bit_length()


def _roll_problems(desired: Desired, *, unwaited: bool) -> Iterator[Problem]:
    """Yield how new sets of pods take the place of old ones.

    `unwaited`: updates wait for no pods of engines.
    """
    for roll in desired.plan.rolls:
        deployment = roll.spot.deployment
        about = f"{deployment} on {roll.spot.place}"
        what = f"{about} gets a new set of pods"
        if not roll.beside:
            yield Problem(
                f"{what}, and there is no room for it beside the old one: the old one serves until all else "
                "of this update is done and ends then, and nothing serves until the new one is ready, for "
                "which this update does not wait",
                "Write rollout: Surge, which keeps room for both, or update when nobody asks; "
                "the next `pulumi up` waits for the new pods",
                kind="ModelDeployment",
                key=deployment,
                severity="warning",
                about=about,
            )
        elif unwaited:
            yield Problem(
                f"{what} beside the old one, and with await: applied the old one ends before the new one is "
                "ready: nothing serves in between",
                "Set inferfleet:await to ready, with which routes change once the new one is",
                kind="ModelDeployment",
                key=deployment,
                severity="warning",
                about=about,
            )
        else:
            yield Problem(
                f"{what} beside the old one, because {_why(roll)}: the old one serves until the new one is "
                "ready, and ends then",
                "Nothing has to be done",
                kind="ModelDeployment",
                key=deployment,
                severity="notice",
                about=about,
            )


def _why(roll: Roll) -> str:
    if not roll.spot.revision:
        return "prefill and decode become one"
    if roll.before and not any(spot.revision for spot in roll.before):
        return "prefill comes apart from decode"
    return "prefill and decode exchange something else"


def unplaced_problems(every: Sequence[Unplaced], plan: Plan, documents: Documents) -> Iterator[Problem]:
    """Yield a problem for each of the first deployments without a place, and one that counts all others."""
    described, counted_only = named_and_counted(every)
    for unplaced in described:
        yield unplaced_problem(unplaced, plan, documents)
    if counted_only:
        replicas = sum(unplaced.replicas for unplaced in counted_only)
        names = listing([unplaced.deployment for unplaced in counted_only], _NAMED)
        yield Problem(
            f"{counted(len(counted_only), 'more deployment')} without a place for "
            f"{counted(replicas, 'replica')}: {names}",
            "Run `inferfleet explain NAME`, which says why and what would place them",
        )


def unplaced_problem(unplaced: Unplaced, plan: Plan, documents: Documents) -> Problem:
    """Return the problem of replicas without a place: the reasons in short, and what would place them.

    The reasons are cut so that all of it has about as many characters as `MOST` says, however many clusters
    the fleet has. They keep at least `_LEAST_REASONS`.
    """
    key, spec = unplaced.deployment, documents.deployments[unplaced.deployment].spec
    what = f"{unplaced.replicas} of {spec.wanted} replicas of {key} found no place"
    if unplaced.replicas == spec.wanted:
        what += ", so nothing serves it"
    if unplaced.running:
        what += f"; {unplaced.running} of them {'runs' if unplaced.running == 1 else 'run'} now"
        what += f" and would end, on {_ending(unplaced, plan)}"
    step = fix_step(plan.fixes.get(key), unplaced.reasons)
    if stops_update(documents, unplaced):
        step += ", lower replicas, or write unplaced: Warn to let updates go on without them"
    else:
        step += f", or lower replicas: updates go on without them, {_allowed(unplaced, documents)}"
    characters_left = MOST - len(what) - len(step) - len(" ().")
    return Problem(
        f"{what} ({in_short(unplaced.reasons, max(characters_left, _LEAST_REASONS))})",
        step,
        path="spec.replicas",
        kind="ModelDeployment",
        key=key,
        mended_together=True,
    )


def _ending(unplaced: Unplaced, plan: Plan) -> str:
    """Return the places whose replicas go nowhere, with why these leave: `east/l4 (abandoned)`."""
    of_deployment = [change for change in plan.changes if change.spot.deployment == unplaced.deployment]
    moved: Counter[Spot] = Counter()
    for move in moves(of_deployment):
        moved[move.before] += move.replicas
    places = [
        f"{shown(change.spot.place)} ({plan.departure_reasons[change.spot]})"
        for change in of_deployment
        if change.before - change.after > moved[change.spot] and change.spot in plan.departure_reasons
    ]
    return listing(places, 2)


def _allowed(unplaced: Unplaced, documents: Documents) -> str:
    """Return in words why an update goes on without the replicas."""
    if documents.deployments[unplaced.deployment].spec.unplaced:
        return "as its unplaced: Warn says"
    if documents.settings.unplaced == "warn":
        return "as inferfleet:unplaced: warn says"
    return "because none of them runs now"


def describe(change: Change) -> str:
    """Return the change in words: `ml/x on east/l4: 1 -> 2 replicas`."""
    spot = change.spot
    return f"{spot.deployment} on {spot.place}: {change.before} -> {change.after} replicas"


def lock_mismatch_problems(desired: Desired, lock: Lock) -> Iterator[Problem]:
    """Yield the error of a run that may not write the lock, and would have to."""
    if matches(lock, desired.plan.lock):
        return
    planned = desired.plan.lock
    changes = [
        *(describe(change) for change in desired.plan.changes),
        *map(str, desired.cloud_changes),
        *(
            f"pool {key}: {before} -> {after} nodes"
            for key in sorted({*lock.nodes, *planned.nodes})
            if (before := lock.nodes.get(key, 0)) != (after := planned.nodes.get(key, 0))
        ),
    ]
    moves = "; ".join(changes) or "clusters or services differ"
    options = desired.fleet or f"--stack {desired.stack}"
    yield Problem(
        f"placement.lock does not match the documents ({moves})",
        f"Run `inferfleet plan {options} --write`, review the lock's diff and commit it, "
        "or set inferfleet:locked to false to let `pulumi up` write it",
    )


def _rolling_together_problems(desired: Desired, documents: Documents, lock: Lock) -> Iterator[Problem]:
    rolling: Counter[str] = Counter()
    for placement in desired.plan.placements:
        spot = placement.spot
        # What is new does not roll, and what is paused, or on a lost cluster, is not touched.
        if lock.runs(spot) and not documents.holds(spot.deployment, spot.cluster):
            rolling[spot.deployment] += 1
    for deployment, count in sorted(rolling.items()):
        if count > 1:
            yield Problem(
                f"with await: applied a change of {deployment} rolls on its placements together",
                "Set inferfleet:await to ready to roll one placement after the other",
                kind="ModelDeployment",
                key=deployment,
                severity="warning",
            )
