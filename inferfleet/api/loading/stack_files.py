"""Where the files of a stack are, and its configuration as it stands in Pulumi.<stack>.yaml, with lines."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from inferfleet.api.loading.files import read
from inferfleet.api.problems import InvalidDocuments, Problem, Where
from inferfleet.api.wording import below, nearest_parent, one_of, shown

_PREFIX, _SUFFIX = "Pulumi.", ".yaml"


@dataclass(frozen=True)
class StackFiles:
    """`folder` is the setting `documents`: relative to the root, and `stacks/<stack>` where it is None."""

    root: Path
    stack: str
    folder: str | None = None

    @property
    def config_file(self) -> Path:
        return self.root / "stacks" / f"{_PREFIX}{self.stack}{_SUFFIX}"

    @property
    def documents(self) -> Path:
        return self.root / (self.folder or f"stacks/{self.stack}")

    @property
    def lock_file(self) -> Path:
        return self.documents / "placement.lock"

    @property
    def catalogue(self) -> Path:
        return self.root / "classes"


def find_root(start: Path) -> Path:
    """The nearest folder upwards that holds a Pulumi.yaml. Raises InvalidDocuments when there is none."""
    here = start.absolute()
    for folder in (here, *here.parents):
        if (folder / "Pulumi.yaml").is_file():
            return folder
    what = f"neither {here} nor a folder above it holds a Pulumi.yaml"
    raise InvalidDocuments([Problem(what, "Change to the folder of an inferfleet project")])


def stacks_of(root: Path) -> tuple[str, ...]:
    """The names of all stacks that have settings or a folder of documents, sorted."""
    folder = root / "stacks"
    if not folder.is_dir():
        return ()
    found = set()
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.name.startswith("."):
            found.add(entry.name)
        elif entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX):
            found.add(entry.name[len(_PREFIX) : -len(_SUFFIX)])
    return tuple(sorted(found - {""}))


def files_of_stack(root: Path, stack: str) -> StackFiles:
    """The files of a stack that exists. Raises InvalidDocuments with the nearest name for any other."""
    known = stacks_of(root)
    if stack not in known:
        what = f"stack {shown(stack)!r} has neither settings nor documents in {root / 'stacks'}"
        next_step = one_of(stack, known, "Known stacks") if known else f"Create stacks/Pulumi.{stack}.yaml"
        raise InvalidDocuments([Problem(what, next_step)])
    return StackFiles(root, stack)


NAMESPACE = "inferfleet:"


@dataclass(frozen=True)
class Config:
    """The values under `inferfleet:`, by key without it, and the places of their fields by path."""

    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, Where] = field(default_factory=dict)
    lost: tuple[str, ...] = ()  # paths of values that could not be read
    problems: tuple[Problem, ...] = ()

    def where(self, path: str) -> Where | None:
        return self.lines.get(nearest_parent(path, self.lines))

    def located(self, problems: Iterable[Problem], stack: str) -> list[Problem]:
        """The problems with lines, and with the paths of settings as a person writes them."""
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


def read_config(file: Path, base: Path) -> Config:
    """What the file says; nothing, if there is no such file."""
    if not file.exists():
        return Config()
    sources, unread = read(file, base)
    if not sources:
        return Config(problems=tuple(unread))
    source = sources[0]
    written = source.text.data.get("config") if isinstance(source.text.data, dict) else None
    if not isinstance(source.text.data, dict) or not isinstance(written, dict | None):
        problem = Problem(
            "the settings of a stack are a map with one field config", "Mend it", "", source.where()
        )
        return Config(problems=(*unread, problem))
    values, lines = {}, {"": source.where("config")}
    for key, value in (written or {}).items():
        if key.startswith(NAMESPACE):
            short, long = key.removeprefix(NAMESPACE), below("config", key)
            values[short] = value
            for path, line in source.text.lines.items():
                if path == long or path.startswith((f"{long}.", f"{long}[")):
                    lines[short + path.removeprefix(long)] = Where(source.shown, line)
    ours = f'config["{NAMESPACE}'
    problems = [flaw for flaw in source.flaws() if flaw.path.startswith(ours)]
    lost = tuple(_short(flaw.path) for flaw in source.text.flaws if flaw.lost and flaw.path.startswith(ours))
    return Config(values, lines, lost, (*unread, *problems))


def _short(path: str) -> str:
    key, _, rest = path.removeprefix(f'config["{NAMESPACE}').partition('"]')
    return key + rest
