"""Shows what a command waits for: a live line on a terminal, and occasional lines elsewhere."""

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


@dataclass
class Progress:
    """Prints to standard error, so that output can be piped, and keeps the seconds of each step."""

    console: "Console" = field(default_factory=_standard_error)
    seconds: dict[str, float] = field(default_factory=dict)
    _step: str = ""
    _started: float = 0.0
    _shown: float = 0.0
    _status: "Status | None" = None

    def say(self, text: str) -> None:
        """Print a message. Its lines are printed as everything is (see inferfleet/cli/output.py)."""
        for line in text.split("\n"):
            self.console.print(one_line(line), markup=False, emoji=False, soft_wrap=True)

    @contextmanager
    def step(self, name: str, text: str) -> Iterator[None]:
        """Show the step while it runs, and then how long it took. Steps do not nest."""
        self._step, self._started, self._shown = text, time.monotonic(), time.monotonic()
        if self.console.is_terminal:
            self._status = self.console.status(_plain(text))
            self._status.start()
        else:
            self.say(f"{text} ...")
        try:
            yield
        finally:
            if self._status is not None:
                self._status.stop()
                self._status = None
        self.seconds[name] = time.monotonic() - self._started
        self.say(f"{text}: {duration(self.seconds[name])}")

    def tick(self, detail: str) -> None:
        """Show the newest detail of the step. It is meant to be called often."""
        now = time.monotonic()
        elapsed = duration(now - self._started)
        if self._status is not None:
            room = max(20, self.console.width - len(self._step) - 16)
            self._status.update(f"{_plain(self._step)}  {elapsed}  [dim]{_plain(detail[-room:])}[/dim]")
        elif now - self._shown > QUIET:
            self._shown = now
            self.say(f"{self._step} ... {elapsed} {detail}")


def _plain(text: str) -> str:
    """Return the text for a live line, in which brackets would be markup."""
    return one_line(text).replace("[", "(")
