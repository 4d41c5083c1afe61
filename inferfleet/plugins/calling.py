"""Calls code of plugins: whatever it raises, and that it prints or exits, becomes a PluginError.

Messages of a plugin belong into PluginErrors and remarks. What it prints would stand in the middle of the
JSON or YAML of a verb.
"""

import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType, TracebackType
from typing import TypeVar

from inferfleet.plugins.contract import Plugin, PluginError

T = TypeVar("T")
_SHOWN = 60


class _Heard:
    """Stands for both output streams while code of others runs, and keeps what is written first and where."""

    # No io.TextIOBase: to close one, as Python does when it goes, takes longer than many plugins.
    encoding, errors, closed = "utf-8", "replace", False

    def __init__(self, file: str) -> None:
        self.text, self.place, self._file = "", "", file

    def write(self, text: str) -> int:
        if not self.place and text.strip():
            self.text = text.strip()[:_SHOWN]
            self.place = _place(_frame_of(sys._getframe(1), self._file))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


def call(function: Callable[[], T], *, file: str) -> T:
    """Return what the function returns. Raises PluginError with the line in `file` that failed."""
    heard, streams = _Heard(file), (sys.stdout, sys.stderr)
    sys.stdout = sys.stderr = heard  # as much of a stream as `print` needs
    try:
        result = function()
    except KeyboardInterrupt:
        raise
    except PluginError as error:
        if not _has_text(error):
            place = place_of(error.__traceback__, file)
            raise PluginError(f"raised a PluginError that does not say what is wrong (at {place})") from None
        raise
    # Code of others: a KeyError in it must reach the team as a problem with its line, never as a traceback,
    # and the other plugins must still run. So this catches everything on purpose.
    except BaseException as error:
        raise PluginError(failure(error, file)) from error
    finally:
        sys.stdout, sys.stderr = streams
    if heard.place:
        raise PluginError(
            f"printed {heard.text!r} (at {heard.place}), which would spoil the command's "
            "output; raise PluginError, or return Edited with remarks"
        )
    return result


def failure(error: BaseException, file: str) -> str:
    """Return what an exception says, and the line in the file that failed."""
    place = place_of(error.__traceback__, file)
    if isinstance(error, SystemExit):
        return f"ended the program with sys.exit({error.code!r:.20}) (at {place})"
    return f"{_said(error)} (at {place})"


def file_of(plugin: Plugin) -> str:
    """Return the file in which `edit` is defined, "" where that is not known."""
    code = getattr(plugin.edit, "__code__", None)
    return str(code.co_filename) if code else ""


def place_of(trace: TracebackType | None, file: str) -> str:
    """Return where in the file an exception came by last, or else where it was raised: `topology.py:12`."""
    frames = traceback.extract_tb(trace)
    last = next((frame for frame in reversed(frames) if frame.filename == file), frames[-1])
    return f"{Path(last.filename).name}:{last.lineno}"


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
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 (code of others)
        return type(error).__name__


def _has_text(error: PluginError) -> bool:
    """Whether an error says anything. Its `__str__` may be that of others too, and fail."""
    try:
        return bool(str(error).strip())
    except Exception:  # noqa: BLE001 (code of others)
        return False
