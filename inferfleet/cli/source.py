"""What a verb works on: a stack, or documents by path; and what it takes from the environment."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferfleet.cloud.provider import made_with
from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.loading.edits import Edit
from inferfleet.documents.loading.files import files_of
from inferfleet.documents.loading.from_program import FromProgram
from inferfleet.documents.loading.load import load
from inferfleet.documents.loading.project import (
    CATALOGUE,
    StackFiles,
    catalogue_of,
    files_of_fleet,
    files_of_stack,
    find_root,
    read_capacity,
    read_lock,
    stacks_of,
)
from inferfleet.documents.loading.settings import in_ci
from inferfleet.documents.loading.stack import load_files
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import listing, one_line, shown
from inferfleet.fleet.lock.capacity import observation_problems
from inferfleet.fleet.lock.capacity import parse as parse_capacity
from inferfleet.fleet.lock.lock import Lock, LockedCluster, lock_problems, parse
from inferfleet.plugins.loading import outside_allowed, registered
from inferfleet.review.policy.enforcement import policy_problems

if TYPE_CHECKING:
    from pydantic import SecretStr

    from inferfleet.clusters.connections.google import Addresses

_EXISTING = ("spec", "cluster", "existing")
# The environment variable with a key of the engines, for `chat`.
API_KEY = "INFERFLEET_API_KEY"

Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Files and folders of documents, instead of a stack. They have no lock.", show_default=False
    ),
]
StackName = Annotated[
    str | None,
    typer.Option("--stack", "-s", help="Work on this stack. Default: the only one.", show_default=False),
]
FleetFolder = Annotated[
    Path | None,
    typer.Option(
        "--documents",
        help="Work on the Fleet of this folder, in a program of the Pulumi stack that --stack names.",
        show_default=False,
    ),
]
FleetName = Annotated[
    str | None,
    typer.Option(
        "--fleet",
        help="Name of that Fleet in its program. Default: that in its lock, or that of the stack.",
        show_default=False,
    ),
]
FleetLock = Annotated[
    Path | None,
    typer.Option(
        "--lock", help="Lock of that Fleet. Default: placement.lock in its folder.", show_default=False
    ),
]
ByFile = Annotated[
    list[str] | None,
    typer.Option(
        "--kubeconfig",
        help="Reach an existing cluster by the kubeconfig in this file: CLUSTER=FILE, whatever its document "
        "says. Repeat it for more.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@dataclass(frozen=True)
class FleetPlace:
    """A Fleet in the program of a Pulumi stack; paths are relative to its project."""

    root: Path
    stack: str
    folder: str
    name: str | None = None
    lock: str | None = None

    def files(self, root: Path) -> StackFiles:
        """Return its files in a project, which may be an earlier version. Raises InvalidDocuments."""
        lock = root / self.lock if self.lock else None
        files = files_of_fleet(self.stack, folder=root / self.folder, lock=lock)
        # An earlier version may have had another name, which its lock says.
        if self.name is None or (root != self.root and read_lock(files, files.lock_file.name) is not None):
            return files
        return files_of_fleet(self.stack, self.name, folder=root / self.folder, lock=lock)

    @property
    def read(self) -> tuple[str, ...]:
        """Return the files and folders that it reads besides those of all stacks."""
        settings = self.files(self.root).config_file.relative_to(self.root)
        return (self.folder, settings.as_posix(), *([self.lock] if self.lock else []))


def fleet_place(
    folder: Path | None, stack: str | None, name: str | None, lock: Path | None
) -> FleetPlace | None:
    """Return the Fleet that options name, or None for none. Raises click's UsageError for half of one."""
    if folder is None:
        if name is not None or lock is not None:
            given = "--lock" if name is None else "--fleet"
            raise typer.BadParameter("name the folder of the Fleet too: --documents", param_hint=given)
        return None
    if stack is None:
        what = "name the Pulumi stack whose program has the Fleet: --stack"
        raise typer.BadParameter(what, param_hint="--documents")
    root = find_root(folder)
    if lock is not None and not lock.absolute().is_relative_to(root):
        raise typer.BadParameter(f"it is outside of the project {root}", param_hint="--lock")
    return FleetPlace(
        root,
        stack,
        folder.absolute().relative_to(root).as_posix(),
        name,
        lock.absolute().relative_to(root).as_posix() if lock else None,
    )


