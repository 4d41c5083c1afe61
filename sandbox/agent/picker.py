"""Runs the endpoint picker of one pod: the real program, as its manifest says, at the pod's address."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from inferfleet.profiles.table import profile
from sandbox.agent.access import PodAccess
from sandbox.agent.environment import environment, expanded
from sandbox.agent.logs import ContainerLog
from sandbox.agent.program import CannotStart, Exit
from sandbox.agent.volumes import mounts, redirected
from sandbox.child import end, linked, spawn
from sandbox.cluster.objects import Object
from sandbox.cluster.watching import UNREACHABLE, Api
from sandbox.toolchain.edits import LISTEN_ADDRESS

# The profile whose picker image has the version that the toolchain builds (see toolchain/parts.py).
PROFILE = "gie-1.5"


@dataclass(frozen=True)
class PickerHost:
    """What the pickers of one cluster share: its API server, its folder, and the picker's program."""

    api: Api
    cluster_folder: Path
    program: Path


class Picker:
    """The program of one `epp` container. `folder` is that of its pod."""

    def __init__(
        self, host: PickerHost, pod: Object, container: Object, folder: Path, log: ContainerLog
    ) -> None:
        self._host = host
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
        if why := refusal(container["image"]):
            raise CannotStart("ErrImageNeverPull", why)
        if container.get("command"):
            raise CannotStart("CreateContainerError", "the sandbox runs the image's own entrypoint only")
        try:
            variables = await environment(self._host.api, self._pod, container)
            folders = await mounts(self._host.api, self._pod, container, self._folder / "volumes")
            await self._access.write()
        except UNREACHABLE as error:
            raise CannotStart("CreateContainerError", f"the API server does not answer: {error}") from error
        args = [redirected(argument, folders) for argument in expanded(container.get("args", []), variables)]
        self._running = asyncio.create_task(self._run(args, variables))
        self._process = await asyncio.shield(self._running)
        self._renewal = asyncio.create_task(self._access.renew())

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

    async def _run(self, args: list[str], variables: dict[str, str]) -> asyncio.subprocess.Process:
        program = linked(self._host.cluster_folder, "epp", self._host.program)
        self._log.begin()
        descriptor = self._log.descriptor()
        try:
            return await spawn(
                program,
                *args,
                cwd=self._folder,
                env={
                    "PATH": os.environ.get("PATH", ""),
                    "HOME": str(self._folder),
                    "HOSTNAME": self._pod["metadata"]["name"],
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

    def _close(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()


def refusal(image: str) -> str:
    """Return why the image cannot run here, or ""."""
    available = profile(PROFILE).epp_image
    name, _, tag = available.rpartition(":")
    own_name, _, own_tag = image.partition("@")[0].rpartition(":")
    # A mirror keeps the last part of the name, and the tag.
    if own_tag == tag and own_name.rpartition("/")[2] == name.rpartition("/")[2]:
        return ""
    return (
        f'Container image "{image}" is not in the sandbox, and nothing is run in its place. '
        f"The only endpoint picker here is {available}: use profile {PROFILE}, or a mirror of that image."
    )
