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
    _flush()
    with tempfile.TemporaryFile() as file:
        kept = {number: copy for number in _STREAMS if (copy := _copy(number)) is not None}
        try:
            for number in kept:
                os.dup2(file.fileno(), number)
            yield caught
        finally:
            _flush()
            for number, copy in kept.items():
                os.dup2(copy, number)
                os.close(copy)
            file.seek(0)
            caught.text = file.read(_SHOWN * 4).decode(errors="replace").strip()[:_SHOWN]


def _flush() -> None:
    """Write out what Python still holds back, to where it was written."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        # Code of others may have closed them; a program without a console has none.
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()  # type: ignore[union-attr]


def _copy(number: int) -> int | None:
    """A second descriptor of an output stream, None for one that is closed."""
    try:
        return os.dup(number)
    except OSError:
        return None
