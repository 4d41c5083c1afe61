"""Runs the scripts that stand in a container's command: what fetches weights and adapters, what waits for
weights, and what has adapters loaded.

Their images have a shell and Python, and so has this machine. Words and variables that are paths below mounts
are those of folders here.
"""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path

from sandbox.agent.environment import environment, expanded
from sandbox.agent.logs import ContainerLog
from sandbox.agent.program import CannotStart, Exit
from sandbox.agent.programs.real_program import ProgramHost
from sandbox.agent.programs.volumes import mounts, redirected
from sandbox.child import end, linked, spawn
from sandbox.cluster.companions import python_environment
from sandbox.cluster.objects import Object
from sandbox.cluster.watching import UNREACHABLE

_SHELL = "/bin/sh"
# Kubelets take up to a minute.
_SYNC_SECONDS = 1.0


class Script:
    """The script of one container. `folder` is that of its pod, `variables` take the place of its own."""

    def __init__(
        self,
        host: ProgramHost,
        pod: Object,
        container: Object,
        folder: Path,
        log: ContainerLog,
        variables: dict[str, str],
    ) -> None:
        self._host = host
        self._pod = pod
        self._container = container
        self._folder = folder
        self._log = log
        self._variables = variables
        self._process: asyncio.subprocess.Process | None = None
        self._syncing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        try:
            variables = await environment(self._host.api, self._pod, self._container) | self._variables
            folders = await mounts(self._host.api, self._pod, self._container, self._folder / "volumes")
        except UNREACHABLE as error:
            raise CannotStart("CreateContainerError", f"the API server does not answer: {error}") from error
        program, *args = (
            redirected(text, folders) for text in expanded(self._container["command"], variables)
        )
        python = program != _SHELL
        self._log.begin()
        descriptor = self._log.descriptor()
        try:
            self._process = await spawn(
                linked(self._host.cluster_folder, "python", Path(sys.executable).resolve())
                if python
                else Path(_SHELL),
                *args,
                cwd=self._folder,
                env={
                    **(python_environment() if python else {"PATH": os.environ.get("PATH", "")}),
                    "HOME": str(self._folder),
                    **{name: redirected(value, folders) for name, value in variables.items()},
                },
                stdin=asyncio.subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
            )
        finally:
            os.close(descriptor)
        if self._container.get("restartPolicy") == "Always":
            self._syncing = asyncio.create_task(self._sync())

    async def _sync(self) -> None:
        """Keep the files of ConfigMaps and Secrets as they are, as kubelets do, until cancelled."""
        while True:
            await asyncio.sleep(_SYNC_SECONDS)
            with suppress(CannotStart, *UNREACHABLE):
                await mounts(self._host.api, self._pod, self._container, self._folder / "volumes")

    async def ended(self) -> Exit:
        assert self._process is not None  # it was started
        code = await self._process.wait()
        self._end_sync()
        # Kubelets report a signal as shells do: 128 and its number.
        return Exit(code if code >= 0 else 128 - code, self._log.last_words())

    def _end_sync(self) -> None:
        if self._syncing is not None:
            self._syncing.cancel()

    async def stop(self, grace: float) -> None:
        self._end_sync()
        if self._process is not None:
            await end(self._process, grace)
