"""What this machine has for end-to-end tests, shared out among all processes that run them.

Each group of them (see tests/sharing.py) takes one part while it runs. A part is what two clusters need, by
count of those that ran, and there are as many as fit into the inotify instances, the memory and the cores
left when the tests begin. So any number of processes may run them: those that find no part wait until one
is given back. A part is a lock on a file, which the kernel releases when its holder ends, however it ends;
runs of tests beside each other share the files.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import toolchain

from sandbox.inotify import instances, of_cluster
from sandbox.locking import locked
from sandbox.places import cache_folder

# What two clusters take. Their programs wait more than they work.
INSTANCES, MEBIBYTES, GROUPS_PER_CORE = 2 * of_cluster(), 3072, 2
# Seconds that a group waits for a part: longer than all others take together on a slow machine.
PATIENCE = 6 * 3600


class Machine(NamedTuple):
    """What was there when the tests began: for how many groups at once, and whether the toolchain was."""

    parts: int
    built: bool


_MACHINE = pytest.StashKey[Machine]()


def machine(config: pytest.Config) -> Machine:
    """Return what the process saw that began the tests, whichever of its processes asks."""
    if _MACHINE not in config.stash:
        seen: tuple[int, bool] | None = getattr(config, "workerinput", {}).get("machine")
        cores = len(os.sched_getaffinity(0))
        config.stash[_MACHINE] = (
            Machine(*seen)
            if seen
            else Machine(parts(instances().left, _available(), cores), toolchain.is_there())
        )
    return config.stash[_MACHINE]


def parts(instances: int, mebibytes: int, cores: int) -> int:
    """Return how many groups fit into these, at least one: what that needs, the sandbox counts."""
    return max(1, min(instances // INSTANCES, mebibytes // MEBIBYTES, cores * GROUPS_PER_CORE))


@contextmanager
def part(number: int, folder: Path | None = None) -> Iterator[None]:
    """Hold one of so many parts until the block ends. Who waits first gets one first."""
    folder = folder or cache_folder() / "tests"
    with locked(folder / "next.lock", waiting=lambda process: None):
        file = _taken(number, folder)
    try:
        yield
    finally:
        os.close(file)


def _taken(number: int, folder: Path) -> int:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        for place in range(number):
            file = os.open(folder / f"part-{place}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                continue
            return file
        time.sleep(0.2)
    raise TimeoutError(f"no part of this machine was given back in {PATIENCE} s: see who locks {folder}")


def _available() -> int:
    """Return the memory that programs can still have, in MiB."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    [kibibytes] = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(kibibytes) // 1024
