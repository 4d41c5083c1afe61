"""Runs a real program as the manifest of its container says, at the address of its pod."""

import asyncio
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.agent.environment import environment, expanded
from sandbox.agent.logs import ContainerLog
from sandbox.agent.program import CannotStart, Exit
from sandbox.agent.programs.access import PodAccess
from sandbox.agent.programs.images import SUITES, program_of, refusal
from sandbox.agent.programs.listening import Listening
from sandbox.agent.programs.volumes import mounts, redirected
from sandbox.child import end, linked, spawn
from sandbox.cluster.objects import Object
from sandbox.cluster.watching import UNREACHABLE, Api
from sandbox.network.listening import launch
from sandbox.places import StackPlaces
from sandbox.toolchain.edits import LISTEN_ADDRESS

# llm-d's programs always send traces. Without an address they send them to the collector on their own host,
# which in a pod is nobody and here could be the user's.
_COLLECTOR, _SAMPLED = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_SAMPLER_ARG"


@dataclass(frozen=True)
class ProgramHost:
    """What the programs of one cluster share: its API server, and the folders of its stack and of its own."""

    api: Api
    places: StackPlaces
    cluster_folder: Path

    def find(self, name: str) -> Path | None:
        """Return the file of a program, which may have been built since this process began."""
        found = shutil.which(name)
        return Path(found).resolve() if found else None


@dataclass(frozen=True)
class Started:
    """What a container is started as: a program, its arguments and variables, and folders by mount path."""

    name: str
    args: list[str]
    variables: dict[str, str]
    folders: Mapping[str, Path] = field(default_factory=dict)


class RealProgram:
    """The program of one container, which its image tells. `folder` is that of its pod."""

    # Whether a container that names a program is refused: that of the image is run.
    entrypoint_only = True

    def __init__(
        self,
        host: ProgramHost,
        images: Mapping[str, str],
        pod: Object,
        container: Object,
        folder: Path,
        log: ContainerLog,
    ) -> None:
        self._host = host
        self._images = images
        self._pod = pod
        self._container = container
        self._folder = folder
        self._log = log
        self._access = PodAccess(host.api, host.cluster_folder / "pki", pod, folder)
        self._running: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._renewal: asyncio.Task[None] | None = None

    async def start(self) -> None:
        container = self._container
        name = program_of(container["image"], self._images)
        if name is None:
            raise CannotStart("ErrImageNeverPull", refusal(container["image"], self._images))
        file = self._host.find(name)
        if file is None:
            builds = "make conformance" if self._images is SUITES else "inferfleet sandbox up"
            raise CannotStart("ErrImageNeverPull", f"{name} is not built. `{builds}` builds it.")
        if container.get("command") and self.entrypoint_only:
            raise CannotStart("CreateContainerError", "the sandbox runs the image's own entrypoint only")
        try:
            variables = await environment(self._host.api, self._pod, container)
            folders = await mounts(self._host.api, self._pod, container, self._folder / "volumes")
            await self._access.write()
        except UNREACHABLE as error:
            raise CannotStart("CreateContainerError", f"the API server does not answer: {error}") from error
        args = [redirected(argument, folders) for argument in expanded(container.get("args", []), variables)]
        variables = {variable: redirected(value, folders) for variable, value in variables.items()}
        started = self.adapted(Started(name, args, variables, folders))
        self._running = asyncio.create_task(self._run(name, file, started.args, started.variables))
        self._process = await asyncio.shield(self._running)
        self._renewal = asyncio.create_task(self._access.renew())

    def adapted(self, started: Started) -> Started:
        """Return what is started, as it has to be here."""
        return started

    async def ended(self) -> Exit:
        assert self._process is not None  # it was started
        code = await self._process.wait()
        self._close()
        # Kubelets report a signal as shells do: 128 and its number.
        return Exit(code if code >= 0 else 128 - code, self._log.last_words())

    async def stop(self, grace: float) -> None:
        if self._running is not None:
            await end(await self._running, grace)
        self._close()

    async def _run(
        self, name: str, file: Path, args: list[str], variables: dict[str, str]
    ) -> asyncio.subprocess.Process:
        program = linked(self._host.cluster_folder, name, file)
        self._log.begin()
        descriptor = self._log.descriptor()
        listening = Listening(self._pod["status"]["podIP"])
        supervisor = listening.supervise()
        try:
            process = await spawn(
                *launch(supervisor, program),
                *args,
                cwd=self._folder,
                pass_fds=(supervisor,),
                env={
                    "PATH": os.environ.get("PATH", ""),
                    "HOME": str(self._folder),
                    "HOSTNAME": self._pod["metadata"]["name"],
                    **({} if _COLLECTOR in variables else {_SAMPLED: "0"}),
                    **variables,
                    "KUBECONFIG": str(self._access.kubeconfig),
                    LISTEN_ADDRESS: self._pod["status"]["podIP"],
                },
                stdin=asyncio.subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
            )
        finally:
            os.close(descriptor)
            os.close(supervisor)
        await listening.begin()
        return process

    def _close(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
