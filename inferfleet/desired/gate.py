"""Errors that stop an update, and warnings that reviewers read before it.

Problems name their field; who asks adds the lines (`Documents.located`).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.desired.values import Desired
from inferfleet.fleet.advice.short import MOST, fix_step, in_short
from inferfleet.fleet.decisions import Change, Plan, Roll, Unplaced
from inferfleet.fleet.lock.lock import Lock, matches


def refusals(
    desired: Desired, documents: Documents, lock: Lock, *, locked: bool, preview: bool
) -> tuple[Problem, ...]:
    """Return the errors that stop a run: a lock that would change while `locked`, replicas without a place.

    A preview shows replicas without a place as warnings (see `announcements`), an update refuses them.
    """
    errors = list(_moves(desired, lock)) if locked else []
    if not preview:
        errors += [
            unplaced_problem(unplaced, desired.plan, documents)
            for unplaced in desired.plan.unplaced
            if refuses(documents, unplaced.deployment)
        ]
    return tuple(errors)


def refuses(documents: Documents, deployment: str) -> bool:
    """Return whether replicas of the deployment that have no place stop an update."""
    own = documents.deployments[deployment].spec.unplaced
    return own == "Refuse" or (own is None and documents.settings.unplaced == "error")


def announcements(
    desired: Desired, documents: Documents, lock: Lock, *, locked: bool, preview: bool
) -> tuple[Problem, ...]:
    """Return the warnings that reviewers should read before the update runs."""
    warnings = list(desired.warnings)
    warnings += [
        replace(unplaced_problem(unplaced, desired.plan, documents), severity="warning")
        for unplaced in desired.plan.unplaced
        if preview or not refuses(documents, unplaced.deployment)
    ]
    warnings += _rolls(desired, unwaited=documents.settings.await_ == "applied")
    for spot in sorted(desired.waiting - {roll.spot for roll in desired.plan.rolls}):
        warnings.append(
            Problem(
                f"{spot.deployment} on {spot.place} fits only once workloads that are "
                "leaving are gone, so this update does not wait for its pods",
                "Run the next `pulumi up` when they are: it waits for them",
                kind="ModelDeployment",
                key=spot.deployment,
                severity="warning",
            )
        )
    if documents.settings.await_ == "applied":
        warnings += _rolling_together(desired, documents, lock)
    if locked:
        warnings += [
            Problem(
                f"placement.lock does not know the UID of cluster {name}",
                "Run `inferfleet plan --write` where the cluster can be reached, and commit the lock",
                kind="InferenceCluster",
                key=name,
                severity="warning",
            )
            for name, cluster in sorted(desired.plan.lock.clusters.items())
            # Clusters on GKE are identified by project, region and name; at first they have no UID.
            if cluster.uid is None and cluster.source == "Existing"
        ]
    return tuple(warnings)


def _rolls(desired: Desired, *, unwaited: bool) -> Iterator[Problem]:
    """Yield how new sets of pods take the place of old ones.

    `unwaited`: updates wait for no pods of engines.
    """
    for roll in desired.plan.rolls:
        deployment = roll.spot.deployment
        what = f"{deployment} on {roll.spot.place} gets a new set of pods"
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
            )
        elif unwaited:
            yield Problem(
                f"{what} beside the old one, and with await: applied the old one ends before the new one is "
                "ready: nothing serves in between",
                "Set inferfleet:await to ready, with which routes change once the new one is",
                kind="ModelDeployment",
                key=deployment,
                severity="warning",
            )
        else:
            yield Problem(
                f"{what} beside the old one, because {_why(roll)}: the old one serves until the new one is "
                "ready, and ends then",
                "Nothing has to be done",
                kind="ModelDeployment",
                key=deployment,
                severity="notice",
            )


def _why(roll: Roll) -> str:
    if not roll.spot.revision:
        return "prefill and decode become one"
    if roll.before and not any(spot.revision for spot in roll.before):
        return "prefill comes apart from decode"
    return "prefill and decode exchange something else"


def unplaced_problem(unplaced: Unplaced, plan: Plan, documents: Documents) -> Problem:
    """Return the problem of replicas without a place: the reasons in short, and what would place them.

    It has at most `short.MOST` characters, whatever the size of the fleet.
    """
    key, spec = unplaced.deployment, documents.deployments[unplaced.deployment].spec
    what = f"{unplaced.replicas} of {spec.replicas} replicas of {key} found no place"
    if unplaced.replicas == spec.replicas:
        what += ", so nothing serves it"
    step = fix_step(plan.fixes.get(key), unplaced.reasons)
    if refuses(documents, key):
        step += ", lower replicas, or write unplaced: Warn to let updates go on without them"
    else:
        says = "its unplaced: Warn" if spec.unplaced else "inferfleet:unplaced: warn"
        step += f", or lower replicas: updates go on without them, as {says} says"
    left = MOST - len(what) - len(step) - len(" ().")
    return Problem(
        f"{what} ({in_short(unplaced.reasons, max(left, 40))})",
        step,
        path="spec.replicas",
        kind="ModelDeployment",
        key=key,
    )


def describe(change: Change) -> str:
    """Return the change in words: `ml/x on east/l4: 1 -> 2 replicas`."""
    spot = change.spot
    return f"{spot.deployment} on {spot.place}: {change.before} -> {change.after} replicas"


def _moves(desired: Desired, lock: Lock) -> Iterator[Problem]:
    if matches(lock, desired.plan.lock):
        return
    changes = [*(describe(change) for change in desired.plan.changes), *map(str, desired.cloud_changes)]
    moves = "; ".join(changes)
    yield Problem(
        f"placement.lock does not match the documents ({moves or 'clusters or services differ'})",
        "Run `inferfleet plan --write`, review the lock's diff and commit it, "
        "or set inferfleet:locked to false to let `pulumi up` write it",
    )


def _rolling_together(desired: Desired, documents: Documents, lock: Lock) -> Iterator[Problem]:
    rolling: Counter[str] = Counter()
    for placement in desired.plan.placements:
        spot = placement.spot
        # What is new does not roll, and nothing on a lost cluster is touched.
        if lock.runs(spot) and documents.clusters[spot.cluster].spec.state != "lost":
            rolling[spot.deployment] += 1
    for deployment, count in sorted(rolling.items()):
        if count > 1:
            yield Problem(
                f"with await: applied a change of {deployment} rolls on its {count} placements together",
                "Set inferfleet:await to ready to roll one placement after the other",
                kind="ModelDeployment",
                key=deployment,
                severity="warning",
            )
