"""Measures CPU time and memory of the processes of a sandbox, by program."""

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from sandbox.processes import PROC, processes_in

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Spent:
    """The CPU seconds and memory of all processes of one program.

    `by_pid` has the seconds of each process since its start.
    """

    seconds: float
    mebibytes: int
    by_pid: dict[int, float]

    @property
    def count(self) -> int:
        """How many processes there are."""
        return len(self.by_pid)


def spent_by_program(folder: Path, *, since: dict[str, Spent] | None = None) -> dict[str, Spent]:
    """Return what each program spent, in total or since an earlier answer.

    Counted are the processes started from the folder, their children, and this process as `load generator`.
    """
    processes: dict[int, tuple[str, int]] = {
        process.pid: (_name(process.pid), process.mebibytes) for process in processes_in(folder)
    }
    for pid, parent in _parents().items():
        if parent in processes and pid not in processes:
            processes[pid] = (_name(pid), resident_mebibytes(pid))
    processes[os.getpid()] = ("load generator", resident_mebibytes(os.getpid()))
    groups: dict[str, dict[int, float]] = defaultdict(dict)
    memory: dict[str, int] = defaultdict(int)
    for pid, (name, mebibytes) in processes.items():
        groups[name][pid] = cpu_seconds(pid)
        memory[name] += mebibytes
    spent = {}
    for name, by_pid in groups.items():
        before = since[name].by_pid if since and name in since else {}
        seconds = sum(now - before.get(pid, 0.0) for pid, now in by_pid.items())
        spent[name] = Spent(seconds, memory[name], by_pid)
    return spent


def _name(pid: int) -> str:
    """Return the module of a Python process, or the program's name."""
    words = [os.fsdecode(word) for word in _read(pid, "cmdline").split(b"\0")]
    if "-m" in words[:-1]:
        return words[words.index("-m") + 1]
    return Path(words[0]).name


def _parents() -> dict[int, int]:
    return {
        int(entry.name): int(_stat(int(entry.name))[1]) for entry in PROC.iterdir() if entry.name.isdigit()
    }


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process since its start."""
    stat = _stat(pid)
    return (int(stat[11]) + int(stat[12])) / _TICKS


def resident_mebibytes(pid: int) -> int:
    """Return the memory that a process has now (RSS)."""
    pages = _read(pid, "statm").split() or [b"0", b"0"]
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


def _stat(pid: int) -> list[str]:
    """Return the fields of the process from its state on, or zeros for a process that has ended.

    They are split behind the program's name, which may contain spaces.
    """
    return _read(pid, "stat").decode(errors="replace").rpartition(")")[2].split() or ["0"] * 50


def _read(pid: int, name: str) -> bytes:
    try:
        return (PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""
