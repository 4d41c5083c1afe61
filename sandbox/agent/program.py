"""The interface of what a container runs: a program that starts or cannot, and ends or is stopped."""

import asyncio
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Exit:
    """The exit code of a program, and its own last message if it left one."""

    code: int
    message: str = ""


class CannotStart(Exception):  # noqa: N818 (a state of a container, with a reason that Kubernetes knows)
    """A container that cannot start and waits. `reason` and `message` go into its status."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class ContainerProgram(Protocol):
    """A program of one container, which is started and stopped any number of times."""

    async def start(self) -> None:
        """Start the program. Raises CannotStart."""

    async def ended(self) -> Exit:
        """Wait until the program has ended by itself, and return how."""

    async def stop(self, grace: float) -> None:
        """End the program, if it runs, within `grace` seconds."""


class Idle:
    """The program of a container that the sandbox does not know: it runs and does nothing."""

    async def start(self) -> None:
        return None

    async def ended(self) -> Exit:
        await asyncio.Event().wait()
        raise AssertionError("unreachable: nobody sets this event")

    async def stop(self, grace: float) -> None:
        return None
