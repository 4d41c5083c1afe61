"""How many compilers this machine runs at once, and how much memory each of them may fill.

Go's compiler spends some 8 % of a build on collecting garbage that a short-lived process need not collect.
"""

import os
from dataclasses import dataclass
from pathlib import Path

# What the machine has, and the limit of a container where there is one (cgroup v2).
_MEMINFO, _LIMIT = Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")
_GIB = 1 << 30
# What the linker of the largest program needs.
_LINKER = 4 * _GIB
# What a compiler fills at most without collecting, and below which it collects as usual.
_MOST, _LEAST = 3 * _GIB, _GIB
# Two builds keep two cores busy where one links, or waits for its modules. More only need memory.
_BUILDS = 2


@dataclass(frozen=True)
class Machine:
    """What builds have: cores, and bytes of memory."""

    cores: int
    memory: int

    @property
    def builds(self) -> int:
        """How many parts are built at once. Each runs as many compilers as there are cores."""
        return max(1, min(_BUILDS, self.memory // _LINKER))

    @property
    def collection(self) -> dict[str, str]:
        """The variables by which compilers collect garbage only once they fill their share of the memory."""
        share = min(_MOST, self.memory // (self.builds * self.cores))
        return {"GOGC": "off", "GOMEMLIMIT": f"{share >> 20}MiB"} if share >= _LEAST else {}

    def minutes(self, on_two_cores: int) -> int:
        """Return how long that takes here which takes so long on two cores."""
        return max(1, round(on_two_cores * 2 / self.cores))


def machine() -> Machine:
    """Return what this process may use."""
    lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
    available = int(lines["MemAvailable"].split()[0]) << 10
    try:
        limit = _LIMIT.read_text().strip()
    except OSError:
        limit = "max"
    return Machine(len(os.sched_getaffinity(0)), available if limit == "max" else min(available, int(limit)))