def edits_by_file(options: Sequence[str] | None) -> tuple[Edit, ...]:
    """Return the edits by which clusters are reached by files. Raises click's UsageError for other texts."""
    edits = []
    for option in options or ():
        cluster, _, file = option.partition("=")
        if not (cluster and file):
            raise typer.BadParameter(f"{shown(option)!r} is not CLUSTER=FILE", param_hint="--kubeconfig")
        path = str(Path(file).expanduser().absolute())
        step = "Remove it: a cluster of source GKE is reached by what Google says"
        edits.append(
            Edit(
                "InferenceCluster",
                cluster,
                (*_EXISTING, "kubeconfig"),
                {"path": path},
                f"--kubeconfig {option}",
                ((_EXISTING, step),),
            )
        )
    return tuple(edits)


@dataclass(frozen=True)
class Source:
    """Documents and their lock. `files` is None for documents named by path, which have an empty lock.

    `notices` are those of the documents, and doubts about the lock. Waivers of policies hold `today` or
    have ended.
    """

    documents: Documents
    lock: Lock
    files: StackFiles | None
    notices: tuple[Problem, ...] = ()
    today: date = field(default_factory=date.today)

    @property
    def root(self) -> Path:
        """Return the folder of the stack's files; that of the command for documents named by path."""
        return self.files.root if self.files else Path.cwd()

    def policy_problems(self, desired: Desired) -> tuple[Problem, ...]:
        """Return what breaks the policies of the stack, as of today."""
        return policy_problems(self.documents, self.lock, desired, today=self.today)

    def desired(self) -> Desired:
        """Return everything that should exist. Raises InvalidDocuments."""
        root = self.files.root if self.files else None
        with registered(self.documents, root, outside=outside_plugins()) as registry:
            return desired(self.documents, self.lock, registry=registry)


def source_of_options(
    folder: Path | None,
    stack: str | None,
    name: str | None,
    lock: Path | None,
    *,
    paths: Sequence[Path] | None = None,
    kubeconfig: Sequence[str] | None = None,
) -> Source:
    """Return what the options of a verb name, with clusters reached by the files of `kubeconfig`.

    Raises as `read_source` does, and click's UsageError for options that contradict each other.
    """
    place = fleet_place(folder, stack, name, lock)
    return read_source(paths, stack, fleet=place, edits=edits_by_file(kubeconfig))


def read_source(
    paths: Sequence[Path] | None,
    stack: str | None,
    *,
    fleet: FleetPlace | None = None,
    edits: tuple[Edit, ...] = (),
    given: tuple[Edit, ...] = (),
) -> Source:
    """Return the documents at the paths, or of a stack or Fleet with its lock, as the `edits` make them.

    `given` has what the program of a Fleet hands over and its lock does not know yet. Raises
    InvalidDocuments with every problem, and click's UsageError when it is unclear what is meant.
    """
    if paths:
        if fleet is not None:
            raise typer.BadParameter("name a Fleet or paths, not both", param_hint="--documents")
        if stack is not None:
            raise typer.BadParameter("name a stack or paths, not both", param_hint="--stack")
        return _source_of_paths(paths, edits)
    root = find_root(Path.cwd())
    if fleet is not None:
        return stack_source(fleet.root, fleet, base=Path.cwd(), edits=edits, given=given)
    name = stack if stack is not None else only_stack(root)
    return stack_source(root, name, base=Path.cwd(), edits=edits)


