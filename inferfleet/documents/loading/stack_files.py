"""Where the files of a stack are, and its configuration in Pulumi.<stack>.yaml, with lines."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from inferfleet.documents.loading.border import border_of, is_inside
from inferfleet.documents.loading.files import read, read_text
from inferfleet.documents.loading.readable import readable_keys
from inferfleet.documents.problems import InvalidDocuments, Problem, Where
from inferfleet.documents.wording import nearest_parent, one_of, shown
from inferfleet.documents.work import take

# Room for some 20,000 entries, and read within seconds.
MAX_LOCK_BYTES = 2 * 1024 * 1024


def shipped(folder: str) -> Path:
    """Return a folder that comes with inferfleet and is no module: beside the package, in a wheel inside."""
    package = Path(__file__).resolve().parents[2]
    return package / folder if (package / folder).is_dir() else package.parent / folder


# The classes that come with inferfleet.
CATALOGUE = shipped("classes")
_PREFIX, _SUFFIX = "Pulumi.", ".yaml"
PROJECT_FILE = "Pulumi.yaml"


@dataclass(frozen=True)
class StackFiles:
    """Paths of a stack's files, or of those of one Fleet in somebody's program.

    `stack` is the owner that labels, names and locks carry. `folder` has the documents: the setting
    `documents`, relative to `root`, or None, and of a Fleet what its program says. `settings` is the file
    with the settings of a Fleet, and `lock` its lock where that is not beside the documents.
    """

    root: Path
    stack: str
    folder: str | None = None
    settings: Path | None = None
    lock: Path | None = None

    @property
    def config_file(self) -> Path:
        """Return Pulumi's file with the settings of the stack."""
        return self.settings or self.root / "stacks" / f"{_PREFIX}{self.stack}{_SUFFIX}"

    @property
    def documents(self) -> Path:
        """Return the folder with the documents of the stack."""
        return self.root / (self.folder or f"stacks/{self.stack}")

    @property
    def lock_file(self) -> Path:
        """Return the file of the stack's lock."""
        return self.lock or self.documents / "placement.lock"

    @property
    def capacity_file(self) -> Path:
        """Return the file with what was seen of the stack's pools, beside its lock."""
        return self.lock_file.parent / "capacity.lock"

    @property
    def catalogue(self) -> Path:
        """Return the folder with the classes of all stacks."""
        return catalogue_of(self.root)

    @property
    def policies(self) -> Path:
        """Return the folder with the policies of all stacks, which there need not be."""
        return self.root / "policies"


def catalogue_of(root: Path) -> Path:
    """Return the folder with the classes of a project: its own, or the one that comes with inferfleet."""
    own = root / "classes"
    return own if os.path.lexists(own) else CATALOGUE


# Steps for a name in the folder of the stacks, which is listed again for each of them.
_EACH_NAME = 20


def find_root(start: Path) -> Path:
    """Return the nearest folder upwards with a Pulumi.yaml. Raises InvalidDocuments when there is none."""
    here = start.absolute()
    for folder in (here, *here.parents):
        if (folder / "Pulumi.yaml").is_file():
            return folder
    what = f"neither {here} nor a folder above it contains a Pulumi.yaml"
    raise InvalidDocuments([Problem(what, "Change to the folder of an inferfleet project")])


def stacks_of(root: Path) -> tuple[str, ...]:
    """Return the names of all stacks with settings or a folder of documents, sorted.

    Raises InvalidDocuments when the folder with the stacks is outside of the project.
    """
    folder = root / "stacks"
    if not folder.is_dir():
        return ()
    if not is_inside(folder, root):
        what = f"folder {folder} is outside of the project, where a symbolic link leads"
        raise InvalidDocuments([Problem(what, "Put a folder in its place")])
    return tuple(sorted({stack for entry in folder.iterdir() if (stack := _stack(entry))}))


def _stack(entry: Path) -> str:
    """Return the stack that a folder or a file below `stacks` makes, "" for none."""
    if entry.is_dir() and not entry.name.startswith("."):
        return entry.name
    if entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX):
        return entry.name[len(_PREFIX) : -len(_SUFFIX)]
    return ""


