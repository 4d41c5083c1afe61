"""The repository that a project lies in, of which a pull request can have written all but `.git`.

A kubeconfig there may name a program to run, files to send, and where to send them. So it is used only where
the stack says so, in its setting `trustRepositoryKubeconfigs`.

Git obeys settings of whatever repository it finds from where it starts, and a branch can commit a whole one.
So it starts at the top of the work tree, which is found here, and of the settings of the machine it takes
none but which folders of other owners it may read. Programs that settings of the clone itself name do not run
either: hooks, filters and monitors of files, and those that fetch what a clone lacks.
"""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from inferfleet.clusters.connections.exec_command import program
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import shown

SETTING = "inferfleet:trustRepositoryKubeconfigs"
Done = subprocess.CompletedProcess[bytes]
# Seconds for one question to git.
_SECONDS = 120
# Nothing is taken from the environment of this process. Without HOME git has no settings of a user. A git
# that is older than GIT_NO_LAZY_FETCH (2.39.4) has no protocol to fetch by.
_ENVIRONMENT = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # An index that is written anew calls a hook.
    "GIT_OPTIONAL_LOCKS": "0",
}
_SETTINGS = (
    "safe.bareRepository=explicit",
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
)
_LINK, _EXECUTABLE, _SUBMODULE, _NOTHING = "120000", "100755", "160000", "000000"


@dataclass(frozen=True)
class Repository:
    """The project at `root`, and the Git repository that it is in.

    `trusted` says that kubeconfigs of the repository may be used; `keys` are keys of the configuration whose
    values are written in its files, so that they are part of it.
    """

    root: Path
    trusted: bool
    keys: frozenset[str] = frozenset()

    def holds(self, path: Path) -> bool:
        """Return whether the path, as it is named or with all links followed, is inside of the repository."""
        top = _identity(top_of(self.root))
        normal_path = Path(os.path.normpath(path.absolute()))
        return any(
            _identity(folder) == top
            for place in (normal_path, Path(os.path.realpath(path)))
            for folder in place.parents
        )


def top_of(project: Path) -> Path:
    """Return the top of the Git repository that the project is in, without links; without one the project.

    No commit has a file or folder named `.git`: git checks none out.
    """
    root = Path(os.path.realpath(project))
    return next((folder for folder in _upwards(root) if os.path.lexists(folder / ".git")), root)


