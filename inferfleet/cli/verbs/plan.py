"""`inferfleet plan`: what runs where, what would move, what has no place."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from inferfleet.cli.exit_codes import ExitCode
from inferfleet.cli.output import print_line
from inferfleet.cli.report import Report, reporting
from inferfleet.cli.show.plan import (
    WITHOUT_BASE,
    as_values,
    exposed_values,
    loss_values,
    rolling_values,
    show,
    show_exposed,
    show_losses,
    show_rolling,
)
from inferfleet.cli.source import (
    AsJson,
    ByFile,
    FleetFolder,
    FleetLock,
    FleetName,
    FleetPlace,
    Paths,
    Source,
    StackName,
    container_api,
    edits_by_file,
    fleet_place,
    google,
    read_source,
    shown_path,
)
from inferfleet.desired.gate import announced_problems, blocking_problems
from inferfleet.desired.values import Desired
from inferfleet.documents.loading.edits import Edit, parse_edit
from inferfleet.documents.loading.files import write_text
from inferfleet.documents.loading.from_program import is_handed_over
from inferfleet.documents.loading.load import KINDS, NAMESPACED
from inferfleet.documents.loading.project import files_of_stack, find_root, read_lock
from inferfleet.documents.problems import Problem, of_severity
from inferfleet.documents.wording import listing, one_line, one_of, shown
from inferfleet.fleet.advice.exposure import exposures, one_picker
from inferfleet.fleet.lock.lock import Lock, matches
from inferfleet.fleet.lock.lock import text as lock_text
from inferfleet.fleet.whatif import KINDS as LOSSES
from inferfleet.fleet.whatif import Loss
from inferfleet.fleet.whatif import n_minus_one as after_each_loss
from inferfleet.fleet.whatif import without as without_losses

Write = Annotated[bool, typer.Option("--write", help="Write placement.lock.")]
Locked = Annotated[bool, typer.Option("--locked", help="Fail when placement.lock does not match.")]
Yield = Annotated[
    list[str] | None,
    typer.Option(
        "--yield",
        help="Let replicas of this deployment (NAMESPACE/NAME) leave pools that do not hold what "
        "placement.lock has on them; all others stay. Repeat it for more.",
        show_default=False,
    ),
]
FromClusters = Annotated[
    bool,
    typer.Option(
        "--from-clusters",
        help="Ask the clusters what runs, in place of placement.lock. Use it when the file was lost.",
    ),
]
Base = Annotated[
    str | None,
    typer.Option(
        "--base",
        help="Say which pods and endpoint pickers roll since this commit, and what is another in them: a "
        "branch, a tag, or a hash.",
        show_default=False,
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        help="Plan as if this were lost: cluster=NAME, pool=CLUSTER/NAME or reservation=NAME (PROJECT/NAME "
        "where two projects have one of that name). Repeat it for more.",
        show_default=False,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Plan as if a document had another value: KIND/NAME.PATH=VALUE, such as "
        "ModelDeployment/ml/qwen.spec.replicas=4. Brackets name entries of lists and keys of maps; null "
        "removes a field. Repeat it for more.",
        show_default=False,
    ),
]
NMinusOne = Annotated[
    bool,
    typer.Option(
        "--n-minus-one",
        help="Say which models lose replicas or all service with each cluster, pool and reservation, and "
        "the cheapest repair.",
    ),
]


def plan(
    paths: Paths = None,
    stack: StackName = None,
    folder: FleetFolder = None,
    fleet: FleetName = None,
    lock_file: FleetLock = None,
    write: Write = False,
    locked: Locked = False,
    from_clusters: FromClusters = False,
    kubeconfig: ByFile = None,
    yield_: Yield = None,
    without: Without = None,
    set_: Set = None,
    n_minus_one: NMinusOne = False,
    base: Base = None,
    as_json: AsJson = False,
) -> None:
    """Show placements, what moves against placement.lock, and replicas without a place, with reasons.

    With --write the lock is updated, and the UIDs of existing clusters that answer are recorded. With
    --yield replicas of the deployments that it names leave pools that do not hold what the lock has on them.
    With --base it has the pods and endpoint pickers that roll, of which placement.lock knows nothing.

    With --from-clusters labels of the workloads that run say what placement.lock would, which is not read;
    all clusters must answer, and with --write besides the file is as it was before it was lost.

    With --without and --set the plan is that of a fleet that lost something, and of other documents; files
    stay as they are. With --n-minus-one each loss is planned from what the plan has placed.

    Of a Fleet --set also says projects and networks that its program hands over and its lock does not know
    yet: with --write, --locked and --from-clusters these alone.
    """
    lost, edits = _losses(without or ()), _edits(set_ or ())
    given: tuple[Edit, ...] = ()
    if folder is not None and (write or locked or from_clusters):
        # They say what is, so the lock may be written by them.
        given = tuple(edit for edit in edits if is_handed_over(edit))
        edits = tuple(edit for edit in edits if edit not in given)
    with reporting(as_json=as_json) as report:
        _check_options(named_by_path=bool(paths), write=write, locked=locked, yielding=bool(yield_))
        _check_questions(
            named_by_path=bool(paths),
            write=write,
            locked=locked,
            yielding=bool(yield_),
            from_clusters=from_clusters,
            edited=bool(lost or edits),
            n_minus_one=n_minus_one,
            since_base=base is not None,
        )
        place = fleet_place(folder, stack, fleet, lock_file)
        edits_of_files = (*edits, *edits_by_file(kubeconfig))
        source = read_source(paths, stack, fleet=place, edits=edits_of_files, given=given)
        if write and place and place.name is None and not _is_named(source):
            what = "there is no lock yet that says the name of the Fleet: say it"
            raise typer.BadParameter(what, param_hint="--fleet")
        if from_clusters:
            source = _from_clusters(source, report)
        source = _yielding(_as_if(source, lost), yield_ or ())
        documents, lock = source.documents, source.lock
        report.documents = documents
        report.problems += source.notices
        desired = source.desired()
        exposed = (
            exposures(documents, desired.plan.placements),
            one_picker(documents, desired.plan.placements),
        )
        if as_json:
            report.values |= as_values(desired) | exposed_values(*exposed)
        if lost or edits:
            report.values["asIf"] = {
                "without": [{"kind": loss.kind, "name": loss.name} for loss in lost],
                "set": [edit.written for edit in edits],
            }
        after_losses = tuple(after_each_loss(documents, lock, desired.plan)) if n_minus_one else ()
        if n_minus_one:
            report.values["nMinusOne"] = [loss_values(outcome, desired.doors) for outcome in after_losses]
        report.values["lock"] = source.files and {
            "file": shown_path(source.files.lock_file),
            "matches": matches(lock, desired.plan.lock),
            "written": False,
        }
        if not as_json:
            for change in (*(f"{loss} were lost" for loss in lost), *(edit.written for edit in edits)):
                print_line(f"as if {change}")
            show(desired, remembered=source.files is not None)
            show_exposed(*exposed)
            if n_minus_one:
                show_losses(after_losses, desired.doors)
        if base is not None:
            _roll_since(base, source, place, report, as_json=as_json)
        can_run = _add_problems(source, desired, report, locked=locked)
        if write and can_run:
            _write(source, desired, report, as_json=as_json)


def _is_named(source: Source) -> bool:
    """Return whether a Fleet has a lock, which says its name."""
    return source.files is not None and read_lock(source.files, source.files.lock_file.name) is not None


def _add_problems(source: Source, desired: Desired, report: Report, *, locked: bool) -> bool:
    """Report what is wrong with the plan, and set the exit code by it. Return whether an update would run,
    but for a lock that does not match.
    """
    documents, lock = source.documents, source.lock
    report.problems += announced_problems(desired, documents, lock, locked=False, preview=False)
    unplaced = blocking_problems(desired, documents, lock, locked=False, preview=False)
    policy_problems = source.policy_problems(desired)
    broken = of_severity(policy_problems, "error")
    report.problems += [*unplaced, *policy_problems]
    if unplaced or broken:
        report.code = ExitCode.PROBLEMS if broken else ExitCode.UNPLACED
    if locked:
        blocking = blocking_problems(desired, documents, lock, locked=True, preview=False)
        mismatch = [problem for problem in blocking if problem not in unplaced]
        if mismatch:
            report.problems += mismatch
            report.code = ExitCode.LOCK_DIFFERS
    return not unplaced and not broken


def _from_clusters(source: Source, report: Report) -> Source:
    """Return the stack with the lock that follows from what runs. Raises InvalidDocuments."""
    # They import a client for clusters, which a plan from a file does without.
    from inferfleet.clusters.connections.pulumi_command import Pulumi
    from inferfleet.recovery.placement_lock import lock_from_clusters, with_created
    from inferfleet.recovery.survey import SECONDS, kubeconfigs_of

    report.documents = documents = source.documents
    stack = documents.settings.stack
    # By a lock of nothing, because only connections count.
    desired = replace(source, lock=Lock(stack=stack)).desired()
    connections = [cluster.connection for cluster in desired.clusters]
    trusted = documents.settings.trust_repository_kubeconfigs
    files = source.files or files_of_stack(find_root(Path.cwd()), stack)
    kubeconfigs = kubeconfigs_of(Pulumi(files.root, files.pulumi_stack), files, connections, trusted=trusted)
    lock = lock_from_clusters(documents, desired, kubeconfigs, google=google(), seconds=SECONDS)
    lock = replace(lock, seen=source.lock.seen)
    by_lock = replace(source, lock=lock).desired()
    lock, differences = with_created(lock, documents, by_lock, google=google(), seconds=SECONDS)
    report.problems += differences
    return replace(source, lock=lock, notices=documents.notices)


def _yielding(source: Source, deployments: Sequence[str]) -> Source:
    """Return the stack in which the named deployments yield. Raises click's UsageError for unknown ones."""
    for name in deployments:
        if name not in source.documents.deployments:
            step = one_of(name, source.documents.deployments, "There are")
            what = one_line(f"there is no deployment {shown(name)!r}. {step}")
            raise typer.BadParameter(what, param_hint="--yield")
    return replace(source, lock=replace(source.lock, yielding=frozenset(deployments)))