def stack_source(
    root: Path,
    stack: str | FleetPlace,
    *,
    base: Path,
    edits: tuple[Edit, ...] = (),
    given: tuple[Edit, ...] = (),
) -> Source:
    """Return the documents of a stack or Fleet of a project, as the `edits` make them, with its lock.

    Messages name files below `base` relative to it. Raises InvalidDocuments with every problem.
    """
    if isinstance(stack, str):
        documents, files = load_files(files_of_stack(root, stack), base=base, edits=edits)
    else:
        files = stack.files(root)
        from_program = FromProgram(_made_with(files, base), files.fleet_options, given)
        documents, files = load_files(files, base=base, edits=edits, from_program=from_program)
    file = shown_path(files.lock_file, base)
    text = read_lock(files, file)
    lock = parse(text, file=file, stack=files.stack, options=documents.fleet)
    warnings = lock_problems(documents, lock, file=file, exists=text is not None)
    file = shown_path(files.capacity_file, base)
    seen = parse_capacity(read_capacity(files, file), file=file, stack=files.stack)
    today = date.today()
    notices = (
        *documents.notices,
        *warnings,
        *observation_problems(documents, seen, today=today),
    )
    return Source(documents, replace(lock, seen=seen), files, notices, today)


def _made_with(files: StackFiles, base: Path) -> Callable[[str, str], str | None]:
    """Return what says with what clusters were made. The lock is read where something is asked of it."""

    @cache
    def locked() -> Mapping[str, LockedCluster]:
        file = shown_path(files.lock_file, base)
        return parse(
            read_lock(files, file), file=file, stack=files.stack, options=files.fleet_options
        ).clusters

    return lambda cluster, path: made_with(locked(), cluster, path)


def _source_of_paths(paths: Sequence[Path], edits: tuple[Edit, ...]) -> Source:
    empty = [
        Problem(f"folder {path} holds no YAML files", "Name a folder of documents, or single files")
        for path in paths
        if path.is_dir() and not files_of([path])[0]
    ]
    if empty:
        raise InvalidDocuments(empty)
    documents = load(paths, catalogue=catalogue(), edits=edits)
    return Source(documents, Lock(stack=documents.settings.stack), None, documents.notices)


def only_stack(root: Path) -> str:
    """Return the stack that is meant when none is named."""
    stacks = stacks_of(root)
    if len(stacks) == 1:
        return stacks[0]
    what = f"there are several stacks: {listing(stacks)}" if stacks else f"there is no stack in {root}/stacks"
    raise typer.BadParameter(one_line(f"{what}. Name one, or paths of documents"), param_hint="--stack")


def outside_plugins() -> bool:
    """Return whether plugins of others may run, as `outside_allowed` reads the environment."""
    return outside_allowed(os.environ)


def locks_by_default() -> bool:
    """Return whether an update here is locked where the stack does not say it, as `pulumi up` reads it."""
    return in_ci(os.environ)


def catalogue() -> Path:
    """Return the folder of the project's classes, outside of a project of those that come with inferfleet."""
    try:
        return catalogue_of(find_root(Path.cwd()))
    except InvalidDocuments:
        return CATALOGUE


def shown_path(file: Path, base: Path | None = None) -> str:
    """Return the file as messages name it: relative to `base`, or to the working directory, where it is
    below it.
    """
    below = base or Path.cwd()
    return str(file.relative_to(below)) if file.is_relative_to(below) else str(file)


def api_key() -> "SecretStr | None":
    """Return the key of the engines that is in the environment; None where there is none."""
    from pydantic import SecretStr

    return SecretStr(key) if (key := os.environ.get(API_KEY)) else None


def google() -> "Addresses":
    """Return the addresses of Google's APIs, overridden by the environment as for `gcloud`."""
    # Verbs that ask nobody do without the credentials and threads that this module imports.
    from inferfleet.clusters.connections.google import addresses

    return addresses(os.environ)


def container_api() -> str:
    """Return the address of Google's Container API."""
    return google().container
