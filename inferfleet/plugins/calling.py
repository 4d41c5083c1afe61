"""Calls code of plugins: whatever it raises, and that it prints or exits, becomes a PluginError.

Messages of a plugin belong into PluginErrors and remarks. What it prints would stand in the middle of the
JSON or YAML of a verb.
"""

import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TextIO, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from inferfleet.api.problems import Mistake, Mistaken
from inferfleet.api.wording import path_of, shown
from inferfleet.plugins.contract import PluginCodeError, PluginError

T = TypeVar("T")
_SHOWN = 60
# Files that an exception of any plugin comes by.
_OURS = (
    f"{Path(__file__).parents[1]}/",
    f"{Path(traceback.__file__).parent}/importlib/",
    "<frozen importlib",
)
# Characters of what a plugin says is wrong: enough for a sentence on each operation of a long patch.
_LONGEST = 1_000
_LONG_NAME = re.compile(r"(?<=\[)[^\[\]]{100,}(?=\])")


class Refusing(PluginError):  # noqa: N818 (it says what the plugin does)
    """Raised where a plugin raised `mistaken(what, next_step)`: something that a person has to fix."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(Mistake(_sentence(mistake), mistake.next_step) for mistake in mistakes)
        super().__init__("; ".join(f"{mistake.what}; {mistake.next_step}" for mistake in self.mistakes))


def _sentence(mistake: Mistake) -> str:
    names = [step for step in mistake.at if isinstance(step, str)]
    what = mistake.what.replace("{field}", names[-1] if names else "it")
    return f"{path_of(mistake.at)}: {what}" if mistake.at else what


class _Heard:
    """Stands for an output stream while code of others runs; `said` gets what is written first, and where."""

    # No io.TextIOBase: to close one, as Python does when it goes, takes longer than many plugins.
    encoding, errors, closed = "utf-8", "replace", False

    def __init__(self, file: str, stream: TextIO, said: list[tuple[str, str]]) -> None:
        self._file, self._stream, self._said = file, stream, said
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() != self._thread:
            return self._stream.write(text)  # another thread's own, such as a warning of a library
        if not self._said and text.strip():
            self._said.append((text.strip()[:_SHOWN], _place(_frame_of(sys._getframe(1), self._file))))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


def call(function: Callable[[], T], *, file: str) -> T:
    """Return what the function returns. Raises PluginError with the line in `file` that failed or printed."""
    result, printed = listened(function, file=file)
    if printed:
        raise PluginCodeError(
            f"{printed}, which would spoil the command's output; raise PluginError, or return Edited with "
            "remarks"
        )
    return result


def listened(function: Callable[[], T], *, file: str) -> tuple[T, str]:
    """Return what the function returns, and what it printed and where, "" for nothing.

    Raises PluginError with the line in `file` that failed.
    """
    streams = sys.stdout, sys.stderr
    said: list[tuple[str, str]] = []
    heard = [_Heard(file, stream, said) for stream in streams]
    sys.stdout, sys.stderr = heard  # as much of a stream as `print` needs
    try:
        result = function()
    except KeyboardInterrupt:
        raise
    except PluginError as error:
        if not _has_text(error):
            what = "raised a PluginError that does not say what is wrong"
            raise PluginCodeError(what + place_of(error.__traceback__, file)) from None
        raise
    except Mistaken as error:
        raise Refusing(error.mistakes) from error
    # Code of others: a KeyError in it must reach the team as a problem with its line, never as a traceback,
    # and the other plugins must still run. So this catches everything on purpose.
    except BaseException as error:
        raise PluginCodeError(failure(error, file)) from error
    finally:
        # A ready hook may end after its time, when the next one has the streams.
        if sys.stdout is heard[0]:
            sys.stdout = streams[0]
        if sys.stderr is heard[1]:
            sys.stderr = streams[1]
    return result, "".join(f"printed {text!r} (at {place})" for text, place in said)


def failure(error: BaseException, file: str) -> str:
    """Return what an exception says, and the line in the file that failed."""
    place = place_of(error.__traceback__, file)
    if isinstance(error, SystemExit):
        return f"ended the program with sys.exit({error.code!r:.20}){place}"
    return f"{_said(error)}{place}"


def shortened(text: str) -> str:
    """Return what a plugin says, at most 1,000 characters of it.

    Of a longer text, long names of entries of lists are shortened first, so that the rule which they break
    stays.
    """
    if len(text) > _LONGEST:
        text = _LONG_NAME.sub(lambda name: shown(name[0]), text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def file_of(function: Callable[..., Any]) -> str:
    """Return the file in which a function of a plugin is defined, "" where that is not known."""
    code = getattr(function, "__code__", None)
    return str(code.co_filename) if code else ""


def place_of(trace: TracebackType | None, file: str) -> str:
    """Return where in the file an exception came by last, or else in code of others: ` (at topology.py:12)`.

    "" where it came by neither: lines of inferfleet and of Python's imports tell nothing about a plugin.
    """
    frames = traceback.extract_tb(trace)
    theirs = [frame for frame in frames if frame.filename == file] or [
        frame for frame in frames if not frame.filename.startswith(_OURS)
    ]
    return f" (at {Path(theirs[-1].filename).name}:{theirs[-1].lineno})" if theirs else ""


def _frame_of(frame: FrameType | None, file: str) -> FrameType | None:
    first = frame
    while frame is not None:
        if frame.f_code.co_filename == file:
            return frame
        frame = frame.f_back
    return first


def _place(frame: FrameType | None) -> str:
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame else "an unknown place"


def _said(error: BaseException) -> str:
    """What an exception says. Its `__str__` is code of others too, and may fail."""
    try:
        if isinstance(error, ValidationError):
            mistakes = error.errors(include_url=False, include_input=False)
            return shortened("; ".join(map(_mistake, mistakes)))
        return shortened(f"{type(error).__name__}: {error}")
    except Exception:  # noqa: BLE001 (code of others)
        return type(error).__name__


def _mistake(error: ErrorDetails) -> str:
    """What pydantic says of one field, on one line and without the address of its documentation."""
    name = path_of(error["loc"])
    if error["type"] in ("frozen_instance", "frozen_field"):
        return f"writes to the field {name} of a config, which cannot be changed"
    return f"makes a model of pydantic that is invalid at {name or 'its top'}: {error['msg']}"


def _has_text(error: PluginError) -> bool:
    """Whether an error says anything. Its `__str__` may be that of others too, and fail."""
    try:
        return bool(str(error).strip()) and error.args != (None,)
    except Exception:  # noqa: BLE001 (code of others)
        return False
