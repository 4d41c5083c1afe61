"""CPU time and memory of the processes of a sandbox, by what they are."""

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from sandbox.processes import PROC, processes_in

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Spent:
    """Of all processes of one name. `by_pid` are the seconds of each since it started."""

    seconds: float
    mebibytes: int
    by_pid: dict[int, float]

    @property
    def count(self) -> int:
        return len(self.by_pid)


def spent_by_program(folder: Path, *, since: dict[str, Spent] | None = None) -> dict[str, Spent]:
    """Of the processes below the folder and their children, and of this one as `load generator`."""
    names: dict[int, tuple[str, int]] = {
        one.pid: (_name(one.pid), one.mebibytes) for one in processes_in(folder)
    }
    for pid, parent in _parents().items():
        if parent in names and pid not in names:
            names[pid] = (_name(pid), _resident(pid))
    names[os.getpid()] = ("load generator", _resident(os.getpid()))
    groups: dict[str, dict[int, float]] = defaultdict(dict)
    memory: dict[str, int] = defaultdict(int)
    for pid, (name, mebibytes) in names.items():
        groups[name][pid] = _cpu(pid)
        memory[name] += mebibytes
    found = {}
    for name, by_pid in groups.items():
        before = since[name].by_pid if since and name in since else {}
        seconds = sum(now - before.get(pid, 0.0) for pid, now in by_pid.items())
        found[name] = Spent(seconds, memory[name], by_pid)
    return found


def _name(pid: int) -> str:
    """The module of a Python process, else the program."""
    words = [os.fsdecode(word) for word in _read(pid, "cmdline").split(b"\0")]
    if "-m" in words[:-1]:
        return words[words.index("-m") + 1]
    return Path(words[0]).name


def _parents() -> dict[int, int]:
    return {
        int(entry.name): int(_stat(int(entry.name))[1]) for entry in PROC.iterdir() if entry.name.isdigit()
    }


def _cpu(pid: int) -> float:
    stat = _stat(pid)
    return (int(stat[11]) + int(stat[12])) / _TICKS


def _resident(pid: int) -> int:
    pages = _read(pid, "statm").split() or [b"0", b"0"]
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


def _stat(pid: int) -> list[str]:
    """From the state on: the name before it may hold spaces. Zeros for a process that ended."""
    return _read(pid, "stat").decode(errors="replace").rpartition(")")[2].split() or ["0"] * 50


def _read(pid: int, name: str) -> bytes:
    try:
        return (PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""
