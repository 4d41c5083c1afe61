"""How long the hooks of a container take before its engine gets SIGTERM.

Two readings: what is generated follows `sleep_of`, whose answers do not change with a version, because pods
restart with their grace period. What is advised follows `time_of`, which reads more.
"""

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from inferfleet.api.kinds.base import DAY
from inferfleet.api.pods.spec import LONGEST_SLEEP

# After SIGTERM a gateway may still send requests for some seconds; the sleep outlasts its endpoint updates.
PRE_STOP_SECONDS = 30

# Of zsh nothing is known here.
SHELLS = ("sh", "bash", "dash", "ash")
# A number with a unit, as GNU's sleep takes it
# (https://www.gnu.org/software/coreutils/manual/html_node/sleep-invocation.html).
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": DAY}


def sleep_of(container: Mapping[str, Any]) -> int | None:
    """Return how many seconds preStop of a container takes, 0 without one, None for all but a sleep and the
    command `sleep 15`.
    """
    hook = container.get("lifecycle", {}).get("preStop")
    if not hook:
        return 0
    if "sleep" in hook:
        return int(hook["sleep"].get("seconds", 0))
    command = hook.get("exec", {}).get("command", ())
    if len(command) != 2 or command[0].rpartition("/")[2] != "sleep" or not command[1].isdecimal():
        return None
    return int(command[1])


def time_of(container: Mapping[str, Any]) -> int | None:
    """Return what `sleep_of` does, and also the seconds of a script that is one sleep, and of `sleep 1m`."""
    known = sleep_of(container)
    if known is not None:
        return known
    return _slept(container["lifecycle"]["preStop"].get("exec", {}).get("command", ()))


def outlasting(spec: Mapping[str, Any], *, grace: int) -> int:
    """Return `grace`, or more where a preStop sleep is longer, which the API server refuses.

    After such a sleep a container has as long as after the usual one. No grace period follows one of more
    than a day.
    """
    containers = (*spec.get("initContainers", ()), *spec.get("containers", ()))
    hooks = (container.get("lifecycle", {}).get("preStop") or {} for container in containers)
    longest = max((int(hook.get("sleep", {}).get("seconds", 0)) for hook in hooks), default=0)
    return longest + grace - PRE_STOP_SECONDS if grace < longest <= LONGEST_SLEEP else grace


def _slept(command: Sequence[str]) -> int | None:
    """Return the seconds of a command that sleeps and does nothing else, None for others."""
    if len(command) == 3 and command[0].rpartition("/")[2] in SHELLS:
        return _scripted(command[2]) if re.fullmatch(r"-[a-z]*c", command[1]) else None
    if len(command) < 2 or command[0].rpartition("/")[2] != "sleep":
        return None
    parts = [_DURATION.fullmatch(word) for word in command[1:]]
    seconds = [float(part[1]) * _UNITS[part[2]] for part in parts if part]
    return math.ceil(sum(seconds)) if len(seconds) == len(parts) else None


def _scripted(script: str) -> int | None:
    try:
        words = shlex.split(script.strip().removesuffix(";"))
    except ValueError:
        return None
    if words[:1] == ["exec"]:
        del words[0]
    return _slept(words) if words and words[0].rpartition("/")[2] == "sleep" else None
