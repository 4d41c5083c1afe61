"""An endpoint picker: the real program, as its manifest says, reachable at its pod's address."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferfleet.profiles.table import profile
from sandbox.agent.access import Access
from sandbox.agent.environment import environment, expanded
from sandbox.agent.forward import Forwarding
from sandbox.agent.logs import ContainerLog
from sandbox.agent.program import CannotStart, Exit
from sandbox.agent.volumes import mounts, redirected
from sandbox.child import end, linked, spawn
from sandbox.cluster.ports import held
from sandbox.cluster.watching import UNREACHABLE, Api
from sandbox.problem import SandboxProblem

# The profile whose image is built of the very module the toolchain builds (see toolchain/parts.py).
PROFILE = "gie-1.5"


def refusal(image: str) -> str:
    """Why the image cannot run here, "" when it can: nothing else is run in its place."""
    had = profile(PROFILE).epp_image
    name, _, tag = had.rpartition(":")
    own_name, _, own_tag = image.partition("@")[0].rpartition(":")
    # A mirror keeps the last part of the name and the tag.
    if own_tag == tag and own_name.rpartition("/")[2] == name.rpartition("/")[2]:
        return ""
    return (
        f'Container image "{image}" is not in the sandbox, and nothing is run in its place. '
        f"It has the endpoint picker of {had} only: use profile {PROFILE} here, or a mirror of that image."
    )


# https://github.com/kubernetes-sigs/gateway-api-inference-extension/blob/v1.5.0/pkg/epp/server/options.go
PORT_FLAGS: Mapping[str, int] = {"grpc-port": 9002, "grpc-health-port": 9003, "metrics-port": 9090}


def with_private_ports(args: list[str], private: Sequence[int]) -> tuple[list[str], dict[int, int]]:
    """The arguments, and the ports they said -> those it gets, one of `private` for each of PORT_FLAGS.

    All else stays, also what is wrong.
    """
    said = {**PORT_FLAGS, **_said(args)}
    chosen = dict(zip(said, private, strict=True))
    made, skip = [], False
    for word in args:
        flag, equals, value = _split(word)
        if skip:
            skip = False
        elif flag in PORT_FLAGS and (equals or flag in said):
            number = value if equals else str(said[flag])
            made.append(f"--{flag}={chosen[flag]}" if number.isdecimal() else word)
            skip = not equals
        else:
            made.append(word)
    present = {_split(word)[0] for word in args}
    made += [f"--{flag}={port}" for flag, port in chosen.items() if flag not in present]
    return made, {port: chosen[flag] for flag, port in said.items()}


def _said(args: list[str]) -> dict[str, int]:
    """Ports by flag; of several the last counts, and what is no number the picker itself complains about."""
    said = {}
    for word, following in zip(args, [*args[1:], ""], strict=True):
        flag, equals, value = _split(word)
        number = value if equals else following
        if flag in PORT_FLAGS and number.isdecimal():
            said[flag] = int(number)
    return said


def _split(word: str) -> tuple[str, str, str]:
    flag, equals, value = word.partition("=")
    return (flag.removeprefix("--"), equals, value) if word.startswith("--") else ("", "", "")


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
