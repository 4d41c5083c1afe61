"""From two sides of a stack to what changes for people. Pure: equal values give equal results."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date

from inferfleet.desired.gate import refuses, unplaced_problem
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.files import PACKAGED
from inferfleet.documents.problems import Problem, in_reading_order, joined
from inferfleet.documents.wording import listing
from inferfleet.fleet.bill import Bill, bill
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.roles import tuned_under_one_revision
from inferfleet.review.digest.beside import plugins, routes
from inferfleet.review.digest.costs import costs, quotas, reservations, unknown_now, uses
from inferfleet.review.digest.models import models
from inferfleet.review.digest.nodes import cluster_changes, drains, pool_changes
from inferfleet.review.digest.resources import resources, updates_in_place
from inferfleet.review.digest.update import Side, Update, update_of
from inferfleet.review.digest.values.models import Missing
from inferfleet.review.digest.values.stack import Stack, State, Told
from inferfleet.review.digest.written import waivers, written

Version = Side | tuple[Problem, ...] | None
"""A side of a stack, or why it is not valid, or None where the stack is not there."""


def compared_stack(name: str, base: Version, head: Version) -> Stack:
    """Return what changes for people in one stack, from the base to the version at hand.

    Where the head has errors, these are told; where only the base has, nothing is compared.
    """
    if isinstance(head, tuple):
        known = base if isinstance(base, tuple) else ()
        return Stack(name, "refused", problems=told(head, known))
    if head is None:
        return Stack(name, "removed", problems=told([_left_alone(name, base)], ()))
    if isinstance(base, tuple):
        alone = update_of(_nothing(name, head.day), head)
        return Stack(name, "not compared", problems=told(alone.after, ()), gone=told(base, base))
    return _changed(name, base, head)


def _left_alone(name: str, base: Version) -> Problem:
    """Return the warning about a stack that is gone: nobody runs an update for it, so nothing is deleted."""
    has = ""
    if isinstance(base, Side):
        kinds = {"clusters": base.documents.clusters, "models": base.documents.deployments}
        has = "".join(f"; {kind}: {listing(sorted(names))}" for kind, names in kinds.items() if names)
    return Problem(
        f"stack {name} is gone from the project, and that deletes nothing: no update runs for it any more, "
        f"so what the last one left runs on{has}",
        f"Where it should end, run `pulumi destroy --stack {name}` and then `pulumi stack rm {name}` in a "
        "checkout of the base, whose settings both need; where that was done, or somebody else keeps it, "
        "nothing is left to do",
        severity="warning",
    )


def _changed(name: str, base: Side | None, head: Side) -> Stack:
    update = update_of(base or _nothing(name, head.day), head)
    touched = resources(update)
    updated = updates_in_place(update, touched)
    before, after = (
        _bill(update.base, update.lock),
        _bill(update.head, update.desired.plan.lock),
    )
    own = (*unknown_now(before, after), *_tuned(update))
    every = (*update.after, *head.documents.located(own))
    problems = told(every, update.before)
    said = {_identity(problem) for problem in every}
    made = Stack(
        name,
        "unchanged",
        models=models(update),
        missing=_missing(update),
        drains=drains(update),
        services=routes(update),
        clusters=cluster_changes(update, updated),
        pools=pool_changes(update, updated),
        uses=uses(before, after),
        costs=costs(before, after),
        unpriced=(before.unpriced, after.unpriced),
        quotas=quotas(update),
        reservations=reservations(update),
        plugins=plugins(update),
        resources=touched,
        problems=problems,
        gone=told([problem for problem in update.before if _identity(problem) not in said], update.before),
    )
    made = replace(made, waivers=waivers(update), written=written(update, made, is_new=base is None))
    return replace(made, state=_state(made, base))


def _tuned(update: Update) -> Iterator[Problem]:
    """Yield deployments with prefill whose args, commands or variables change under one `engine.revision`."""
    before = update.base.documents.deployments
    for key, deployment in sorted(update.head.documents.deployments.items()):
        if key in before and tuned_under_one_revision(before[key], deployment):
            yield Problem(
                f"args, commands or variables of {key} change and engine.revision does not: its pods roll, "
                "and those of before and after hand KV caches to each other meanwhile",
                "Raise engine.revision if the form of the cache changes",
                "spec.engine.revision",
                kind="ModelDeployment",
                key=key,
                severity="warning",
            )


def _state(made: Stack, base: Side | None) -> State:
    if any(problem.severity == "error" for problem in made.problems):
        return "refused"
    if base is None:
        return "added"
    same = Stack(made.stack, made.state, unpriced=made.unpriced, problems=made.problems)
    news = any(problem.new for problem in made.problems)
    return "unchanged" if made == same and not news else "changed"


def _bill(side: Side, lock: Lock) -> Bill:
    return bill(side.documents, lock.placements, side.desired.plan.demands)


def _missing(update: Update) -> tuple[Missing, ...]:
    """Return the replicas without a place that the base does not lack."""
    documents, plan = update.head.documents, update.desired.plan
    old = {each.deployment: each.replicas for each in update.base.desired.plan.unplaced}
    return tuple(
        Missing(
            missing.deployment,
            missing.replicas,
            missing.running,
            refuses(documents, missing),
            f"{problem.what}. {problem.next_step}",
        )
        for missing in plan.unplaced
        for problem in (unplaced_problem(missing, plan, documents),)
        if old.get(missing.deployment) != missing.replicas
    )


def _nothing(stack: str, today: date) -> Side:
    """Return the side of a stack that is not there."""
    documents, lock = Documents(Settings(stack=stack)), Lock(stack=stack)
    return Side(documents, lock, Desired(stack, (), Plan(lock=lock), frozenset(), ()), day=today)


def told(problems: Iterable[Problem], known: Iterable[Problem]) -> tuple[Told, ...]:
    """Return the problems in the order of files and lines, those of a kind as one; new are those that are not
    known, which are joined with each other alone.
    """
    old = {_identity(problem) for problem in known}
    listed = in_reading_order(problems)
    new = set(joined(problem for problem in listed if _identity(problem) not in old))
    others = joined(problem for problem in listed if _identity(problem) in old)
    order: Mapping[str, int] = {"error": 0, "warning": 1, "notice": 2}
    every = sorted(in_reading_order((*new, *others)), key=lambda problem: order[problem.severity])
    return tuple(
        Told(
            problem.severity,
            problem.what,
            problem.next_step,
            problem.where.file if problem.where and problem.where.line else "",
            problem.where.line if problem.where else 0,
            problem.path,
            problem in new,
            "" if problem.where is None or problem.where.line else problem.where.file.removeprefix(PACKAGED),
        )
        for problem in every
    )


def _identity(problem: Problem) -> tuple[str, ...]:
    """Return what makes two problems the same on different lines."""
    return problem.severity, problem.kind, problem.key, problem.path, problem.what
