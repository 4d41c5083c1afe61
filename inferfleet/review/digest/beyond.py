"""Files that differ and that a digest does not read: programs, packages, workflows, submodules, kubeconfigs.

Those that may change what an update runs are told by name, and all others are counted.
"""

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath
from typing import get_args

from inferfleet.clusters.connections.git import Difference
from inferfleet.review.digest.values.files import File, FileKind

# Read for people alone.
_PROSE = (".md", ".rst")
# Documents and locks.
_READ = (".yaml", ".yml", ".lock")
_PROGRAMS = (".py", ".pyc", ".pth", ".so", ".sh", ".mk", ".zip", ".egg", ".pyz", ".gz")
_PACKAGES = (".whl", ".toml", ".cfg", ".lock", ".txt")
_FILES = ("makefile", "gnumakefile", "dockerfile", "jenkinsfile", "pipfile", "package.json")
# Pulumi reads the JSON before the YAML.
_ENTRIES = ("Pulumi.json", "Pulumi.yaml", "Pulumi.yml", "__main__.py", "requirements.txt", "pyproject.toml")


def beyond(
    differing: Iterable[Difference], prefix: str, *, read: Collection[str], unknown: bool = False
) -> tuple[tuple[File, ...], int]:
    """Return the files that are told by name, what weighs most first, and the number of the others.

    `prefix` is the folder of the project. Documents, settings and locks that were `read` are told by the
    digest itself; where it is `unknown` which ones are, as of stacks with errors, none that may be one is.
    """
    files, others = [], 0
    for found in differing:
        inside = found.path.startswith(prefix)
        path = found.path.removeprefix(prefix) if inside else f"/{found.path}"
        if not found.submodule and _is_told(path, found, read, unknown=unknown):
            continue
        if kind := _kind(path, found):
            files.append(File(path, kind, found.change))
        else:
            others += 1
    return tuple(sorted(files, key=_weight)), others


def _is_told(path: str, found: Difference, read: Collection[str], *, unknown: bool) -> bool:
    """Whether a file is told elsewhere, or tells people alone."""
    if path.endswith(_PROSE) and not found.program:
        return True
    top = path.partition("/")[0]
    if top == "policies":
        return False
    return path in read or (unknown and top in ("classes", "stacks") and path.endswith(_READ))


def _kind(path: str, found: Difference) -> FileKind | None:
    parts = PurePosixPath(path).parts
    name = parts[-1]
    if found.submodule:
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
    if name.startswith(("requirements", "constraints")) or name.endswith(_PACKAGES):
        return "packages"
    if found.program or name.endswith(_PROGRAMS) or name.lower() in _FILES or name.startswith("Pulumi"):
        return "program"
    return None


def _weight(file: File) -> tuple[int, bool, int, str]:
    """By kind; the files that an update begins with come first, then those that are nearest to them."""
    order = get_args(FileKind).index(file.kind)
    return order, file.path not in _ENTRIES, file.path.count("/"), file.path
