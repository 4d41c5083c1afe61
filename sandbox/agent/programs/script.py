"""Runs the scripts that stand in a container's command: what fetches weights and adapters, what waits for
weights, and what has adapters loaded.

Their images have a shell and Python, and so has this machine. Words and variables that are paths below mounts
are those of folders here.
"""

import os
import sys
from pathlib import Path

from sandbox.agent.environment import environment, expanded
from sandbox.agent.logs import ContainerLog
from sandbox.agent.programs.host import ProgramHost
from sandbox.agent.programs.spawned import Command, SpawnedProgram
from sandbox.agent.programs.volumes import keep, mounts, redirected
from sandbox.child import linked
from sandbox.cluster.companions import python_environment
from sandbox.cluster.objects import Object

_SHELL = "/bin/sh"


class Script(SpawnedProgram):
    """The script of one container, some of whose variables are others here."""

    def __init__(
        self,
        host: ProgramHost,
        pod: Object,
        container: Object,
        folder: Path,
        log: ContainerLog,
        variables: dict[str, str],
    ) -> None:
        super().__init__(host, pod, container, folder, log)
        self._variables = variables

    async def command(self) -> Command:
        variables = await environment(self._host.api, self._pod, self._container) | self._variables
        folders = await mounts(self._host.api, self._pod, self._container, self._folder / "volumes")
        program, *args = (
            redirected(text, folders) for text in expanded(self._container["command"], variables)
        )
        own = {
            "HOME": str(self._folder),
            **{name: redirected(value, folders) for name, value in variables.items()},
        }
        if program == _SHELL:
            return Command(Path(_SHELL), tuple(args), {"PATH": os.environ.get("PATH", "")} | own)
        python = linked(self._host.cluster_folder, "python", Path(sys.executable).resolve())
        return Command(python, tuple(args), python_environment() | own)

    async def started(self) -> None:
        if self._container.get("restartPolicy") == "Always":
            self.goes_on(keep(self._host.api, self._pod, self._container, self._folder / "volumes"))
