"""Becomes another program, which the kernel kills when the process that started it ends.

`python -I -S with_parent.py PARENT PROGRAM [ARGUMENT ...]`: it starts in a hundredth of a second and knows
nothing but the standard library.
"""

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1  # prctl(2)


def main(parent: int, program: str, *arguments: str) -> None:
    """Never returns."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the kernel knew
        sys.exit(f"{program} was not started: process {parent} has ended")
    try:
        os.execve(program, [program, *arguments], _given())
    except OSError as error:
        sys.exit(f"{program} could not be started: {error.strerror}")


def _given() -> dict[bytes, bytes]:
    """The environment as it came: Python itself adds a locale where there is none."""
    with open("/proc/self/environ", "rb") as file:
        pairs = (one.partition(b"=") for one in file.read().split(b"\0"))
        return {name: value for name, equals, value in pairs if equals}


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
