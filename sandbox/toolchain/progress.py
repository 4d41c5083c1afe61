"""Shows what a command waits for: live lines on a terminal, and occasional lines elsewhere."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inferfleet.documents.wording import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

# Seconds between lines where all lines are kept, as in a CI log.
QUIET = 60.0


def duration(seconds: float) -> str:
    """Return a duration such as 4.2s, 42s or 4m02s."""
    whole = int(seconds)
    if whole >= 60:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{seconds:.1f}s" if seconds < 10 else f"{whole}s"


def _standard_error() -> "Console":
    from rich.console import Console

    return Console(stderr=True, highlight=False)


class Step:
    """One thing that is waited for. Several may run at once, each in a thread."""

    def __init__(self, progress: "Progress", text: str) -> None:
        self._progress = progress
        self.text = text
        self.detail = ""
        self.started = self.shown = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self.started

    def tick(self, detail: str) -> None:
        """Show its newest detail. It is meant to be called often."""
        self.detail = detail
        self._progress.show(self)


@dataclass
class Progress:
    """Prints to standard error, so that output can be piped, and keeps the seconds of each step."""

    console: "Console" = field(default_factory=_standard_error)
    seconds: dict[str, float] = field(default_factory=dict)
    _running: list[Step] = field(default_factory=list)
    _status: "Status | None" = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def say(self, text: str) -> None:
        """Print a message. Its lines are printed as everything is (see inferfleet/cli/output.py)."""
        for line in text.split("\n"):
            self.console.print(one_line(line), markup=False, emoji=False, soft_wrap=True)

    @contextmanager
    def step(self, name: str, text: str) -> Iterator[Step]:
        """Show the step while it runs, and then how long it took."""
        step = Step(self, text)
        if not self.console.is_terminal:
            self.say(f"{text} ...")
        self._change(step, running=True)
        try:
            yield step
        finally:
            self._change(step, running=False)
        self.seconds[name] = step.seconds
        self.say(f"{text}: {duration(step.seconds)}")

    def show(self, step: Step) -> None:
        """Show the newest detail of a step: in the live lines at once, elsewhere now and then."""
        with self._lock:
            if self._status is not None:
                self._status.update(self._live())
                return
            due = not self.console.is_terminal and time.monotonic() - step.shown > QUIET
        if due:
            step.shown = time.monotonic()
            self.say(f"{step.text} ... {duration(step.seconds)} {step.detail}")

    def _change(self, step: Step, *, running: bool) -> None:
        with self._lock:
            (self._running.append if running else self._running.remove)(step)
            if not self.console.is_terminal:
                return
            if self._running and self._status is None:
                self._status = self.console.status(self._live())
                self._status.start()
            elif self._running and self._status is not None:
                self._status.update(self._live())
            elif self._status is not None:
                self._status.stop()
                self._status = None

    def _live(self) -> str:
        return "\n  ".join(self._line(step) for step in self._running)

    def _line(self, step: Step) -> str:
        room = max(20, self.console.width - len(step.text) - 16)
        return f"{_plain(step.text)}  {duration(step.seconds)}  [dim]{_plain(step.detail[-room:])}[/dim]"


def _plain(text: str) -> str:
    """Return the text for a live line, in which brackets would be markup."""
    return one_line(text).replace("[", "(")
