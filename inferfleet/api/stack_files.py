"""Where the files of a stack are."""

from dataclasses import dataclass
from pathlib import Path

from inferfleet.api.nearest import one_of
from inferfleet.api.paths import shown
from inferfleet.api.problems import InvalidDocuments, Problem

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
