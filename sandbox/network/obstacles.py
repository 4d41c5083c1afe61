"""Whether this user may make network namespaces on this machine, and which setting would allow it."""

import errno
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.processes import PROC

# What a kernel or distribution forbids it by: the file of a setting below /proc/sys, the value that forbids,
# and one that allows. Debian's kernels have the first, Ubuntu's AppArmor has the second from 23.10 on; the
# others are of user_namespaces(7) and namespaces(7).
_SETTINGS = (
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("user/max_user_namespaces", "0", "15000"),
    ("user/max_net_namespaces", "0", "15000"),
)


# Container runtimes mount /proc/sys so that it is only read, and root alone does without writing there.
_READ_ONLY = (
    "Run it as root of the container, or let /proc/sys be written: "
    "`docker run --security-opt systempaths=unconfined`, or `procMount: Unmasked` of a pod's securityContext"
)


@dataclass(frozen=True)
class Obstacle:
    """Why no network namespace can be made: the kernel's word, and what would allow it."""

    why: str
    step: str

    def __str__(self) -> str:
        return f"this machine does not let you make a network namespace ({self.why}). {self.step}"


def obstacle() -> Obstacle | None:
    """Return why this user cannot make a network namespace; None when it can, which is tried."""
    program = Path(__file__).with_name("namespace.py")
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(program)], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    lines = done.stderr.strip().splitlines() or [f"its attempt ended with code {done.returncode}"]
    if lines[-1] == os.strerror(errno.EROFS):
        return Obstacle(f"/proc/sys: {lines[-1]}", _READ_ONLY)
    values = {name: _value(PROC / "sys" / name) for name, _, _ in _SETTINGS}
    return Obstacle(meant(lines[-1]), step(values))


def meant(word: str) -> str:
    """Return what the kernel means by its word: unshare(2) has none of its own for a limit."""
    return "the limit of their number is reached" if word == os.strerror(errno.ENOSPC) else word


def step(values: Mapping[str, str]) -> str:
    """Return what would allow network namespaces, by the values of settings ("" for none)."""
    commands = [
        f"sudo sysctl {name.replace('/', '.')}={allows}"
        for name, forbids, allows in _SETTINGS
        if values.get(name) == forbids
    ]
    if commands:
        return f"To allow it: {' && '.join(commands)}"
    return "In a container it takes the capability SYS_ADMIN, or a seccomp profile that allows unshare(2)"


def _value(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
