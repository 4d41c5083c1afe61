"""Decides how missing parts come, as releases or built here, says so with the minutes, and brings them."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from sandbox.network import listening
from sandbox.problem import SandboxProblem
from sandbox.toolchain.build import build
from sandbox.toolchain.download import NotFetched, fetch, reachable
from sandbox.toolchain.go import go
from sandbox.toolchain.machine import Machine, machine
from sandbox.toolchain.parts import EPP, KUBE, Part
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.releases import DOWNLOAD, Choice, Release, architecture, choice, release_of
from sandbox.toolchain.resolve import store
from sandbox.toolchain.side_by_side import Stop, side_by_side

# Megabytes a second of the line that minutes are told for: 100 Mbit/s.
_LINE = 12.5
# Releases that are fetched at once. Of one release all archives are.
_FETCHES = 3


@dataclass(frozen=True)
class Supply:
    """How missing parts come: as `releases`, of `megabytes` at least, or `built`, in this order.

    `silent` are the hosts that do not answer, and `chosen` is what the user has.
    """

    releases: tuple[Release, ...]
    built: tuple[Part, ...]
    megabytes: int
    silent: tuple[str, ...]
    chosen: Choice


def bring(
    missing: Iterable[Part], spare: Iterable[Part], progress: Progress, begin: Callable[[], None]
) -> None:
    """Fetch or build the missing parts, but for those of `spare` that would have to be built.

    Calls `begin` before, once it has said what takes minutes. Raises SandboxProblem.
    """
    computer, wanted, left_out = machine(), tuple(missing), tuple(spare)
    supply = supply_of(wanted, left_out)
    if text := announcement(supply, computer):
        progress.say(text)
        begin()
    failed = [part for part in _fetched(supply, progress) if part in wanted and part not in left_out]
    if built := in_order((*supply.built, *failed)):
        _built(built, computer, progress)


def supply_of(missing: Iterable[Part], spare: Iterable[Part] = ()) -> Supply:
    """Return how the missing parts come, after asking the hosts of releases. `spare` ones are never built."""
    wanted, chosen, arch = tuple(missing), choice(), architecture()
    offered = {
        part: release
        for part in wanted
        if chosen.allowed and _usable(part) and (release := release_of(part, arch))
    }
    urls = {
        release.name: [chosen.address(archive.address(arch)) for archive in release.archives]
        for release in offered.values()
    }
    asked = [url for of_release in urls.values() for url in of_release]
    answering = reachable(asked)
    fetched = {
        part: release for part, release in offered.items() if set(urls[release.name]) <= answering.keys()
    }
    releases = tuple({release.name: release for release in fetched.values()}.values())
    return Supply(
        releases,
        in_order(part for part in wanted if part not in fetched and part not in spare),
        sum(answering[url] for release in releases for url in urls[release.name]) // 1_000_000,
        tuple(dict.fromkeys(urlsplit(url).netloc for url in asked if url not in answering)),
        chosen,
    )


def in_order(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return parts as they are built: first quick ones, by which errors of Go and the network show.

    Of the others the largest come first, so that those that are built at once end together.
    """
    return tuple(sorted(parts, key=lambda part: (part.minutes > 1, -part.minutes)))


def announcement(supply: Supply, computer: Machine) -> str:
    """Return which way the toolchain comes and how long it takes, or "" for no time."""
    lines = []
    if supply.releases:
        size = f", {supply.megabytes} MB" if supply.megabytes else ""
        minutes = max(1, math.ceil(supply.megabytes / _LINE / 60))
        names = ", ".join(f"{release.name} {release.version}" for release in supply.releases)
        speed = f"about {minutes} min at 100 Mbit/s"
        lines.append(f"the toolchain is fetched: official releases{size}, {speed} ({names})")
    if built := [part for part in supply.built if part.minutes]:
        minutes = computer.minutes(sum(part.minutes for part in built))
        names = ", ".join(f"{part.name} {computer.minutes(part.minutes)}" for part in built)
        what = "parts of it are" if supply.releases else "the toolchain is"
        lines.append(
            f"{what} built here, {_why(supply)}: about {minutes} min on "
            f"{computer.cores} core{'s' if computer.cores > 1 else ''} when nothing is cached ({names})"
        )
    if lines:
        lines.append("Ctrl-C interrupts it; the same command goes on from what is there by then")
    return "\n".join(lines)


def _why(supply: Supply) -> str:
    if not supply.chosen.allowed:
        return f"as {DOWNLOAD} says"
    if supply.silent:
        verb = "does" if len(supply.silent) == 1 else "do"
        return f"because {', '.join(supply.silent)} {verb} not answer"
    return "because no release is used for them"


def _fetched(supply: Supply, progress: Progress) -> tuple[Part, ...]:
    """Fetch the releases, and return the parts of those that could not be had. Raises SandboxProblem."""
    jobs = [
        partial(_fetch, release, supply.chosen, f"{number}/{len(supply.releases)}", progress)
        for number, release in enumerate(supply.releases, 1)
    ]
    return tuple(part for parts in side_by_side(jobs, at_once=_FETCHES) for part in parts)


def _fetch(release: Release, chosen: Choice, count: str, progress: Progress, stop: Stop) -> tuple[Part, ...]:
    # To build takes so long, so no download may take longer.
    limit = release.minutes * 60.0
    try:
        fetch(
            release, architecture(), store(), chosen, count=count, progress=progress, seconds=limit, stop=stop
        )
    except NotFetched as reason:
        if reason.url and not reachable([reason.url]):
            host = urlsplit(reason.url).netloc
            raise SandboxProblem(
                f"{reason}\n{host} answered before and does not any more. Connect this machine, and run the "
                "same command again: releases that are there whole are kept. Without network the rest is "
                f"built only where Go has its modules already: {DOWNLOAD}=never does that."
            ) from reason
        progress.say(f"{release.name} cannot be fetched: {reason}")
        return release.parts
    return ()


def _built(parts: tuple[Part, ...], computer: Machine, progress: Progress) -> None:
    tool = go(progress)
    jobs = [
        partial(_build, part, tool, computer, f"{number}/{len(parts)}", progress)
        for number, part in enumerate(parts, 1)
    ]
    quick = sum(part.minutes <= 1 for part in parts)
    try:
        # They compile what all others need too, so that no two others do it at once.
        side_by_side(jobs[:quick], at_once=1)
        side_by_side(jobs[quick:], at_once=computer.builds)
    except SandboxProblem as problem:
        ready = [part.name for part in parts if (store() / part.key).exists()]
        left = [part.name for part in parts if part.name not in ready]
        raise SandboxProblem(
            f"{problem}\nready: {', '.join(ready) or 'none'}; not there yet: {', '.join(left)}"
        ) from problem


def _build(part: Part, tool: Path, computer: Machine, count: str, progress: Progress, stop: Stop) -> None:
    build(part, store(), tool, computer, count=count, progress=progress, stop=stop)


def _usable(part: Part) -> bool:
    """Return whether a release of the part can be used on this machine."""
    return not _keeps_data(part) and (part != EPP or listening.possible())


def _keeps_data(part: Part) -> bool:
    """Return whether clusters that stand may have data of another version, built on this machine.

    A newer etcd may have written them, and that of the release refuses them
    (server/etcdserver/version/downgrade.go of etcd).
    """
    built = (made for made in store().glob(f"{part.name}-*") if "-released-" not in made.name)
    return part == KUBE and any(made.is_dir() for made in built)
