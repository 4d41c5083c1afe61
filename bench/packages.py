"""Compare the wheel and the source distribution in a folder with the files of the repository: `make release`.

The wheel has all of the program, with components, classes and template inside of its package; the source
distribution has every file. Nothing is in either that is not in the repository, but what describes it.
"""

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Folders and files of the repository, and where the wheel has them.
PLACES = {
    "inferfleet/": "inferfleet/",
    "sandbox/": "sandbox/",
    "components/": "inferfleet/components/",
    "classes/": "inferfleet/classes/",
    "template/": "inferfleet/template/",
    "CHANGELOG.md": "inferfleet/CHANGELOG.md",
}
# A link to the folder at the top, whose files are in its place.
LINK = "inferfleet/components"


def faults(folder: Path) -> Iterator[str]:
    """Yield what the two packages lack, and what they have besides."""
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    tracked = {name for name in listed.stdout.split("\0") if name} - {LINK}
    with zipfile.ZipFile(wheel) as archive:
        yield from _differences(wheel, archive.namelist(), _in_wheel(tracked))
    with tarfile.open(source) as files:
        names = [member.name.partition("/")[2] for member in files if not member.isdir()]
    yield from _differences(source, names, tracked)


def _in_wheel(tracked: Iterable[str]) -> set[str]:
    return {
        place + name.removeprefix(begin)
        for name in tracked
        for begin, place in PLACES.items()
        if name.startswith(begin)
    }


def _differences(package: Path, names: Iterable[str], expected: set[str]) -> Iterator[str]:
    present = {name for name in names if ".dist-info/" not in name} - {"PKG-INFO", LINK}
    for name in sorted(expected - present):
        yield f"{package.name} lacks {name}"
    for name in sorted(present - expected):
        yield f"{package.name} has {name}, which the repository has not"


if __name__ == "__main__":
    if lines := list(faults(Path(sys.argv[1]))):
        sys.exit("\n".join(lines))
