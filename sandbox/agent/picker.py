"""Runs the endpoint picker of one pod: the real program, as its manifest says, at the pod's address."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from inferfleet.profiles.table import profile
from sandbox.agent.access import PodAccess
from sandbox.agent.environment import environment, expanded
from sandbox.agent.forward import Forwarding
from sandbox.agent.logs import ContainerLog
from sandbox.agent.program import CannotStart, Exit
from sandbox.agent.volumes import mounts, redirected
from sandbox.child import end, linked, spawn
from sandbox.cluster.objects import Object
from sandbox.cluster.ports import held
from sandbox.cluster.watching import UNREACHABLE, Api
from sandbox.problem import SandboxProblem

# The profile whose picker image has the version that the toolchain builds (see toolchain/parts.py).
PROFILE = "gie-1.5"
# The picker's flags for ports, with their defaults.
# https://github.com/kubernetes-sigs/gateway-api-inference-extension/blob/v1.5.0/pkg/epp/server/options.go
PORT_FLAGS: Mapping[str, int] = {"grpc-port": 9002, "grpc-health-port": 9003, "metrics-port": 9090}


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
            variables = await environment(self._host.api, self._pod, container)
            folders = await mounts(self._host.api, self._pod, container, self._folder / "volumes")
            await self._access.write()
        except UNREACHABLE as error:
            raise CannotStart("CreateContainerError", f"the API server does not answer: {error}") from error
        try:
            private = self._ports.enter_context(held(len(PORT_FLAGS)))
        except SandboxProblem as problem:
            raise CannotStart("CreateContainerError", str(problem)) from problem
        expanded_args = expanded(container.get("args", []), variables)
        private_args, ports = with_private_ports(expanded_args, private)
        args = [redirected(argument, folders) for argument in private_args]
        self._forwarding = Forwarding(self._pod["status"]["podIP"], ports)
        try:
            await self._forwarding.open()
        except OSError as error:
            self._close()
            raise CannotStart("CreateContainerError", f"{error.strerror or error}") from error
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


def with_private_ports(args: list[str], private: Sequence[int]) -> tuple[list[str], dict[int, int]]:
    """Return the arguments with other ports, and a map from each port they named to the one it became.

    `private` has one port for each of PORT_FLAGS, whose default counts where the flag is missing. All other
    arguments stay, also invalid ones, about which the picker itself complains.
    """
    named = {**PORT_FLAGS, **_named_ports(args)}
    chosen = dict(zip(named, private, strict=True))
    changed, skip = [], False
    for argument in args:
        flag, equals, value = _split(argument)
        if skip:
            skip = False
        elif flag in PORT_FLAGS and (equals or flag in named):
            number = value if equals else str(named[flag])
            changed.append(f"--{flag}={chosen[flag]}" if number.isdecimal() else argument)
            skip = not equals
        else:
            changed.append(argument)
    present = {_split(argument)[0] for argument in args}
    changed += [f"--{flag}={port}" for flag, port in chosen.items() if flag not in present]
    return changed, {port: chosen[flag] for flag, port in named.items()}


def _named_ports(args: list[str]) -> dict[str, int]:
    """Return the ports by flag. The last of several counts, and values that are no numbers are left out."""
    ports = {}
    for argument, following in zip(args, [*args[1:], ""], strict=True):
        flag, equals, value = _split(argument)
        number = value if equals else following
        if flag in PORT_FLAGS and number.isdecimal():
            ports[flag] = int(number)
    return ports


def _split(argument: str) -> tuple[str, str, str]:
    """Return the name of a long flag, "=" if it is there, and the value behind it."""
    flag, equals, value = argument.partition("=")
    return (flag.removeprefix("--"), equals, value) if argument.startswith("--") else ("", "", "")
