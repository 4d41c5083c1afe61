"""An endpoint picker: the real program, as its manifest says, reachable at its pod's address."""

import asyncio
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.agent.access import Access
from sandbox.agent.environment import environment, expanded
from sandbox.agent.forward import Forwarding
from sandbox.agent.images import refusal
from sandbox.agent.logs import ContainerLog
from sandbox.agent.picker_args import PORT_FLAGS, with_private_ports
from sandbox.agent.program import CannotStart, Exit
from sandbox.agent.volumes import mounts, redirected
from sandbox.child import end, linked, spawn
from sandbox.ports import held
from sandbox.problem import SandboxProblem
from sandbox.watching import UNREACHABLE, Api

Object = dict[str, Any]


@dataclass(frozen=True)
class Machine:
    """What pickers of one cluster share: its API server, its folder, and the program."""

    api: Api
    cluster_folder: Path
    program: Path


class Picker:
    """The program of one `epp` container. `folder` is the pod's own."""

    def __init__(
        self, machine: Machine, pod: Object, container: Object, folder: Path, log: ContainerLog
    ) -> None:
        self._machine = machine
        self._pod = pod
        self._container = container
        self._folder = folder
        self._log = log
        self._access = Access(machine.api, machine.cluster_folder / "pki", pod, folder)
        self._running: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._ports = ExitStack()
        self._forwarding: Forwarding | None = None
        self._renewal: asyncio.Task[None] | None = None

    async def start(self) -> None:
        container = self._container
        if why := refusal(container["image"]):
            raise CannotStart("ErrImageNeverPull", why)
        if container.get("command"):
            raise CannotStart("CreateContainerError", "the sandbox runs the image's own entrypoint only")
        try:
            variables = await environment(self._machine.api, self._pod, container)
            places = await mounts(self._machine.api, self._pod, container, self._folder / "volumes")
            await self._access.write()
        except UNREACHABLE as error:
            raise CannotStart("CreateContainerError", f"the API server does not answer: {error}") from error
        try:
            private = self._ports.enter_context(held(len(PORT_FLAGS)))
        except SandboxProblem as none:
            raise CannotStart("CreateContainerError", str(none)) from none
        args, ports = with_private_ports(expanded(container.get("args", []), variables), private)
        words = [redirected(word, places) for word in args]
        self._forwarding = Forwarding(self._pod["status"]["podIP"], ports)
        try:
            await self._forwarding.open()
        except OSError as error:
            self._close()
            raise CannotStart("CreateContainerError", f"{error.strerror or error}") from error
        self._running = asyncio.create_task(self._run(words, variables))
        self._process = await asyncio.shield(self._running)
        self._renewal = asyncio.create_task(self._access.renew())

    async def ended(self) -> Exit:
        assert self._process is not None  # it was started
        code = await self._process.wait()
        self._close()
        # A shell's convention for signals, and so the kubelet's.
        return Exit(code if code >= 0 else 128 - code, self._log.last_words())

    async def stop(self, grace: float) -> None:
        if self._running is not None:
            await end(await self._running, grace)
        self._close()

    async def _run(self, words: list[str], variables: dict[str, str]) -> asyncio.subprocess.Process:
        program = linked(self._machine.cluster_folder, "epp", self._machine.program)
        self._log.begin()
        descriptor = self._log.descriptor()
        try:
            return await spawn(
                program,
                *words,
                cwd=self._folder,
                env={
                    "PATH": os.environ.get("PATH", ""),
                    "HOME": str(self._folder),
                    "HOSTNAME": self._pod["metadata"]["name"],
                    **variables,
                    "KUBECONFIG": str(self._access.kubeconfig),
                },
                stdin=asyncio.subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
            )
        finally:
            os.close(descriptor)

    def _close(self) -> None:
        self._ports.close()
        if self._forwarding is not None:
            self._forwarding.close()
        if self._renewal is not None:
            self._renewal.cancel()