def files_of_stack(root: Path, stack: str) -> StackFiles:
    """Return the files of a stack. Raises InvalidDocuments with the closest name when it does not exist."""
    take(1, "listing stacks")
    known = stacks_of(root)
    take(_EACH_NAME * len(known), "listing stacks")
    if stack not in known:
        what = f"stack {shown(stack)!r} has neither settings nor documents in {root / 'stacks'}"
        next_step = one_of(stack, known, "Known stacks") if known else f"Create stacks/Pulumi.{stack}.yaml"
        raise InvalidDocuments([Problem(what, next_step)])
    return StackFiles(root, stack)


def files_of_fleet(
    stack: str, fleet: str | None = None, *, folder: Path | None = None, lock: Path | None = None
) -> StackFiles:
    """Return the files of a Fleet in the program of a Pulumi stack, with documents in the folder or none.

    The Fleet that has the stack's name is the stack's own, and so is its owner; that of another is
    `<stack>.<fleet>`. Without a name it is the one whose lock is there, or else the stack's own. Raises
    InvalidDocuments.
    """
    place = (folder or (lock.parent if lock else Path())).absolute()
    root = border_of(place)
    lock = lock.absolute() if lock else None
    owner = stack if fleet in (None, stack) else f"{stack}.{fleet}"
    config = map_in(root / PROJECT_FILE, root).get("stackConfigDir")
    settings = root / (config if isinstance(config, str) else "") / f"{_PREFIX}{stack}{_SUFFIX}"
    files = StackFiles(root, owner, str(folder.absolute()) if folder else None, settings, lock)
    if fleet is None and (locked := _owner(files)).startswith(f"{stack}."):
        files = replace(files, stack=locked)
    return files


def _owner(files: StackFiles) -> str:
    """Return the stack that the lock of these files names, "" without one."""
    found = re.search(
        "^stack: *['\"]?([^'\"\n]*)", read_lock(files, files.lock_file.name) or "", re.MULTILINE
    )
    return found[1].strip() if found else ""


NAMESPACE = "inferfleet:"


@dataclass(frozen=True)
class Config:
    """The values below `inferfleet:`, by key without that prefix.

    `lines` has the line of each field by path, `missing` the paths of values that could not be read.
    `readable` has the warnings about secrets of other programs in the file.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, Where] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    readable: tuple[Problem, ...] = ()

    def where(self, path: str) -> Where | None:
        """Return the line of a field, or of its nearest parent in the file."""
        return self.lines.get(nearest_parent(path, self.lines))

    def located(self, problems: Iterable[Problem], stack: str) -> list[Problem]:
        """Return problems of settings with their lines, and with paths as a person writes them."""
        return [
            replace(
                problem,
                kind="Settings",
                key=stack,
                path=problem.path if problem.path == "stack" else NAMESPACE + problem.path,
                where=self.where(problem.path),
            )
            for problem in problems
        ]


def read_lock(files: StackFiles, shown: str) -> str | None:
    """Return the text of the stack's lock, or None when it has none. Raises InvalidDocuments."""
    return read_text(files.lock_file, root=files.root, shown=shown, limit=MAX_LOCK_BYTES)


def read_capacity(files: StackFiles, shown: str) -> str | None:
    """Return the text of what was seen of pools, or None where nobody wrote it. Raises InvalidDocuments."""
    return read_text(files.capacity_file, root=files.root, shown=shown, limit=MAX_LOCK_BYTES)


