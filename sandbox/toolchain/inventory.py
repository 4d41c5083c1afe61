"""Lists every package that this project pins: `python -m sandbox.toolchain.inventory` prints CycloneDX.

It is made from what pins them by hash alone, so that the same commit always has the same inventory. It has
more than runs in production: also what tests, the sandbox and its toolchain are made of. Which of these files
a package is in is among its properties.
https://cyclonedx.org/docs/1.6/json
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sandbox.toolchain.parts import EXTRA, PARTS
from sandbox.toolchain.releases import RELEASES

ROOT = Path(__file__).parents[2]
RELEASED = "sandbox/toolchain/releases.py"
PYTHON = ("requirements.txt", "requirements-tools.txt", "sandbox/toolchain/go.txt")
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass
class Package:
    """One version of a package, the hashes that its files may have, and the files that pin it.

    Hashes are `<algorithm>:<hex>`, the algorithm as CycloneDX calls it.
    """

    purl: str
    name: str
    version: str
    hashes: tuple[str, ...] = ()
    h1: str = ""
    pinned_in: list[str] = field(default_factory=list)


def inventory(root: Path = ROOT) -> dict[str, Any]:
    """Return the CycloneDX document, its components sorted by their package URLs."""
    packages: dict[str, Package] = {}
    files = dict.fromkeys(PYTHON, python_packages)
    files |= {f"sandbox/toolchain/{part.name}/go.sum": go_modules for part in (*PARTS, *EXTRA)}
    for name, read in files.items():
        for package in read((root / name).read_text()):
            packages.setdefault(package.purl, package).pinned_in.append(name)
    packages |= {package.purl: package for package in released_files()}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "inferfleet"}},
        "components": [_component(packages[purl]) for purl in sorted(packages)],
    }


def python_packages(text: str) -> Iterator[Package]:
    """Yield the packages of a requirements file with hashes."""
    for entry in text.replace("\\\n", " ").splitlines():
        if pinned := _PINNED.match(entry):
            name, version = pinned.groups()
            hashes = tuple(f"SHA-256:{content}" for content in sorted(_HASH.findall(entry)))
            yield Package(f"pkg:pypi/{name.lower()}@{version}", name, version, hashes)


def go_modules(text: str) -> Iterator[Package]:
    """Yield the modules of a go.sum whose source may be built; of others it has only the go.mod."""
    for line in text.splitlines():
        name, version, h1 = line.split(" ")
        if not version.endswith("/go.mod"):
            yield Package(f"pkg:golang/{name.lower()}@{version}", name, version, h1=h1)


def released_files() -> Iterator[Package]:
    """Yield the files of official releases, for each architecture.

    https://packageurl.org/types/generic-definition.json (2026-11-24)
    """
    for release in RELEASES:
        for archive in release.archives:
            for architecture, checksum in archive.checksums.items():
                url = quote(archive.address(architecture), safe="")
                purl = f"pkg:generic/{release.name}@{release.version}?download_url={url}"
                pinned = checksum.replace("sha", "SHA-")
                yield Package(purl, release.name, release.version, (pinned,), pinned_in=[RELEASED])


def _component(package: Package) -> dict[str, Any]:
    properties = [{"name": "inferfleet:pinnedIn", "value": file} for file in package.pinned_in]
    if package.h1:
        # Go's hash of all files of a module, which is none of the hashes that CycloneDX knows.
        properties.append({"name": "inferfleet:goSum", "value": package.h1})
    split = (pinned.partition(":") for pinned in package.hashes)
    hashes = [{"alg": algorithm, "content": content} for algorithm, _, content in split]
    return {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        **({"hashes": hashes} if hashes else {}),
        "properties": properties,
    }


if __name__ == "__main__":
    json.dump(inventory(), sys.stdout, indent=1)
    print()
