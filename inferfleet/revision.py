"""A project as it was in a commit: git is asked for its files, which are laid down in a new folder.

Nothing is fetched, checked out or changed. Those files of the project are taken that inferfleet reads:
documents and settings, locks, classes and plugins. The folder is gone when the block ends.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from inferfleet.api.loading.stack import stacks_of
from inferfleet.api.loading.stack_files import files_of_stack, read_config
from inferfleet.api.problems import InvalidDocuments, Problem
from inferfleet.api.wording import shown

# More than any project has: 2,000 files of documents are read, and each of at most 5 MiB.
MOST_FILES, MOST_BYTES = 10_000, 200 * 1024 * 1024
# Seconds for one question to git.
_SECONDS = 120
_PROJECT_FILE = "Pulumi.yaml"
_FOLDERS = ("classes", "plugins", "policies", "stacks")
# Parts of paths that git itself refuses to check out.
_ODD = frozenset({"", ".", "..", ".git"})
_LINK, _FILE = "120000", ("100644", "100755")


@dataclass(frozen=True)
class Revision:
    """A project at a commit: its whole hash, the folder as it was, and where it is in the repository.

    `root` is an empty folder where the commit has no such project. `prefix` is "" for a project at the top of
    its repository, else its path with a slash at the end. `notices` say what is odd about the comparison.
    """

    commit: str
    root: Path
    prefix: str
    exists: bool
    notices: tuple[Problem, ...] = ()


@contextmanager
def revision(project: Path, ref: str) -> Iterator[Revision]:
    """Give the project as it was in the commit that `ref` names.

    Raises InvalidDocuments where there is no git, no repository, or no such commit.
    """
    top = _top(project)
    commit = _commit(ref)
    prefix = _prefix(project, top)
    every = _entries(commit, prefix)
    with tempfile.TemporaryDirectory(prefix="inferfleet-") as folder:
        root = Path(folder)
        first = [entry for entry in every if entry.path == _PROJECT_FILE or _is_below(entry.path, _FOLDERS)]
        _lay_down(root, first, commit)
        elsewhere = tuple(_folders_of_documents(root))
        _lay_down(root, [entry for entry in every if _is_below(entry.path, elsewhere)], commit)
        exists = any(entry.path == _PROJECT_FILE for entry in first)
        yield Revision(commit, root, prefix, exists, tuple(_notices(ref, commit, exists=exists)))


def differing(commit: str, prefix: str) -> tuple[str, ...]:
    """Return the tracked files of the project that are others in the commit, by their paths in it, sorted."""
    done = _git(
        "diff",
        *("--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules"),
        *(commit, "--", f":(top,literal){prefix}" if prefix else ":(top)"),
    )
    if done.returncode:
        step = "Check the repository: git fsck"
        raise _refused(f"git cannot compare with commit {commit[:12]} ({_said(done)})", step)
    names = (os.fsdecode(name) for name in done.stdout.split(b"\0") if name)
    return tuple(sorted(name.removeprefix(prefix) for name in names))


@dataclass(frozen=True)
class _Entry:
    """A file of the project in the commit: its path in the project, its mode and the hash of its content."""

    path: str
    mode: str
    blob: str
    size: int


def _top(project: Path) -> Path:
    done = _git("rev-parse", "--show-toplevel")
    if done.returncode == 0:
        return Path(os.fsdecode(done.stdout).rstrip("\n"))
    said = _said(done)
    step = "Run it in a clone of the repository that holds the project"
    if "safe.directory" in said:
        step = f"If you trust it: git config --global --add safe.directory {project}"
    raise _refused(f"{project} is in no git repository that can be read ({said})", step)


def _commit(ref: str) -> str:
    done = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if done.returncode == 0:
        return done.stdout.decode().strip()
    what = f"--base {shown(ref)!r} names no commit in this clone"
    if _answer("rev-parse", "--is-shallow-repository") == "true":
        raise _refused(
            f"{what}, which is shallow",
            f"Fetch it first: git fetch --depth=1 origin {shown(ref)}, and name FETCH_HEAD; "
            "or clone with all history (fetch-depth: 0 of actions/checkout, GIT_DEPTH: 0 on GitLab)",
        )
    remote = f"origin/{ref}"
    if _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{remote}^{{commit}}").returncode == 0:
        raise _refused(what, f"Did you mean {shown(remote)}?")
    raise _refused(what, "Name a branch, a tag or a commit of it, or fetch it first: git fetch origin")


def _prefix(project: Path, top: Path) -> str:
    inside = os.path.relpath(os.path.realpath(project), os.path.realpath(top))
    return "" if inside == "." else f"{Path(inside).as_posix()}/"


def _notices(ref: str, commit: str, *, exists: bool) -> Iterator[Problem]:
    if not exists:
        yield Problem(
            f"the project is not there in {shown(ref)}, so everything in it is new",
            "Nothing has to be done where that is so; else name a commit that has it",
            severity="notice",
        )
    if _answer("rev-parse", "--is-shallow-repository") == "true":
        return  # Ancestors may be missing, so git would answer wrongly.
    if _git("merge-base", "--is-ancestor", commit, "HEAD").returncode == 1:
        yield Problem(
            f"{shown(ref)} has commits that this version lacks, and what they changed is told as undone",
            f"Merge {shown(ref)} or rebase onto it, or name the commit that this version began from: "
            f'--base "$(git merge-base {shown(ref)} HEAD)"',
            severity="notice",
        )


def _entries(commit: str, prefix: str) -> list[_Entry]:
    """Return the project's files, without submodules."""
    listed = _git("ls-tree", "-r", "-l", "-z", "--full-tree", commit, *(["--", prefix] if prefix else []))
    if listed.returncode:
        raise _refused(
            f"git cannot list commit {commit[:12]} ({_said(listed)})", "Check the repository: git fsck"
        )
    entries = []
    for line in listed.stdout.split(b"\0"):
        head, _, name = line.partition(b"\t")
        if not name:
            continue
        mode, _, blob, size = head.decode().split()
        path = os.fsdecode(name).removeprefix(prefix)
        if mode in (_LINK, *_FILE) and not _ODD.intersection(path.split("/")):
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


