"""Becomes another program, which the kernel kills when the process that started it ends.

It is run as `python -I -S with_parent.py PARENT PROGRAM [ARGUMENT ...]`, and imports nothing but the standard
library so that it starts in a hundredth of a second.
"""

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1  # prctl(2)


def main(parent: int, program: str, *arguments: str) -> None:
    """Replace this process by the program. Never returns."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended before the call
        sys.exit(f"{program} was not started: process {parent} has ended")
    try:
        os.execve(program, [program, *arguments], _given_environment())
    except OSError as error:
        sys.exit(f"{program} could not be started: {error.strerror}")


def _given_environment() -> dict[bytes, bytes]:
    """Return the environment this process was given: Python adds a locale to its own when there is none."""
    with open("/proc/self/environ", "rb") as file:
        pairs = (variable.partition(b"=") for variable in file.read().split(b"\0"))
        return {name: value for name, equals, value in pairs if equals}


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