def read_config(file: Path, base: Path, root: Path | None = None) -> Config:
    """Return the configuration in the file; an empty one when there is no such file.

    The file must be inside of `root`, or without it inside the project of its path.
    """
    if not os.path.lexists(file):
        return Config()
    sources, unread = read(file, base, root)
    unread = [_discreet(problem) for problem in unread]
    if not sources:
        return Config(problems=tuple(unread))
    source = sources[0]
    written = source.text.data.get("config") if isinstance(source.text.data, dict) else None
    if not isinstance(source.text.data, dict) or not isinstance(written, dict | None):
        problem = Problem(
            "the settings of a stack must be a map with one field config",
            "Write config: and the settings below it",
            where=source.where(),
        )
        return Config(problems=(*unread, problem))
    if written is None and any(str(key).startswith(NAMESPACE) for key in source.text.data):
        what = "the settings stand beside config, so they are not read"
        unread.append(Problem(what, "Write config: above them, and indent them", where=source.where()))
    values = {short: value for key, value in (written or {}).items() if (short := _setting(key)) is not None}
    lines = {"": source.where("config")}
    for path, line in source.text.lines.items():
        if (setting := _short(path)) is not None:
            lines[setting] = Where(source.shown, line)
    problems = [_discreet(problem) for problem in source.problems() if _short(problem.path) is not None]
    missing = (_short(mistake.path) for mistake in source.text.mistakes if mistake.missing)
    return Config(
        values,
        lines,
        tuple(path for path in missing if path is not None),
        (*unread, *problems),
        tuple(readable_keys(source, written or {})),
    )


def keys_in_repository(files: StackFiles, keys: Iterable[str]) -> frozenset[str]:
    """Return those keys of the configuration whose values a change of the stack's file or of `Pulumi.yaml`
    can set. Encrypted values are not among them: who writes those has the stack's key.
    """
    stack, project = (map_in(file, files.root) for file in (files.config_file, files.root / PROJECT_FILE))
    written = [(setting, is_encrypted(stack["config"][key])) for key, setting in settings_in(stack)]
    encrypted = {setting for setting, secret in written if secret}
    plain = {setting for setting, secret in written if not secret}
    defaults = {setting for _, setting in settings_in(project)}
    # An environment of Pulumi ESC may be written out in the stack's file, instead of named there.
    inline = isinstance(stack.get("environment"), dict)
    return frozenset(
        key for key in keys if key in plain or (key not in encrypted and (inline or key in defaults))
    )


def is_encrypted(value: Any) -> bool:
    """Return whether a value of the configuration is written encrypted."""
    return isinstance(value, dict) and set(value) == {"secure"}


def settings_in(data: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Return the keys of a configuration as they are written, each with the setting that it may be."""
    config = data.get("config")
    return [(str(key), _setting(str(key))) for key in config] if isinstance(config, dict) else []


def map_in(file: Path, root: Path) -> dict[str, Any]:
    """Return the content of a file of YAML, {} where it has no map or is not there."""
    if not os.path.lexists(file):
        return {}
    data = [source.text.data for source in read(file, root, root)[0]]
    return data[0] if data and isinstance(data[0], dict) else {}


def _discreet(problem: Problem) -> Problem:
    """Return the problem without what is written there, where that may be the value of a secret."""
    if re.match(r"secrets($|[.\[])", _short(problem.path) or ""):
        what = "this is not plain text, or the same key as another; it may be secret, so it is not shown"
        return replace(problem, what=what, next_step="Write each key once, and every key and value in quotes")
    if problem.what.startswith("alias *"):
        # A value that begins with *, and is not in quotes; nothing is known of its place.
        what = "an alias (*) has no anchor before it, or is inside of it"
        return replace(problem, what=what, next_step="Put text that begins with * in quotes")
    return problem


def _setting(key: str) -> str | None:
    """Return the key without our namespace, None for keys of others.

    Pulumi reads a key without a namespace as one of the project, which has the name of ours.
    """
    return key.removeprefix(NAMESPACE) if key.startswith(NAMESPACE) or ":" not in key else None


def _short(path: str) -> str | None:
    """Return the path of a setting from its path in the file, None for what is no setting of ours."""
    quoted = path.removeprefix('config["')
    if quoted != path:
        key, _, rest = quoted.partition('"]')
    else:
        plain = path.removeprefix("config.")
        key = re.split(r"[.\[]", plain, maxsplit=1)[0] if plain != path else ":"
        rest = plain.removeprefix(key)
    setting = _setting(key)
    return None if setting is None else setting + rest
