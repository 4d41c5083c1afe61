"""Where the files of a project are: its stacks, their settings, documents and locks, classes and policies."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inferfleet.documents.loading.files import PROJECT_FILE, border_of, is_inside, read, read_text
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.documents.wording import one_of, shown
from inferfleet.documents.work import spend

# Space for some 20,000 entries, and read within seconds.
MAX_LOCK_BYTES = 2 * 1024 * 1024


def shipped(folder: str) -> Path:
    """Return a folder that comes with inferfleet and is no module: beside the package, in a wheel inside."""
    package = Path(__file__).resolve().parents[2]
    return package / folder if (package / folder).is_dir() else package.parent / folder


# The classes that come with inferfleet.
CATALOGUE = shipped("classes")
_PREFIX, _SUFFIX = "Pulumi.", ".yaml"


@dataclass(frozen=True)
class StackFiles:
    """Paths of a stack's files, or of those of one Fleet in somebody's program."""

    root: Path
    stack: str
    """The owner that labels, names and locks carry."""
    folder: str | None = None
    """The folder of the documents: the setting `documents`, relative to `root`, or None, and of a Fleet what
    its program says.
    """
    settings: Path | None = None
    """The file with the settings of a Fleet."""
    lock: Path | None = None
    """The lock of a Fleet where that is not beside its documents."""

    @property
    def config_file(self) -> Path:
        """Return Pulumi's file with the settings of the stack."""
        return self.settings or self.root / "stacks" / f"{_PREFIX}{self.stack}{_SUFFIX}"

    @property
    def pulumi_stack(self) -> str:
        """Return the name of the stack for Pulumi."""
        if self.settings is None:
            return self.stack
        return self.settings.name.removeprefix(_PREFIX).removesuffix(_SUFFIX)

    @property
    def prefix(self) -> str:
        """Return what the names of resources begin with: "" but for a Fleet that is not the stack's own."""
        stack = self.pulumi_stack
        return "" if self.stack == stack else f"{self.stack.removeprefix(f'{stack}.')}/"

    @property
    def fleet_options(self) -> str:
        """Return the options by which commands find the files of a Fleet; "" for a stack."""
        if self.settings is None:
            return ""
        stack = self.pulumi_stack
        fleet = self.stack.removeprefix(f"{stack}.")
        lock = f" --lock {self._shown(self.lock)}" if self.lock else ""
        return f"--documents {self._shown(self.documents)} --stack {stack} --fleet {fleet}{lock}"

    def _shown(self, path: Path) -> str:
        return str(path.relative_to(self.root) if path.is_relative_to(self.root) else path)

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
        """Return the path of the stack's capacity.lock, which is beside its lock."""
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
    project_catalogue = root / "classes"
    return project_catalogue if os.path.lexists(project_catalogue) else CATALOGUE


_NO_STACK = "Name the folder of a Fleet in a program of your own by --documents, or create stacks/Pulumi"
# Units for a name in the folder of the stacks, which is listed again for each of them.
_EACH_NAME = 20


def find_root(start: Path) -> Path:
    """Return the nearest folder upwards with a Pulumi.yaml. Raises InvalidDocuments when there is none."""
    here = start.absolute()
    for folder in (here, *here.parents):
        if (folder / PROJECT_FILE).is_file():
            return folder
    what = f"neither {here} nor a folder above it contains a Pulumi.yaml"
    raise InvalidDocuments([Problem(what, "Change to the folder of an inferfleet project")])


def name_of(root: Path) -> str:
    """Return the name of a project, by which backends and URNs keep it apart; "" for one without."""
    return str(map_in(root / PROJECT_FILE, root).get("name") or "")


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
    spend(1, "listing stacks")
    stacks = stacks_of(root)
    spend(_EACH_NAME * len(stacks), "listing stacks")
    if stack not in stacks:
        what = f"stack {shown(stack)!r} has neither settings nor documents in {root / 'stacks'}"
        next_step = one_of(stack, stacks, "Known stacks") if stacks else f"{_NO_STACK}.{stack}.yaml"
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
    start = (folder or (lock.parent if lock else Path())).absolute()
    root = border_of(start)
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
    line = re.search("^stack: *['\"]?([^'\"\n]*)", read_lock(files, files.lock_file.name) or "", re.MULTILINE)
    return line[1].strip() if line else ""


def read_lock(files: StackFiles, shown: str) -> str | None:
    """Return the text of the stack's lock, or None when it has none. Raises InvalidDocuments."""
    return read_text(files.lock_file, root=files.root, shown=shown, limit=MAX_LOCK_BYTES)


def read_capacity(files: StackFiles, shown: str) -> str | None:
    """Return the text of capacity.lock, or None where there is no such file. Raises InvalidDocuments."""
    return read_text(files.capacity_file, root=files.root, shown=shown, limit=MAX_LOCK_BYTES)


def map_in(file: Path, root: Path) -> dict[str, Any]:
    """Return the content of a file of YAML, {} where it has no map or is not there."""
    if not os.path.lexists(file):
        return {}
    data = [source.text.data for source in read(file, root, root)[0]]
    return data[0] if data and isinstance(data[0], dict) else {}
