"""From two sides of a stack to what changes for people. Pure: equal values give equal results.

And the files that differ and that a digest does not read: programs, packages, workflows, submodules,
kubeconfigs. Those that may change what an update runs are named, and all others are counted.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import PurePosixPath
from typing import get_args

from inferfleet.clusters.connections.git import Difference
from inferfleet.desired.gate import stops_update, unplaced_problem
from inferfleet.desired.own_buckets import cache_on
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_cache import ModelCache
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.files import PACKAGED
from inferfleet.documents.problems import Problem, in_reading_order, joined
from inferfleet.documents.wording import listing
from inferfleet.fleet.bill import bill
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.roles import caches_of, tuned_under_one_revision
from inferfleet.review.digest.fields import document_changes, waiver_changes
from inferfleet.review.digest.models import doors, models, plugins, routes
from inferfleet.review.digest.nodes import (
    cluster_changes,
    costs,
    drains,
    pool_changes,
    quotas,
    reservations,
    unknown_price_problems,
    uses,
)
from inferfleet.review.digest.resources import resources, updates_in_place
from inferfleet.review.digest.resumptions import resumption_problems, resumptions
from inferfleet.review.digest.update import Side, Update, update_of
from inferfleet.review.digest.values import (
    FileChange,
    FileKind,
    ListedProblem,
    MissingReplicas,
    StackDigest,
    StackState,
)
from inferfleet.serving.weights import filling_name

Version = Side | tuple[Problem, ...] | None
"""A side of a stack, or why it is not valid, or None where the stack is not there."""


def stack_digest(name: str, base: Version, head: Version) -> StackDigest:
    """Return what changes for people in one stack, from the base to the version at hand.

    Where the head has errors, the digest lists these; where only the base has, nothing is compared.
    """
    if isinstance(head, tuple):
        problems_of_base = base if isinstance(base, tuple) else ()
        return StackDigest(name, "refused", problems=listed_problems(head, problems_of_base))
    if head is None:
        return StackDigest(name, "removed", problems=listed_problems([_left_alone(name, base)], ()))
    if isinstance(base, tuple):
        problems = update_of(_nothing(name, head.day), head).after
        return StackDigest(
            name,
            "not compared",
            problems=listed_problems(problems, ()),
            gone=listed_problems(base, base),
        )
    if base is not None and base.documents.settings.stack != head.documents.settings.stack:
        digest = _compared(name, None, head)
        renamed = listed_problems([_renamed(base, head)], ())
        return replace(digest, problems=(*renamed, *digest.problems))
    return _compared(name, base, head)


def _renamed(base: Side, head: Side) -> Problem:
    """Return the warning about a Fleet of another name, which is another Fleet."""
    before, after = base.documents.settings.stack, head.documents.settings.stack
    return Problem(
        f"this was {before} and is {after}, which is another Fleet: its update makes all of it anew, and "
        f"deletes everything that {before} has",
        "Give it the old name back, in the program and in the lock, where it should go on",
        severity="warning",
    )


def _left_alone(name: str, base: Version) -> Problem:
    """Return the warning about a stack that is gone: nobody runs an update for it, so nothing is deleted."""
    left_alone = ""
    if isinstance(base, Side):
        kinds = {"clusters": base.documents.clusters, "models": base.documents.deployments}
        left_alone = "".join(f"; {kind}: {listing(sorted(names))}" for kind, names in kinds.items() if names)
    return Problem(
        f"stack {name} is gone from the project, and that deletes nothing: no update runs for it any more, "
        f"so what the last one left runs on{left_alone}",
        f"Where it should end, run `pulumi destroy --stack {name}` and then `pulumi stack rm {name}` in a "
        "checkout of the base, whose settings both need; where that was done, or somebody else keeps it, "
        "nothing is left to do",
        severity="warning",
    )


def _nothing(stack: str, today: date) -> Side:
    """Return the side of a stack that is not there."""
    documents, lock = Documents(Settings(stack=stack)), Lock(stack=stack)
    return Side(documents, lock, Desired(stack, (), Plan(lock=lock), frozenset(), ()), day=today)


def _compared(name: str, base: Side | None, head: Side) -> StackDigest:
    """Return the digest of a stack that is planned on both sides, or is new where there is no `base`."""
    update = update_of(base or _nothing(name, head.day), head)
    touched = resources(update)
    in_place = updates_in_place(update)
    plan = update.desired.plan
    bill_before = bill(update.base.documents, update.lock.placements, update.base.desired.plan.demands)
    bill_after = bill(update.documents, plan.lock.placements, plan.demands)
    resumed = resumptions(update)
    digest_problems = (
        *unknown_price_problems(bill_before, bill_after),
        *_tuning_problems(update),
        *_weights_problems(update),
        *resumption_problems(resumed),
    )
    problems = (*update.after, *head.documents.located(digest_problems))
    identities = {_identity(problem) for problem in problems}
    gone = [problem for problem in update.before if _identity(problem) not in identities]
    missing = _missing(update)
    digest = StackDigest(
        name,
        "unchanged",
        models=models(update),
        resumptions=resumed,
        missing=tuple(replicas for replicas, _ in missing),
        drains=drains(update),
        services=routes(update),
        doors=doors(update),
        clusters=cluster_changes(update, in_place),
        pools=pool_changes(update, in_place),
        uses=uses(bill_before, bill_after),
        costs=costs(bill_before, bill_after),
        unpriced=(bill_before.unpriced, bill_after.unpriced),
        quotas=quotas(update),
        reservations=reservations(update),
        plugins=plugins(update),
        waivers=waiver_changes(update),
        resources=touched,
        problems=listed_problems(problems, update.before, missing=[problem for _, problem in missing]),
        gone=listed_problems(gone, update.before),
    )
    digest = replace(digest, written=document_changes(update, digest, is_new=base is None))
    return replace(digest, state=_state(digest, base))


def _tuning_problems(update: Update) -> Iterator[Problem]:
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


def _weights_problems(update: Update) -> Iterator[Problem]:
    """Yield a notice for each deployment that loads weights on a cluster where it did not load these before.

    Whether they are there only clusters know.
    """
    before = _loaded(update.base.documents, update.base.desired.plan)
    after = _loaded(update.head.documents, update.desired.plan)
    for deployment, cluster, cache, _ in sorted(after - before):
        size = update.head.documents.caches[cache].spec.size
        yield Problem(
            f"{deployment} loads weights of ModelCache {cache} ({size}) on cluster {cluster} for the first "
            "time: an update fetches them, and where replicas of it run already, these change in an update "
            "after that",
            "Nothing has to be done, but for `pulumi up` once they are there",
            "spec.engine.model.cache",
            kind="ModelDeployment",
            key=deployment,
            severity="notice",
        )


def _content(documents: Documents, cache: ModelCache, cluster: str) -> str:
    return filling_name(cache_on(documents, cache, cluster))


def _loaded(documents: Documents, plan: Plan) -> set[tuple[str, str, str, str]]:
    """Return which deployment loads on which cluster from which cache, and what that holds."""
    return {
        (
            placement.spot.deployment,
            placement.spot.cluster,
            cache.metadata.key,
            _content(documents, cache, placement.spot.cluster),
        )
        for placement in plan.placements
        for cache in caches_of(documents, placement.spot.deployment)
        if cache.spec.filled_here
    }


def _missing(update: Update) -> list[tuple[MissingReplicas, Problem]]:
    """Return the replicas without a place that the base does not lack, each with its problem."""
    documents, plan = update.head.documents, update.desired.plan
    before = {unplaced.deployment: unplaced.replicas for unplaced in update.base.desired.plan.unplaced}
    missing = []
    for unplaced in plan.unplaced:
        if before.get(unplaced.deployment) == unplaced.replicas:
            continue
        problem = unplaced_problem(unplaced, plan, documents)
        replicas = MissingReplicas(
            unplaced.deployment,
            unplaced.replicas,
            unplaced.running,
            stops_update(documents, unplaced),
            f"{problem.what}. {problem.next_step}",
        )
        missing.append((replicas, problem))
    return missing


def _state(digest: StackDigest, base: Side | None) -> StackState:
    if any(problem.severity == "error" for problem in digest.problems):
        return "refused"
    if base is None:
        return "added"
    same = StackDigest(digest.stack, digest.state, unpriced=digest.unpriced, problems=digest.problems)
    return (
        "unchanged" if digest == same and not any(problem.new for problem in digest.problems) else "changed"
    )


def listed_problems(
    problems: Iterable[Problem], of_base: Iterable[Problem], *, missing: Iterable[Problem] = ()
) -> tuple[ListedProblem, ...]:
    """Return the problems in the order of files and lines, those of a kind as one; new are those that the
    base does not have, which are joined with each other alone. `missing` are those of replicas without a
    place.
    """
    old, about_missing = set(map(_identity, of_base)), {_identity(problem)[1:] for problem in missing}
    groups: dict[tuple[bool, bool], list[Problem]] = {}
    for problem in in_reading_order(problems):
        identity = _identity(problem)
        groups.setdefault((identity not in old, identity[1:] in about_missing), []).append(problem)
    groups_of = {problem: group for group, alike in groups.items() for problem in joined(alike)}
    order: Mapping[str, int] = {"error": 0, "warning": 1, "notice": 2}
    every = sorted(in_reading_order(groups_of), key=lambda problem: order[problem.severity])
    return tuple(_listed(problem, *groups_of[problem]) for problem in every)


def _listed(problem: Problem, new: bool, missing: bool) -> ListedProblem:
    where = problem.where
    return ListedProblem(
        problem.severity,
        problem.what,
        problem.next_step,
        file=where.file if where and where.line else "",
        line=where.line if where else 0,
        path=problem.path,
        new=new,
        catalogue="" if where is None or where.line else where.file.removeprefix(PACKAGED),
        missing=missing,
    )


def _identity(problem: Problem) -> tuple[str, ...]:
    """Return what makes two problems the same on different lines, the severity first."""
    return problem.severity, problem.kind, problem.key, problem.path, problem.what


# Read for people alone.
_PROSE = (".md", ".rst")
# Documents and locks.
_READ = (".yaml", ".yml", ".lock")
_PROGRAMS = (".py", ".pyc", ".pth", ".so", ".sh", ".mk", ".zip", ".egg", ".pyz", ".gz")
_PACKAGES = (".whl", ".toml", ".cfg", ".lock", ".txt")
# Locks of Fleets and stacks are no packages.
_LOCKS = ("placement.lock", "capacity.lock")
_FILES = ("makefile", "gnumakefile", "dockerfile", "jenkinsfile", "pipfile", "package.json")
# Pulumi reads the JSON before the YAML.
_ENTRIES = ("Pulumi.json", "Pulumi.yaml", "Pulumi.yml", "__main__.py", "requirements.txt", "pyproject.toml")


def file_changes(
    differing: Iterable[Difference], prefix: str, *, read: Collection[str], unknown: bool = False
) -> tuple[tuple[FileChange, ...], int]:
    """Return the files that a digest names, what weighs most first, and the number of the others.

    `prefix` is the folder of the project. Of documents, settings and locks that were `read` the digest has
    the content; where it is `unknown` which ones are, as of stacks with errors, none that may be is named.
    """
    files, uncounted = [], 0
    for difference in differing:
        inside = difference.path.startswith(prefix)
        path = difference.path.removeprefix(prefix) if inside else f"/{difference.path}"
        if not difference.submodule and _is_left_out(path, difference, read, unknown=unknown):
            continue
        if kind := _file_kind(path, difference):
            files.append(FileChange(path, kind, difference.change))
        else:
            uncounted += 1
    return tuple(sorted(files, key=_weight)), uncounted


def _is_left_out(path: str, difference: Difference, read: Collection[str], *, unknown: bool) -> bool:
    """Whether the content of a file is in the digest, or for people alone."""
    if path.endswith(_PROSE) and not difference.program:
        return True
    top = path.partition("/")[0]
    if top == "policies":
        return False
    return path in read or (unknown and top in ("classes", "stacks") and path.endswith(_READ))


def _file_kind(path: str, difference: Difference) -> FileKind | None:
    parts = PurePosixPath(path).parts
    name = parts[-1]
    if difference.submodule:
        return "submodule"
    if path.startswith("/"):
        return "workflow" if parts[1].startswith(".") else None
    if any(part.startswith(".") for part in parts):
        return "workflow"
    if len(parts) > 1 and parts[0] == "plugins":
        return "plugin"
    if len(parts) > 1 and parts[0] == "policies":
        return "policy"
    if len(parts) > 1 and parts[0] in ("classes", "stacks"):
        return "stack"
    if name in _LOCKS:
        return None
    if name.startswith(("requirements", "constraints")) or name.endswith(_PACKAGES):
        return "packages"
    is_program = name.endswith(_PROGRAMS) or name.lower() in _FILES or name.startswith("Pulumi")
    return "program" if difference.program or is_program else None


def _weight(file: FileChange) -> tuple[int, bool, int, str]:
    """By kind; the files that an update begins with come first, then those that are nearest to them."""
    order = get_args(FileKind).index(file.kind)
    return order, file.path not in _ENTRIES, file.path.count("/"), file.path
