"""A project as it was in a commit: git is asked for its files, which are laid down in a new folder.

Nothing is fetched, checked out or changed. Those files of the project are taken that inferfleet reads:
documents and settings, locks, classes and plugins. The folder is gone when the block ends.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from inferfleet.clusters.connections.git import Clone, clone_of, error_line, git_error
from inferfleet.documents.loading.project import files_of_stack, stacks_of
from inferfleet.documents.loading.settings import read_config
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import shown

# More than any project has: 2,000 files of documents are read, and each of at most 5 MiB.
MOST_FILES, MOST_BYTES = 10_000, 200 * 1024 * 1024
_PROJECT_FILE = "Pulumi.yaml"
_FOLDERS = ("classes", "plugins", "policies", "stacks")
# Parts of paths that git itself refuses to check out.
_REFUSED_NAMES = frozenset({"", ".", "..", ".git"})
_LINK, _SUBMODULE, _FILES = "120000", "160000", ("100644", "100755")


@dataclass(frozen=True)
class Revision:
    """A project at a commit: its whole hash, the folder as it was, and where it is in the repository.

    `root` is an empty folder where the commit has no such project. `prefix` is "" for a project at the top of
    its repository, else its path with a slash at the end. `notices` say what makes the comparison doubtful.

    `head` is the commit of HEAD, "" where there is none yet, and `merges` the one that HEAD merges into this
    commit, as hosts check out what somebody proposes, "" for no such merge. `uncommitted`: tracked files of
    the project differ from HEAD, or files that inferfleet reads are new.
    """

    clone: Clone
    commit: str
    root: Path
    prefix: str
    exists: bool
    head: str
    merges: str
    uncommitted: bool
    notices: tuple[Problem, ...] = ()


@contextmanager
def revision(project: Path, ref: str, *, also: Sequence[str] = ()) -> Iterator[Revision]:
    """Give the project as it was in the commit that `ref` names.

    Files and folders in `also`, relative to the project, are read besides.

    Raises InvalidDocuments where there is no git, no repository, or no such commit.
    """
    clone = clone_of(project)
    commit = _commit(clone, ref)
    prefix = _prefix(project, clone.top)
    every = _entries(clone, commit, prefix)
    with tempfile.TemporaryDirectory(prefix="inferfleet-") as folder:
        root = Path(folder)
        read = (_PROJECT_FILE, *_FOLDERS, *also)
        first = [entry for entry in every if _is_below(f"{entry.path}/", read)]
        _lay_down(clone, root, first, commit)
        elsewhere = tuple(_folders_of_documents(root))
        _lay_down(clone, root, [entry for entry in every if _is_below(entry.path, elsewhere)], commit)
        exists = any(entry.path == _PROJECT_FILE for entry in first)
        head, *parents = _head(clone)
        yield Revision(
            clone=clone,
            commit=commit,
            root=root,
            prefix=prefix,
            exists=exists,
            head=head,
            merges=parents[1] if len(parents) == 2 and parents[0] == commit else "",
            uncommitted=_uncommitted(clone, project, prefix, also),
            notices=(*_commit_problems(clone, ref, commit, exists=exists), *_submodule_problems(ref, every)),
        )


@dataclass(frozen=True)
class _Entry:
    """A file of the project in the commit: its path in the project, its mode and the hash of its content."""

    path: str
    mode: str
    blob: str
    size: int


def _commit(clone: Clone, ref: str) -> str:
    done = clone.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if done.returncode == 0:
        return done.stdout.decode().strip()
    what = f"--base {shown(ref)!r} names no commit in this clone"
    if clone.answer("rev-parse", "--is-shallow-repository") == "true":
        raise git_error(
            f"{what}, which is shallow",
            f"Fetch it first: git fetch --depth=1 origin {shown(ref)}, and name FETCH_HEAD; "
            "or clone with all history (fetch-depth: 0 of actions/checkout, GIT_DEPTH: 0 on GitLab)",
        )
    remote = f"origin/{ref}"
    if clone.answer("rev-parse", "--verify", "--quiet", "--end-of-options", f"{remote}^{{commit}}"):
        raise git_error(what, f"Did you mean {shown(remote)}?")
    raise git_error(what, "Name a branch, a tag or a commit of it, or fetch it first: git fetch origin")


def _head(clone: Clone) -> list[str]:
    """Return the commit that is checked out, and its parents. A file may have the name HEAD as well."""
    done = clone.ask("rev-list", "--parents", "--max-count=1", "HEAD", "--")
    if done.returncode:
        raise git_error(f"git cannot say which commit is checked out ({error_line(done)})", "Check one out")
    return done.stdout.decode().split()


def _prefix(project: Path, top: Path) -> str:
    inside = os.path.relpath(os.path.realpath(project), top)
    return "" if inside == "." else f"{Path(inside).as_posix()}/"


def _uncommitted(clone: Clone, project: Path, prefix: str, also: Sequence[str]) -> bool:
    """Whether tracked files of the project differ from HEAD, or some that inferfleet reads are new.

    What the user's own settings have git ignore is not asked for, so of other new files nothing is known.
    """
    if clone.differing("HEAD", *_inside(prefix, [""])):
        return True
    read = (_PROJECT_FILE, *_FOLDERS, *also, *_folders_of_documents(project))
    new = ("ls-files", "-z", "--others", "--exclude-standard", "--exclude=__pycache__", "--")
    return bool(clone.answer(*new, *_inside(prefix, read)))


def _inside(prefix: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the paths of the project as git wants them, from the top of the repository."""
    for name in names:
        path = f"{prefix}{name}"
        yield f":(top,literal){path}" if path else ":(top)"