def _lay_down(root: Path, entries: Sequence[_Entry], commit: str) -> None:
    """Write the files, and symbolic links last, so that nothing is written through one."""
    if len(entries) > MOST_FILES or sum(entry.size for entry in entries) > MOST_BYTES:
        what = f"the project in commit {commit[:12]} has more than {MOST_FILES:,} files, or 200 MiB of them"
        raise _refused(
            what, "Take from its folders classes, plugins, policies and stacks what inferfleet does not read"
        )
    files = [entry for entry in entries if entry.mode in _FILE]
    links = [entry for entry in entries if entry.mode == _LINK]
    contents = _contents([entry.blob for entry in (*files, *links)])
    for entry, content in zip((*files, *links), contents, strict=True):
        path = root / entry.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == _LINK:
            if not os.path.lexists(path):
                path.symlink_to(os.fsdecode(content))
        else:
            path.write_bytes(content)


def _contents(blobs: Sequence[str]) -> Iterator[bytes]:
    """Yield the content of each blob, asked for at once."""
    if not blobs:
        return
    done = _git("cat-file", "--batch", given="".join(f"{blob}\n" for blob in blobs).encode())
    rest = done.stdout
    place = 0
    for blob in blobs:
        end = rest.find(b"\n", place)
        words = rest[place:end].split() if end >= 0 else []
        if len(words) != 3 or words[1] != b"blob":
            what = f"git does not have the content {blob[:12]} of a file in that commit"
            raise _refused(what, "Fetch it: git fetch --refetch origin, without a filter")
        size = int(words[2])
        yield rest[end + 1 : end + 1 + size]
        place = end + 1 + size + 1


def _answer(*words: str) -> str:
    return _git(*words).stdout.decode(errors="replace").strip()


def _git(*words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run git without hooks, pagers and questions. Raises InvalidDocuments where there is none."""
    try:
        return subprocess.run(
            ["git", "--no-pager", "-c", "core.fsmonitor=false", *words],
            input=given,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except FileNotFoundError:
        raise _refused("git is not installed, and the base is a commit", "Install git") from None
    except subprocess.TimeoutExpired:
        what = f"git gave no answer within {_SECONDS} s (git {words[0]})"
        raise _refused(what, "See whether another git holds the repository, and try again") from None


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    text = done.stderr.decode(errors="replace").strip().partition("\n")[0]
    return shown(text.removeprefix("fatal: "), 200)


def _refused(what: str, next_step: str) -> InvalidDocuments:
    return InvalidDocuments([Problem(what, next_step)])
