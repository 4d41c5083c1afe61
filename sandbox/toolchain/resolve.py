"""Where each part comes from: the PATH, the per-user cache, or nowhere yet. `ready` leaves none missing."""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox.places import cache_folder
from sandbox.toolchain.build import build
from sandbox.toolchain.parts import (
    EPP,
    LANGUAGE_PYTHON,
    LANGUAGE_PYTHON_EXEC,
    PARTS,
    PROVIDER,
    PULUMI_CLI,
    Part,
)
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.versions import sufficient

Source = Literal["path", "cache", "missing"]


@dataclass(frozen=True)
class Resolved:
    """A part and the folder its programs or files are in; no folder while it is missing."""

    part: Part
    source: Source
    folder: Path | None


def store() -> Path:
    """The folder of the per-user cache with one folder per built part."""
    return cache_folder() / "toolchain"


def resolve() -> tuple[Resolved, ...]:
    """Every part, without building anything."""
    path = without(store(), os.environ.get("PATH", ""))
    pulumi = _on_path(PULUMI_CLI, path)
    return tuple(_resolve(part, path, pulumi) for part in PARTS)


def ready(progress: Progress) -> tuple[Resolved, ...]:
    """Every part, the missing ones fetched or built."""
    parts = resolve()
    missing = [one.part for one in parts if one.source == "missing"]
    if not missing:
        return parts
    minutes = sum(part.minutes for part in missing)
    progress.say(
        f"{len(missing)} of {len(parts)} parts of the toolchain are not on this machine yet and are "
        f"made now, once: up to {minutes} min on two cores. Interrupt it when you like; the next run goes on."
    )
    installed = next((one.folder for one in parts if one.part is PULUMI_CLI and one.source == "path"), None)
    for number, part in enumerate(missing, 1):
        if part is PROVIDER and installed and _published(installed / "pulumi", progress):
            continue
        build(part, store(), count=f"{number}/{len(missing)}", progress=progress)
    return resolve()


def programs(parts: tuple[Resolved, ...]) -> Path:
    """One folder with all programs from the cache.

    Hard links, no symbolic ones: Pulumi looks for its language host beside its own resolved path.
    """
    cached = [one for one in parts if one.source == "cache" and one.part is not PROVIDER and one.folder]
    digest = hashlib.sha256(" ".join(one.part.key for one in cached).encode()).hexdigest()[:12]
    folder = store() / f"bin-{digest}"
    if not folder.exists():
        building = store() / f"bin-{digest}.{os.getpid()}"
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
        for one in cached:
            for file in (one.folder or building).iterdir():
                if file.is_file():
                    os.link(file, building / file.name)
        try:
            building.rename(folder)
        except OSError:  # another process was faster, with the same content
            shutil.rmtree(building)
    return folder


def without(cache: Path, path: str) -> str:
    """The PATH without the cache: what was built for another version must not count as installed."""
    return os.pathsep.join(one for one in path.split(os.pathsep) if one and cache not in Path(one).parents)


def _resolve(part: Part, path: str, pulumi: Path | None) -> Resolved:
    found = None
    if part in (LANGUAGE_PYTHON, LANGUAGE_PYTHON_EXEC):
        # They print no version. An installed Pulumi brings its own beside it; any other is not trusted.
        needed = part.programs[0].name if part.programs else part.files[0].pattern
        found = pulumi if pulumi and (pulumi / needed).exists() else None
    elif part.programs and part not in (EPP, PROVIDER):
        # An `epp` on the PATH prints no version: it could be any.
        found = pulumi if part is PULUMI_CLI else _on_path(part, path)
    if found is not None:
        return Resolved(part, "path", found)
    for cached in (store() / part.key, *([_published_folder()] if part is PROVIDER and pulumi else [])):
        if cached.exists():
            return Resolved(part, "cache", cached)
    return Resolved(part, "missing", None)


def _on_path(part: Part, path: str) -> Path | None:
    """The real folder of the part's first program, when all of them are there in sufficient versions."""
    found = [shutil.which(program.name, path=path) for program in part.programs]
    if not all(found):
        return None
    for program, binary in zip(part.programs, found, strict=True):
        printed = subprocess.run([str(binary), *program.args], capture_output=True, text=True, check=False)
        if not sufficient(printed.stdout + printed.stderr, program.least, program.below):
            return None
    return Path(str(found[0])).resolve().parent


def _published_folder() -> Path:
    return store() / f"published-{PROVIDER.version}" / "plugins" / f"resource-kubernetes-v{PROVIDER.version}"


def _published(pulumi: Path, progress: Progress) -> bool:
    """True when the installed Pulumi could fetch the published provider: quicker than building it."""
    home = _published_folder().parent.parent
    command = [str(pulumi), "plugin", "install", "resource", "kubernetes", f"v{PROVIDER.version}"]
    quiet = {**os.environ, "PULUMI_HOME": str(home), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    with progress.step(PROVIDER.name, f"fetching the published Kubernetes provider {PROVIDER.version}"):
        done = subprocess.run(command, env=quiet, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        progress.say("It was not to be had, so it is built.")
        shutil.rmtree(home, ignore_errors=True)
    return done.returncode == 0