def _roll_since(
    base: str, source: Source, fleet: FleetPlace | None, report: Report, *, as_json: bool
) -> None:
    """Print what rolls since a commit. Doubts about the commit are notices."""
    # It imports all that digests say, which a plan without a commit does without.
    from inferfleet.cli.sides import compared

    root, stack = fleet.root if fleet else find_root(Path.cwd()), source.documents.settings.stack
    _, base_side, differences = compared(root, fleet or stack, base)
    report.problems += base_side.notices
    report.values["since"] = rolling_values(differences, base_side.commit)
    if differences.state in WITHOUT_BASE:
        errors = differences.state == "not compared"
        why = f"has errors in {base}" if errors else f"is not in {base}"
        step = f"`inferfleet digest --base {base}` names them; choose another commit"
        problem = Problem(
            f"stack {stack} {why}, so nobody knows which pods roll since then",
            step if errors else "Choose a commit that has it in this folder",
            severity="notice",
        )
        report.problems.append(problem)
    elif not as_json:
        show_rolling(differences, base_side.commit)


def _check_options(*, named_by_path: bool, write: bool, locked: bool, yielding: bool) -> None:
    """Raise click's UsageError for uses of the lock that contradict each other, or that have no lock."""
    if yielding and locked:
        raise typer.BadParameter("--yield and --locked contradict each other", param_hint="--yield")
    if write and locked:
        raise typer.BadParameter("--write and --locked contradict each other", param_hint="--write")
    if named_by_path and (write or locked or yielding):
        raise typer.BadParameter(
            "documents named by path have no placement.lock; name a --stack",
            param_hint="--write" if write else "--locked" if locked else "--yield",
        )


