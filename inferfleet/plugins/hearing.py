"""What code of others prints, logs and warns of, kept to be told as a warning.

In the output of a command it would stand in the middle of JSON.
"""

import io
import logging
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import TextIO

HEED = "Do what it asks for, or take the words out of the plugin"
# Where the words of a thread go. Other threads, such as the program's while a ready hook runs, have none.
_SAID: ContextVar[list[str] | None] = ContextVar("said", default=None)


class _Ear(io.TextIOBase):
    """Stands for an output stream. It is one for all blocks, because code of others may keep it."""

    encoding = "utf-8"
    stream: TextIO

    def write(self, text: str) -> int:
        said = _SAID.get()
        if said is None:
            return self.stream.write(text)
        said.append(text)
        return len(text)

    def close(self) -> None:
        """Stay open, whatever code of others does with its streams."""


_OUT, _ERR = _Ear(), _Ear()
# It takes what loggers let through: of Python's own accord, warnings and errors.
_LOG = logging.StreamHandler(_ERR)
_LOG.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))


@contextmanager
def hearing(said: list[str]) -> Iterator[None]:
    """Add to `said` what this thread prints, logs and warns of until the block ends."""
    if sys.stdout is not _OUT:
        _OUT.stream = sys.stdout
    if sys.stderr is not _ERR:
        _ERR.stream = sys.stderr
    token = _SAID.set(said)
    logging.root.addHandler(_LOG)
    try:
        with redirect_stdout(_OUT), redirect_stderr(_ERR), warnings.catch_warnings():
            warnings.showwarning = _warn
            yield
    finally:
        logging.root.removeHandler(_LOG)
        _SAID.reset(token)


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    sys.stderr.write(f"{category.__name__}: {message} (at {Path(filename).name}:{lineno})\n")


def text_of(said: Iterable[str]) -> str:
    """Return each line of what was said once, parted by semicolons; "" where nothing was said.

    A plugin that is run three times on a template mostly says the same.
    """
    lines = (line.strip() for line in "".join(said).splitlines())
    return "; ".join(dict.fromkeys(line for line in lines if line))
