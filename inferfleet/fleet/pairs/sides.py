"""Prefill and decode as their documents have them: the command lines that are compared with each other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inferfleet.api.kinds.containers import engine_container
from inferfleet.api.kinds.inference_cluster import Images
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.workers import Position, Topology
from inferfleet.api.problems import Problem, Severity
from inferfleet.api.wording import path_of
from inferfleet.fleet.engines.flags import Flags, flags_of, model_of
from inferfleet.fleet.engines.kv_transfer import Transfer, transfer_of
from inferfleet.fleet.engines.launchers import launcher
from inferfleet.fleet.engines.ready import other_engine
from inferfleet.fleet.engines.repeated import Line, place_of
from inferfleet.fleet.engines.words import Command, Steps, command_of
from inferfleet.fleet.roles import DECODE, engine_of, image_of, serving_roles, template_path, workers_of
from inferfleet.profiles.engines import EngineDefaults, engine
from inferfleet.profiles.meanings import AnyMeaning


@dataclass(frozen=True)
class Side:
    """The pods in one position of a role, by the template that is written for them."""

    deployment: ModelDeployment
    role: str
    position: Position
    spec: Mapping[str, Any]
    command: Command
    flags: Flags
    transfer: Transfer | None

    @property
    def name(self) -> str:
        """Return the pods as messages name them."""
        return self.role if self.position == "Entry" else f"a follower of {self.role}"

    @property
    def table(self) -> EngineDefaults:
        """Return the flags and defaults of the engine."""
        return engine(engine_of(self.deployment, self.role).type)

    @property
    def topology(self) -> Topology:
        """Return the topology of the role."""
        return workers_of(self.deployment, self.role).topology

    @property
    def image(self) -> str | None:
        """Return the image that the template names."""
        return engine_container(self.spec)[1].get("image")

    def image_of(self, images: Sequence[Images]) -> str | None:
        """Return the image of the template, or else that of the clusters, where they have the same."""
        if self.image:
            return self.image
        found = {image_of(self.deployment, self.role, of) for of in images}
        return found.pop() if len(found) == 1 else None

    @property
    def connectors(self) -> tuple[str, ...]:
        """Return the classes that hand KV caches on, as far as the command line names them."""
        return self.transfer.connectors if self.transfer else ()

    @property
    def model(self) -> str | None:
        """Return the model of the command line, as written."""
        word = model_of(self.command, self.flags, self.table)
        return word.text if word else None

    @property
    def whole(self) -> Steps:
        """Return the place of the command line as a whole."""
        return place_of(self.command)

    def lacks(self, meaning: AnyMeaning) -> bool:
        """Return whether a flag is surely not given: nothing that is not read here may add it."""
        return Line(self.command, self.flags).lacks(meaning, self.table)

    def variable(self, name: str) -> tuple[str, Steps] | None:
        """Return the value of a variable of the engine, and its place; None without one that is known."""
        place, container = engine_container(self.spec)
        for i, variable in enumerate(container.get("env", [])):
            if variable["name"] == name and name in self.command.env:
                return self.command.env[name], ("spec", "containers", place, "env", i, "value")
        return None

    def path(self, at: Steps) -> str:
        """Return where a place of the pod's spec is written in the document."""
        return f"{template_path(self.deployment, self.role, self.position)}.{path_of(at)}"

    def problem(
        self,
        what: str,
        next_step: str,
        at: Steps,
        *,
        severity: Severity = "error",
        beside: tuple["Side", Steps] | None = None,
    ) -> Problem:
        """Return a problem in the line of a place of these pods, with that of another side beside it."""
        return Problem(
            what,
            next_step,
            self.path(at),
            kind="ModelDeployment",
            key=self.deployment.metadata.key,
            severity=severity,
            beside=beside[0].path(beside[1]) if beside else "",
        )


def sides(deployment: ModelDeployment) -> tuple[Side, ...]:
    """Return decode and prefill, entries before followers that have a template of their own.

    Those whose command lines cannot be read are left out, as are followers that lend Ray their GPUs.
    """
    return tuple(side for role in serving_roles(deployment) for side in _of_role(deployment, role))


def _of_role(deployment: ModelDeployment, role: str) -> Iterator[Side]:
    workers, kind = workers_of(deployment, role), engine_of(deployment, role).type
    positions: tuple[Position, ...] = ("Entry",) if workers.template else ("Entry", "Follower")
    for position in positions:
        template = workers.of(position)
        if template is None:
            continue
        command = command_of(template.spec)
        lent = position == "Follower" and (launcher(command) is not None or kind == "TensorRT-LLM")
        if command.unclosed or lent or other_engine(command, kind):
            continue
        flags = flags_of(command, engine(kind))
        yield Side(deployment, role, position, template.spec, command, flags, transfer_of(command, flags))


def entry_of(found: tuple[Side, ...], role: str = DECODE) -> Side | None:
    """Return the entry of a role among the sides, None where it could not be read."""
    return next((side for side in found if (side.role, side.position) == (role, "Entry")), None)