def _check_questions(
    *,
    named_by_path: bool,
    write: bool,
    locked: bool,
    yielding: bool,
    from_clusters: bool,
    edited: bool,
    n_minus_one: bool,
    since_base: bool,
) -> None:
    """Raise click's UsageError for questions about the plan with which other options make no sense.

    `edited`: the plan is one of a fleet that lost something, or of other documents.
    """
    if (edited or n_minus_one) and (write or locked):
        what = "--without, --set and --n-minus-one ask what would be"
        raise typer.BadParameter(what, param_hint="--write" if write else "--locked")
    if since_base and (named_by_path or edited or n_minus_one or yielding):
        options = "--without, --set, --n-minus-one and --yield"
        given = "paths of documents" if named_by_path else options
        what = f"an update from a commit to the stack as it is written is planned, and not to {given}"
        raise typer.BadParameter(what, param_hint="--base")
    if from_clusters and (named_by_path or locked or edited or since_base):
        what = "what runs takes the place of placement.lock, of a stack and its documents as they are"
        raise typer.BadParameter(what, param_hint="--from-clusters")


def _write(source: Source, desired: Desired, report: Report, *, as_json: bool) -> None:
    """Write placement.lock with the UIDs of clusters that answer, where that changes it, and report it."""
    if source.files is None:
        return
    # It imports a client for clusters, which a plan that writes nothing does without.
    from inferfleet.clusters.connections.git import Repository
    from inferfleet.run import with_reachable_uids

    trusted = source.documents.settings.trust_repository_kubeconfigs
    repository = Repository(source.files.root, trusted)
    new, problems = with_reachable_uids(desired, source.lock, repository, container_api=container_api())
    report.problems += problems
    file = source.files.lock_file
    changed = lock_text(new) != read_lock(source.files, shown_path(file))
    if changed:
        write_text(file, lock_text(new))
    report.values["lock"] |= {"matches": True, "written": changed}
    if not as_json:
        print_line()
        print_line(f"{shown_path(file)} {'written' if changed else 'is as it should be'}")


