"""Programs of containers that are one process of this machine: how all of them start and end."""

import asyncio
import os
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.agent.logs import ContainerLog
from sandbox.agent.program import CannotStart, Exit
from sandbox.agent.programs.host import ProgramHost
from sandbox.child import end, spawn
from sandbox.cluster.objects import Object
from sandbox.cluster.watching import UNREACHABLE, ApiError


@dataclass(frozen=True)
class Command:
    """What is started in the folder of the pod. Descriptors that it inherits are closed here afterwards.

    Without `variables` it has those of the agent.
    """

    program: Path
    args: tuple[str, ...]
    variables: Mapping[str, str] | None = None
    inherited: tuple[int, ...] = ()


class SpawnedProgram:
    """The program of one container. Subclasses say what is started; `folder` is that of its pod."""

    def __init__(
        self, host: ProgramHost, pod: Object, container: Object, folder: Path, log: ContainerLog
    ) -> None:
        self._host = host
        self._pod = pod
        self._container = container
        self._folder = folder
        self._log = log
        self._running: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._beside: list[asyncio.Task[None]] = []

    async def command(self) -> Command:
        """Return what is started. Raises CannotStart, and what the API server's absence raises."""
        raise NotImplementedError

    async def started(self) -> None:
        """Do what the process waits for, and begin what goes on beside it."""

    def goes_on(self, beside: Coroutine[Any, Any, None]) -> None:
        """Run something until the process has ended."""
        self._beside.append(asyncio.create_task(beside))

    async def drained(self, process: asyncio.subprocess.Process, grace: float) -> float:
        """Let the program finish before it is told to end. Return the seconds that are left for its end."""
        return grace

    async def start(self) -> None:
        try:
            command = await self.command()
        except (ApiError, *UNREACHABLE) as error:
            raise CannotStart("CreateContainerError", f"the API server does not answer: {error}") from error
        self._running = asyncio.create_task(self._spawned(command))
        # Whoever cancels this ends the process by `stop`, so it must be known.
        self._process = await asyncio.shield(self._running)

    async def ended(self) -> Exit:
        assert self._process is not None  # it was started
        code = await self._process.wait()
        self._end_beside()
        # Kubelets report a signal as shells do: 128 and its number.
        return Exit(code if code >= 0 else 128 - code, self._log.last_words())

    async def stop(self, grace: float) -> None:
        if self._running is None:
            return
        process = await self._running
        if process.returncode is None and grace > 0:
            grace = await self.drained(process, grace)
        await end(process, grace)
        self._end_beside()

    def _end_beside(self) -> None:
        for task in self._beside:
            task.cancel()
        self._beside.clear()

    async def _spawned(self, command: Command) -> asyncio.subprocess.Process:
        self._log.begin()
        descriptor = self._log.descriptor()
        try:
            process = await spawn(
                command.program,
                *command.args,
                cwd=self._folder,
                env=command.variables,
                pass_fds=command.inherited,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
            )
        finally:
            for one in (descriptor, *command.inherited):
                os.close(one)
        await self.started()
        return process
