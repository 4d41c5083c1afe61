"""What a container runs, as the agent sees it: it starts or cannot, ends by itself or is stopped."""

import asyncio
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Exit:
    """How it ended; `words` are its own last ones."""

    code: int
    words: str = ""


class CannotStart(Exception):  # noqa: N818 (it is a state of a container, with a reason Kubernetes knows)
    """The container waits: `reason` and `message` are for its status."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Program(Protocol):
    """Started and stopped any number of times, by one container."""

    async def start(self) -> None:
        """It runs. Raises CannotStart."""

    async def ended(self) -> Exit:
        """Waits until it has ended by itself."""

    async def stop(self, grace: float) -> None:
        """It runs no more, after `grace` seconds at the latest. Also if it did not run."""


class Idle:
    """A container the sandbox does not know: it runs, and does nothing."""

    async def start(self) -> None:
        return None

    async def ended(self) -> Exit:
        await asyncio.Event().wait()
        raise AssertionError("unreachable: nobody sets this event")

    async def stop(self, grace: float) -> None:
        return None
