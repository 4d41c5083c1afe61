"""How many inotify instances this user has left, and whether the programs of clusters can start with them.

The kernel counts them for each user over all programs, and a program that gets none ends as it starts, or
goes on and sees no change of its files.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.problem import SandboxProblem
from sandbox.processes import PROC

LIMIT = "fs.inotify.max_user_instances"
# How many the programs of one cluster hold at most. An end-to-end test counts them. Not every cluster has the
# controller of LeaderWorkerSets, which watches the certificate of its webhooks.
OF_CLUSTER = {"kube-apiserver": 4, "kube-controller-manager": 1, "envoy": 3, "lws-controller": 1}
# For the mesh's configuration, the templates of pods, and certificates.
OF_ISTIO = {"istiod": 3}
# Programs shown, of those that hold most.
_SHOWN = 5


@dataclass(frozen=True)
class Instances:
    """The kernel's limit of instances for this user, and how many each of the user's programs holds."""

    limit: int
    held: Mapping[str, int] = field(default_factory=dict)

    @property
    def left(self) -> int:
        """How many the user may still have."""
        return max(0, self.limit - sum(self.held.values()))

    def refuse_too_few(self, needed: int, what: str) -> None:
        """Raise SandboxProblem when `what` needs more than the user has left."""
        if needed <= self.left:
            return
        most = sorted(self.held.items(), key=lambda one: (-one[1], one[0]))
        shown = [f"{program} {count}" for program, count in most[:_SHOWN]]
        shown += [f"others {rest}"] if (rest := sum(count for _, count in most[_SHOWN:])) else []
        enough = self.limit - self.left + needed
        raise SandboxProblem(
            f"{what} needs {needed} inotify instances, and you have {self.left} left of {self.limit} "
            f"({LIMIT}). Held by your programs: {', '.join(shown) or 'none'}. End some of them, such as "
            "other sandboxes by `inferfleet sandbox down`, or raise the limit: "
            f"`sudo sysctl {LIMIT}={enough}`."
        )


def instances() -> Instances:
    """Return what the kernel allows and what processes of this user hold, by program.

    Coarse on purpose: an instance that a process has left to its child is counted for both.
    """
    held: Counter[str] = Counter()
    for entry in os.scandir(PROC):
        try:
            if entry.name.isdigit() and entry.stat().st_uid == os.getuid():
                held += Counter({_name(Path(entry.path)): held_by(int(entry.name))})
        except OSError:  # it has ended meanwhile, or lets nobody look
            continue
    return Instances(int((PROC / "sys" / LIMIT.replace(".", "/")).read_text()), dict(held))


def of_cluster(*, istio: bool = False) -> int:
    """Return how many the programs of one cluster take, with one Gateway."""
    return sum(OF_CLUSTER.values()) + (sum(OF_ISTIO.values()) if istio else 0)


def held_by(pid: int) -> int:
    """Return how many instances a process holds. Raises OSError when it has ended or is another user's."""
    count = 0
    for entry in os.scandir(PROC / str(pid) / "fd"):
        with contextlib.suppress(OSError):  # it has been closed meanwhile
            count += os.readlink(entry.path) == "anon_inode:inotify"
    return count


def _name(process: Path) -> str:
    """Return the name of the program as it was called: companions are Pythons by names of their own."""
    called = Path(os.fsdecode((process / "cmdline").read_bytes().split(b"\0", 1)[0])).name
    return called or (process / "comm").read_text().strip()