def _upwards(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.parents


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what is the same under every name of a folder: names differ by links, mounts and letter case."""
    try:
        status = os.stat(folder)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


@dataclass(frozen=True)
class Difference:
    """A tracked file that is another in a commit, by its path in the repository.

    `program`: it may be run, or is a symbolic link, in either of the two.
    """

    path: str
    change: Literal["added", "removed", "changed"]
    submodule: bool = False
    program: bool = False


@dataclass(frozen=True)
class Clone:
    """A work tree at `top`, an absolute path without links.

    `safe` are folders that git may read although another user owns them; `filters` are those that settings of
    the clone name.
    """

    top: Path
    safe: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()

    def ask(self, *words: str, given: bytes = b"") -> Done:
        """Run git. Raises InvalidDocuments where there is none, or no answer in time."""
        settings = [*_SETTINGS, *(f"safe.directory={folder}" for folder in self.safe)]
        options = [word for setting in settings for word in ("-c", setting)]
        return _run(
            ["--no-pager", *options, *words],
            given=given,
            cwd=self.top,
            environment={**_ENVIRONMENT, **_without(self.filters)},
        )

    def answer(self, *words: str) -> str:
        """Return what git says, without spaces around it; "" where it refuses."""
        done = self.ask(*words)
        return "" if done.returncode else os.fsdecode(done.stdout).strip()

    def differing(self, commit: str, *paths: str) -> tuple[Difference, ...]:
        """Return the tracked files that are others than in the commit, by path.

        Of submodules the commits are compared, whatever `.gitmodules` says; nothing in them is asked.
        Raises InvalidDocuments where the commit is not whole.
        """
        options = ("--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv")
        done = self.ask("diff", *options, "--ignore-submodules=dirty", commit, "--", *paths)
        if done.returncode:
            what = f"git cannot compare with commit {commit[:12]} ({error_line(done)})"
            raise git_error(what, "Check the repository: git fsck")
        words = done.stdout.split(b"\0")
        return tuple(sorted(map(_difference, words[:-1:2], words[1::2]), key=lambda found: found.path))


def clone_of(project: Path) -> Clone:
    """Return the clone that the project is in. Raises InvalidDocuments where git cannot read one there."""
    clone = Clone(top_of(project), _safe())
    done = clone.ask("rev-parse", "--show-toplevel")
    if done.returncode:
        why = error_line(done)
        step = "Run it in a clone of the repository that holds the project"
        if b"safe.directory" in done.stderr:
            # An older git takes the setting from files alone, which are not read.
            name = shown(str(clone.top), 200)
            step = f"If you trust it: git config --global --add safe.directory {name}, with git 2.38 or newer"
        raise git_error(f"{shown(str(project), 200)} is in no git repository that can be read ({why})", step)
    tree = os.fsdecode(done.stdout).removesuffix("\n")
    if tree != str(clone.top):
        what = f"the git repository of {shown(str(clone.top), 200)} has its work tree elsewhere"
        raise git_error(f"{what}, in {shown(tree, 200)}", "Run it in that work tree, or in a clone")
    names = clone.ask("config", "-z", "--name-only", "--get-regexp", r"^filter\.").stdout
    parts = (os.fsdecode(name).rpartition(".")[0] for name in names.split(b"\0") if name)
    return Clone(clone.top, clone.safe, tuple(dict.fromkeys(parts)))


def error_line(done: Done) -> str:
    """Return the first line of what git said on standard error, for a message."""
    text = done.stderr.decode(errors="replace").strip().partition("\n")[0]
    return shown(text.removeprefix("fatal: "), 200)


def git_error(what: str, next_step: str) -> InvalidDocuments:
    """Return the error for a question that git cannot answer."""
    return InvalidDocuments([Problem(what, next_step)])


def _difference(told: bytes, path: bytes) -> Difference:
    """Read what stands before a path: `:<old mode> <new mode> <old hash> <new hash> <status>`."""
    old, new, *_ = told.decode().removeprefix(":").split()
    return Difference(
        os.fsdecode(path),
        "added" if old == _NOTHING else "removed" if new == _NOTHING else "changed",
        submodule=_SUBMODULE in (old, new),
        program=not {old, new}.isdisjoint((_LINK, _EXECUTABLE)),
    )


def _safe() -> tuple[str, ...]:
    """Return `safe.directory` of the machine and the user, asked outside of every repository."""
    words = [f"--git-dir={os.devnull}", "config", "-z", "--type=path", "--get-all", "safe.directory"]
    found = _run(words, cwd=Path("/"), environment=None).stdout
    return tuple(os.fsdecode(folder) for folder in found.split(b"\0")[:-1])


def _without(filters: tuple[str, ...]) -> dict[str, str]:
    """Return the variables by which filters run nothing and are not missed."""
    none = {"clean": "", "smudge": "", "process": "", "required": "false"}
    settings = [(f"{name}.{key}", value) for name in filters for key, value in none.items()]
    return dict(_numbered(settings)) | {"GIT_CONFIG_COUNT": str(len(settings))}


def _numbered(settings: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for number, (name, value) in enumerate(settings):
        yield f"GIT_CONFIG_KEY_{number}", name
        yield f"GIT_CONFIG_VALUE_{number}", value


def _run(words: list[str], *, cwd: Path, environment: dict[str, str] | None, given: bytes = b"") -> Done:
    """Run git and return how it ended. Raises an error in words where git is missing or too slow."""
    try:
        return subprocess.run(
            [program("git"), *words],
            input=given,
            capture_output=True,
            check=False,
            cwd=cwd,
            env=environment,
            timeout=_SECONDS,
        )
    except FileNotFoundError:
        raise git_error("git is not installed, and the base is a commit", "Install git") from None
    except subprocess.TimeoutExpired:
        what = f"git gave no answer within {_SECONDS} s"
        raise git_error(what, "See whether another git holds the repository, and try again") from None
