"""Keeps what code of others writes past Python, such as a child process, out of the output of a command."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

_STREAMS = (1, 2)
_SHOWN = 60


@dataclass
class Caught:
    """The beginning of what was written to both output streams, known when the block ends."""

    text: str = ""


@contextmanager
def output_caught() -> Iterator[Caught]:
    """Send what is written to the file descriptors of both output streams to a file, until the block ends."""
    caught = Caught()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    with tempfile.TemporaryFile() as file:
        kept = {number: copy for number in _STREAMS if (copy := _copy(number)) is not None}
        try:
            for number in kept:
                os.dup2(file.fileno(), number)
            yield caught
        finally:
            for number, copy in kept.items():
                os.dup2(copy, number)
                os.close(copy)
            file.seek(0)
            caught.text = file.read(_SHOWN * 4).decode(errors="replace").strip()[:_SHOWN]


def _copy(number: int) -> int | None:
    """A second descriptor of an output stream, None for one that is closed."""
    try:
        return os.dup(number)
    except OSError:
        return None
