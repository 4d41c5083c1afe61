"""Runs a real program as the manifest of its container says, at the address of its pod."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.agent.environment import environment, expanded
from sandbox.agent.logs import ContainerLog
from sandbox.agent.program import CannotStart
from sandbox.agent.programs.access import PodAccess
from sandbox.agent.programs.host import ProgramHost
from sandbox.agent.programs.images import SUITES, program_of, refusal
from sandbox.agent.programs.listening import Listening
from sandbox.agent.programs.spawned import Command, SpawnedProgram
from sandbox.agent.programs.volumes import mounts, redirected
from sandbox.child import linked
from sandbox.cluster.objects import Object
from sandbox.network.listening import launch
from sandbox.toolchain.edits import LISTEN_ADDRESS

# llm-d's programs always send traces. Without an address they send them to the collector on their own host,
# which in a pod is nobody and here could be the user's.
_COLLECTOR, _SAMPLED = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_SAMPLER_ARG"


@dataclass(frozen=True)
class Started:
    """What a container is started as: a program, its arguments and variables, and folders by mount path."""

    name: str
    args: list[str]
    variables: dict[str, str]
    folders: Mapping[str, Path] = field(default_factory=dict)


class RealProgram(SpawnedProgram):
    """The program that the image of a container tells."""

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
        super().__init__(host, pod, container, folder, log)
        self._images = images
        self._access = PodAccess(host.api, host.cluster_folder / "pki", pod, folder)

    async def command(self) -> Command:
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
        variables = await environment(self._host.api, self._pod, container)
        folders = await mounts(self._host.api, self._pod, container, self._folder / "volumes")
        await self._access.write()
        args = [redirected(argument, folders) for argument in expanded(container.get("args", []), variables)]
        variables = {variable: redirected(value, folders) for variable, value in variables.items()}
        started = self.adapted(Started(name, args, variables, folders))
        self._listening = Listening(self._pod["status"]["podIP"])
        supervisor = self._listening.supervise()
        program, *first = launch(supervisor, linked(self._host.cluster_folder, name, file))
        return Command(program, (*first, *started.args), self._variables(started), inherited=(supervisor,))

    def adapted(self, started: Started) -> Started:
        """Return what is started, as it has to be here."""
        return started

    async def started(self) -> None:
        await self._listening.begin()
        self.goes_on(self._access.renew())

    def _variables(self, started: Started) -> Mapping[str, str]:
        return {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self._folder),
            "HOSTNAME": self._pod["metadata"]["name"],
            **({} if _COLLECTOR in started.variables else {_SAMPLED: "0"}),
            **started.variables,
            "KUBECONFIG": str(self._access.kubeconfig),
            LISTEN_ADDRESS: self._pod["status"]["podIP"],
        }