def _commit_problems(clone: Clone, ref: str, commit: str, *, exists: bool) -> Iterator[Problem]:
    if not exists:
        yield Problem(
            f"the project is not there in {shown(ref)}, so everything in it is new",
            "Nothing has to be done where that is so; else name a commit that has it",
            severity="notice",
        )
    if clone.answer("rev-parse", "--is-shallow-repository") == "true":
        return  # Ancestors may be missing, so git would answer wrongly.
    if clone.ask("merge-base", "--is-ancestor", commit, "HEAD").returncode == 1:
        yield Problem(
            f"{shown(ref)} has commits that this version lacks, and what they changed is told as undone",
            f"Merge {shown(ref)} or rebase onto it, or name the commit that this version began from: "
            f'--base "$(git merge-base {shown(ref)} HEAD)"',
            severity="notice",
        )


def _submodule_problems(ref: str, entries: Iterable[_Entry]) -> Iterator[Problem]:
    """Yield a notice for each submodule among what inferfleet reads: another repository has its files."""
    for entry in entries:
        if entry.mode == _SUBMODULE and _is_below(f"{entry.path}/", _FOLDERS):
            yield Problem(
                f"{shown(entry.path)} is a submodule in {shown(ref)}, whose files are not read, so all that "
                "is there now is told as new",
                "Put these files into this repository, or compare them in that of the submodule",
                severity="notice",
            )


def _entries(clone: Clone, commit: str, prefix: str) -> list[_Entry]:
    """Return the project's files and submodules."""
    listed = clone.ask(
        "ls-tree", "-r", "-l", "-z", "--full-tree", commit, *(["--", prefix] if prefix else [])
    )
    if listed.returncode:
        what = f"git cannot list commit {commit[:12]} ({error_line(listed)})"
        raise git_error(what, "Check the repository: git fsck")
    entries = []
    for line in listed.stdout.split(b"\0"):
        head, _, name = line.partition(b"\t")
        if not name:
            continue
        mode, _, blob, size = head.decode().split()
        path = os.fsdecode(name).removeprefix(prefix)
        if mode in (_LINK, _SUBMODULE, *_FILES) and not _REFUSED_NAMES.intersection(path.split("/")):
            entries.append(_Entry(path, mode, blob, int(size) if size.isdecimal() else 0))
    return entries


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def _folders_of_documents(root: Path) -> Iterator[str]:
    """Yield the folders of documents that settings of stacks name, but for those that are there already."""
    if not (root / "stacks").is_dir():
        return
    for stack in stacks_of(root):
        folder = read_config(files_of_stack(root, stack).config_file, root, root).values.get("documents")
        if isinstance(folder, str) and not _is_below(f"{folder}/", _FOLDERS):
            yield os.path.normpath(folder)


def _lay_down(clone: Clone, root: Path, entries: Sequence[_Entry], commit: str) -> None:
    """Write the files, and symbolic links last, so that nothing is written through one."""
    if len(entries) > MOST_FILES or sum(entry.size for entry in entries) > MOST_BYTES:
        what = f"the project in commit {commit[:12]} has more than {MOST_FILES:,} files, or 200 MiB of them"
        raise git_error(
            what, "Take from its folders classes, plugins, policies and stacks what inferfleet does not read"
        )
    files = [entry for entry in entries if entry.mode in _FILES]
    links = [entry for entry in entries if entry.mode == _LINK]
    contents = _contents(clone, [entry.blob for entry in (*files, *links)])
    for entry, content in zip((*files, *links), contents, strict=True):
        path = root / entry.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == _LINK:
            if not os.path.lexists(path):
                path.symlink_to(os.fsdecode(content))
        else:
            path.write_bytes(content)


def _contents(clone: Clone, blobs: Sequence[str]) -> Iterator[bytes]:
    """Yield the content of each blob, asked for at once."""
    if not blobs:
        return
    done = clone.ask("cat-file", "--batch", given="".join(f"{blob}\n" for blob in blobs).encode())
    rest = done.stdout
    place = 0
    for blob in blobs:
        end = rest.find(b"\n", place)
        words = rest[place:end].split() if end >= 0 else []
        if len(words) != 3 or words[1] != b"blob":
            what = f"git does not have the content {blob[:12]} of a file in that commit"
            raise git_error(what, "Fetch it: git fetch --refetch origin, without a filter")
        size = int(words[2])
        yield rest[end + 1 : end + 1 + size]
        place = end + 1 + size + 1
