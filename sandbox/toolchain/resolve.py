"""Finds where each part comes from: the PATH, the per-user cache, or nowhere yet; and builds missing ones."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from sandbox.places import cache_folder
from sandbox.toolchain.build import build
from sandbox.toolchain.download import NotFetched, fetch, reachable
from sandbox.toolchain.parts import (
    EPP,
    EXTRA,
    ISTIO,
    KUBE,
    LANGUAGE_PYTHON,
    LANGUAGE_PYTHON_EXEC,
    LLM_D,
    LWS,
    PARTS,
    PROVIDER,
    PULUMI_CLI,
    Part,
)
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.releases import RELEASES, Release, architecture, choice, release_of
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

    Of EXTRA parts, these are those that are there, and `extra`.
    """
    path = without(store(), os.environ.get("PATH", ""))
    pulumi = _on_path(PULUMI_CLI, path)
    parts = (*PARTS, *(part for part in EXTRA if part in extra or (store() / part.key).exists()))
    return tuple(_resolve(part, path, pulumi) for part in parts)


def resolve_or_build(progress: Progress, extra: Iterable[Part] = ()) -> tuple[Resolved, ...]:
    """Return where every part comes from, after fetching or building those that were missing."""
    parts = resolve(extra)
    missing = [resolved.part for resolved in parts if resolved.source == "missing"]
    if not missing:
        return parts
    fetched = fetch_releases(missing, progress)
    missing = [part for part in missing if part not in fetched]
    if not missing:
        return resolve(extra)
    if minutes := sum(part.minutes for part in missing):
        progress.say(
            f"{len(missing)} of {len(parts)} parts of the toolchain are not on this machine yet and are "
            f"built now, once: up to {minutes} min on two cores. You may interrupt it; the next run "
            "continues."
        )
    for number, part in enumerate(missing, 1):
        build(part, store(), count=f"{number}/{len(missing)}", progress=progress)
    return resolve(extra)


def fetch_releases(
    missing: Iterable[Part], progress: Progress, releases: tuple[Release, ...] = RELEASES
) -> frozenset[Part]:
    """Return the missing parts that are there now as official releases, and say why others are not."""
    chosen, arch = choice(), architecture()
    if not chosen.allowed:
        return frozenset()
    of_parts = {part: release for part in missing if (release := release_of(part, arch, releases))}
    wanted = {release.name: release for part, release in of_parts.items() if not _keeps_data(part)}
    urls = {
        release.name: [chosen.address(archive.address(arch)) for archive in release.archives]
        for release in wanted.values()
    }
    answering = reachable(url for of_release in urls.values() for url in of_release)
    fetched: set[Part] = set()
    for number, (name, release) in enumerate(wanted.items(), 1):
        silent = [url for url in urls[name] if url not in answering]
        if silent:
            progress.say(f"{name} is built: {urlsplit(silent[0]).netloc} does not answer.")
            continue
        try:
            # To build takes so long, so no download may take longer.
            seconds = release.minutes * 60.0
            count = f"{number}/{len(wanted)}"
            fetch(release, arch, store(), chosen, count=count, progress=progress, seconds=seconds)
            fetched.update(part for part in of_parts if part in release.parts)
        except NotFetched as reason:
            progress.say(f"{name} is built: {reason}.")
    return frozenset(fetched)


def _keeps_data(part: Part) -> bool:
    """Return whether clusters that stand may have data of another version, built on this machine.

    A newer etcd may have written them, and that of the release refuses them
    (server/etcdserver/version/downgrade.go of etcd).
    """
    built = (made for made in store().glob(f"{part.name}-*") if "-released-" not in made.name)
    return part == KUBE and any(made.is_dir() for made in built)


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
