"""Finds where each part comes from: the PATH, the per-user cache, or nowhere yet."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox.places import cache_folder
from sandbox.toolchain.parts import (
    EPP,
    EXTRA,
    ISTIO,
    LANGUAGE_PYTHON,
    LANGUAGE_PYTHON_EXEC,
    LLM_D,
    LWS,
    PARTS,
    PROVIDER,
    PULUMI_CLI,
    Part,
)
from sandbox.toolchain.releases import architecture, release_of
from sandbox.toolchain.versions import sufficient
from sandbox.with_salt import is_launcher

Source = Literal["path", "cache", "missing"]


@dataclass(frozen=True)
class Resolved:
    """A part and the folder with its programs or files. A missing part has no folder.

    `release` is the version of the official release that it was fetched as, "" for all others.
    """

    part: Part
    source: Source
    folder: Path | None
    release: str = ""


def store() -> Path:
    """Return the folder, in the per-user cache, with one folder per built part."""
    return cache_folder() / "toolchain"


def resolve(extra: Iterable[Part] = ()) -> tuple[Resolved, ...]:
    """Return where every part comes from, without building anything.

    Of EXTRA parts, these are those that are there, and `extra`, which may be others too.
    """
    path, wanted = without(store(), os.environ.get("PATH", "")), (*PARTS, *extra)
    pulumi = _on_path(PULUMI_CLI, path)
    resolved = (_resolve(part, path, pulumi) for part in dict.fromkeys((*PARTS, *EXTRA, *wanted)))
    return tuple(one for one in resolved if one.source != "missing" or one.part in wanted)


def programs(parts: tuple[Resolved, ...]) -> Path:
    """Return one folder with all programs from the cache.

    They are hard links, because Pulumi looks for its language host beside its own resolved path.
    """
    cached = [
        (resolved.part, resolved.folder)
        for resolved in parts
        if resolved.source == "cache" and resolved.part is not PROVIDER and resolved.folder
    ]
    sources = " ".join(f"{part.name}:{part_folder.name}" for part, part_folder in cached)
    folder = store() / f"bin-{hashlib.sha256(sources.encode()).hexdigest()[:12]}"
    if not folder.exists():
        building = folder.with_name(f"{folder.name}.{os.getpid()}")
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
        for part, part_folder in cached:
            # The folder of a release may have other parts too, which come from elsewhere.
            for name in part.names:
                if (file := part_folder / name).is_file():
                    os.link(file, building / name)
        try:
            building.rename(folder)
        except OSError:  # another process was faster, with the same content
            shutil.rmtree(building)
    return folder


def without(cache: Path, path: str) -> str:
    """Return the PATH without folders whose programs must not count as installed.

    These are the cache, which has programs of other versions, and the folders with the `pulumi` of a sandbox,
    which are on the PATH of whoever runs commands in the sandbox's environment.
    """
    return os.pathsep.join(
        folder
        for folder in path.split(os.pathsep)
        if folder and cache not in Path(folder).parents and not is_launcher(Path(folder) / "pulumi")
    )


def _resolve(part: Part, path: str, pulumi: Path | None) -> Resolved:
    installed = None
    if part in (LANGUAGE_PYTHON, LANGUAGE_PYTHON_EXEC):
        # They print no version, so only those that an installed Pulumi has beside it are used.
        needed = part.programs[0].name if part.programs else part.files[0].pattern
        installed = pulumi if pulumi and (pulumi / needed).exists() else None
    elif part.programs and part not in (EPP, ISTIO, LLM_D, LWS, PROVIDER):
        # An `epp` on the PATH prints no version, so it could be any; LWS and Istio have files too.
        installed = pulumi if part is PULUMI_CLI else _on_path(part, path)
    if installed is not None:
        return Resolved(part, "path", installed)
    if (built := store() / part.key).exists():
        return Resolved(part, "cache", built)
    release = release_of(part, architecture())
    if release and (fetched := store() / release.key(architecture())).exists():
        return Resolved(part, "cache", fetched, release.version)
    return Resolved(part, "missing", None)


def _on_path(part: Part, path: str) -> Path | None:
    """Return the real folder of the part's programs if the PATH has all of them in accepted versions."""
    binaries = [shutil.which(program.name, path=path) for program in part.programs]
    if not all(binaries):
        return None
    for program, binary in zip(part.programs, binaries, strict=True):
        printed = subprocess.run([str(binary), *program.args], capture_output=True, text=True, check=False)
        if not sufficient(printed.stdout + printed.stderr, program.least, program.below):
            return None
    return Path(str(binaries[0])).resolve().parent
