"""What a fleet costs the machine while a block runs: its highest memory, and the CPU time of its programs."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from bench.cpu import Spent as OfProgram
from bench.cpu import spent_by_program
from sandbox.processes import PROC, Process, processes_in

# Seconds between two looks; each reads the memory of some dozen processes.
EVERY = 2.0


@dataclass
class Spent:
    """`peak` is the highest memory of sandbox and commands together, in MiB; of what several processes share,
    each has its part. `commands` are the CPU seconds of commands that have ended, such as Pulumi's.
    """

    peak: int = 0
    commands: float = 0.0
    by_program: dict[str, OfProgram] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """CPU seconds of the programs that stand in the sandbox."""
        return sum(spent.seconds for spent in self.by_program.values())

    def __str__(self) -> str:
        used = f"CPU {self.seconds:.0f} s in the sandbox and {self.commands:.0f} s in commands"
        lines = [f"peak memory {self.peak} MiB, {used}"]
        for name, spent in sorted(self.by_program.items(), key=lambda one: -one[1].mebibytes):
            lines.append(f"{name:>30} {spent.count:3} {spent.mebibytes:6} MiB {spent.seconds:8.1f} s")
        return "\n".join(lines)


@contextmanager
def measured(folder: Path) -> Iterator[Spent]:
    """What the programs in a sandbox's folder, and the commands of this process, spend in the block."""
    spent, over = Spent(), Event()
    before = _commands()

    def look() -> None:
        while not over.wait(EVERY):
            running = {process.pid: process for process in (*processes_in(folder), *_descendants())}
            spent.peak = max(spent.peak, sum(process.mebibytes for process in running.values()))

    looking = Thread(target=look)
    looking.start()
    try:
        yield spent
    finally:
        over.set()
        looking.join()
        spent.commands = _commands() - before
        spent.by_program = spent_by_program(folder)
        del spent.by_program["load generator"]  # this process


def _commands() -> float:
    """CPU seconds of the commands that this process has waited for, with those that they started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _descendants() -> list[Process]:
    """The commands that this process runs, and those that they run."""
    parents = {int(entry.name): _parent(int(entry.name)) for entry in PROC.iterdir() if entry.name.isdigit()}
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return [Process(pid, Path()) for pid in found - {os.getpid()}]


def _parent(pid: int) -> int:
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:  # it has ended meanwhile
        return 0
    return int(text.rpartition(")")[2].split()[1])
