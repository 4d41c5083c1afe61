"""Where a pod template belongs: role, placement, position in its worker, and what is there for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import Engine, ModelDeployment
from inferfleet.documents.kinds.workers import PodTemplate, Position
from inferfleet.documents.pods.template import engine_container
from inferfleet.documents.wording import path_of
from inferfleet.fleet.roles import (
    engine_of,
    every_pod_serves,
    path_of_args,
    path_of_engine,
    path_of_image,
    path_of_role,
    proxied_port,
    template_path,
    workers_of,
)
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.serving.engines.command_line import WorkerPod, is_written, written_flags
from inferfleet.serving.pod.hardware import Hardware


@dataclass(frozen=True)
class Stand:
    """Which pods a template is of: those of a role on a spot, in one position of workers of a shape.

    `image` is the one that their cluster has for engines of their type, None where it has none. `serving` is
    what the cluster says of serving, without which no template of a deployment with prefill apart is made.
    """

    deployment: ModelDeployment
    spot: Spot
    role: str
    position: Position
    shape: Shape
    hardware: Hardware
    image: str | None = None
    serving: Serving | None = None

    @property
    def answers(self) -> bool:
        """Return whether the engines of these pods listen for requests: those of entries, others may."""
        return self.position == "Entry" or every_pod_serves(self.deployment, self.role, self.shape.pods)

    @property
    def has_proxy(self) -> bool:
        """Return whether a routing proxy takes the requests of these pods."""
        return self.answers and proxied_port(self.deployment, self.role) is not None

    @property
    def engine(self) -> Engine:
        """Return the engine that these pods run."""
        return engine_of(self.deployment, self.role)

    @property
    def path(self) -> str:
        """Return where the template is written in the document."""
        return template_path(self.deployment, self.role, self.position)

    def field(self, at: Sequence[str | int]) -> str:
        """Return where the document says what stands at a place of the template: `spec`, `containers`, ...

        What inferfleet writes is said by fields of the engine, and what no template says by the workers.
        """
        workers = workers_of(self.deployment, self.role)
        place, container = engine_container(self.written.spec)
        rest = tuple(at[3:]) if tuple(at[:3]) == ("spec", "containers", place) else ()
        if rest[:1] == ("image",) and "image" not in container:
            return path_of_image(self.deployment, self.role)
        if rest[:1] == ("args",) and is_written(self.deployment, self.role, self.position):
            pod = WorkerPod(self.deployment, self.role, self.position, self.shape.pods)
            own = int(rest[1]) - len(written_flags(pod)) if len(rest) > 1 else -1
            path = path_of_args(self.deployment, self.role)
            return f"{path}[{own}]" if own >= 0 else path_of_engine(self.deployment, self.role)
        if workers.template is None and workers.entry is None:
            return f"{path_of_role(self.role)}.workers"
        return f"{self.path}.{path_of(at)}"

    @property
    def written(self) -> PodTemplate:
        """Return the template as written. Raises KeyError for followers without one."""
        template = workers_of(self.deployment, self.role).of(self.position)
        if template is None:
            raise KeyError(f"no template for the {self.position} of {self.role}")
        return template