def _losses(options: Iterable[str]) -> tuple[Loss, ...]:
    """Return what is lost. Raises click's UsageError for what cannot be read."""
    return tuple(_loss(text) for text in options)


def _edits(options: Iterable[str]) -> tuple[Edit, ...]:
    """Return the edits of documents. Raises click's UsageError for what cannot be read."""
    edits = []
    for text in options:
        edit = parse_edit(text, KINDS, NAMESPACED)
        if isinstance(edit, Problem):
            raise typer.BadParameter(one_line(f"{edit.what}. {edit.next_step}"), param_hint="--set")
        edits.append(edit)
    return tuple(edits)


def _as_if(source: Source, lost: tuple[Loss, ...]) -> Source:
    """Return the stack without what is lost. Raises InvalidDocuments for what there is not."""
    if not lost:
        return source
    documents, lock = without_losses(source.documents, source.lock, lost)
    return replace(source, documents=documents, lock=lock)


def _loss(option: str) -> Loss:
    """Return what a text such as `cluster=NAME` says is lost. Raises click's UsageError for another text."""
    kind, equals, name = option.partition("=")
    for kind_of_loss in LOSSES:
        if kind == kind_of_loss and equals and name:
            return Loss(kind_of_loss, name)
    if kind in LOSSES and equals:
        raise typer.BadParameter(f"{shown(option)!r} has no name: {kind}=...", param_hint="--without")
    forms = listing([f"{kind_of_loss}=..." for kind_of_loss in LOSSES])
    raise typer.BadParameter(f"{shown(option)!r} is none of {forms}", param_hint="--without")
