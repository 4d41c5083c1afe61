"""Who schedules the pods of models, in which queue, and what has to start together or close together.

The same block stands in a cluster and in a deployment. A deployment says only what differs from its cluster,
so what the fields contradict is known once both are laid together: `fleet.scheduling` does that, with the
rules of `scheduler_mistakes`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from inferfleet.documents.kinds.base import StrictModel
from inferfleet.documents.pods.texts import LABEL_KEY, SUBDOMAIN
from inferfleet.documents.problems import Mistake, Mistaken, mistaken
from inferfleet.documents.wording import shown

SchedulerType = Literal["None", "Volcano", "KAI", "Kueue"]
# A queue is an object of Kubernetes, and a label of workloads has its name.
QueueName = Annotated[str, replace(SUBDOMAIN, words=SUBDOMAIN.words.replace("253", "63"), limit=63)]


# Tiers count the levels of switches, of which networks have few; more digits are none of a CRD's int32.
_HIGHEST_TIER = 2**31 - 1


def _check_level(level: int | str) -> int | str:
    if isinstance(level, int) and level < 0:
        raise mistaken(f"tier {level} is below the lowest, 0", "Write 0 or more")
    if isinstance(level, int) and level > _HIGHEST_TIER:
        raise mistaken(f"tier {shown(str(level))} is above the highest, {_HIGHEST_TIER}", "Write less")
    if isinstance(level, str) and not LABEL_KEY.allows(level):
        next_step = "Write it like cloud.google.com/gce-topology-block"
        raise mistaken(f"{{field}} {shown(level)!r} must be {LABEL_KEY.words}", next_step)
    return level


Level = Annotated[int | str, AfterValidator(_check_level)]


class Closeness(StrictModel):
    """How close to each other the nodes of a worker of several pods are, by a level of the network. It is a
    label key of nodes such as `cloud.google.com/gce-topology-block` (Kueue and KAI, whose Topology lists
    them), or a tier of HyperNodes by its number or name (Volcano).
    """

    name: Annotated[str, SUBDOMAIN] | None = None
    """The Topology of KAI that has the levels. Required with KAI, and refused with the others."""
    required: Level | None = None
    """Level that the nodes of a worker must share, or it waits: Kthena's mode `hard`. Default: none."""
    preferred: Level | None = None
    """Level that the nodes of a worker share where that is possible: Kthena's mode `soft`. Only KAI takes it
    beside `required`; default: none.
    """

    @model_validator(mode="after")
    def _check_not_empty(self) -> "Closeness":
        if self.required is None and self.preferred is None:
            raise mistaken("{field} names no level", "Write required or preferred")
        return self


class Scheduler(StrictModel):
    """Who schedules the pods of models, and in which queue they wait."""

    type: SchedulerType | None = None
    """`Volcano` and `KAI` schedule pods; `Kueue` holds them back until their queue has room, and Kubernetes'
    own scheduler does the rest; `None` is that scheduler alone. Default: `None` for a cluster, and for a
    deployment that of its cluster.
    """
    queue: QueueName | None = None
    """Queue that the pods wait in: a Queue of Volcano or KAI, a LocalQueue of Kueue in the deployment's
    namespace. Default: `default` with Volcano; with KAI and Kueue cluster or deployment must name one.
    """
    scheduler_name: Annotated[str, SUBDOMAIN] | None = None
    """Name under which the scheduler runs (`schedulerName` of pods). Default: `volcano` or `kai-scheduler`,
    and with Kueue what the template says.
    """
    topology: Closeness | None = None
    """How close to each other the nodes of one worker are. Default: wherever its pods fit."""


def _check_minima(roles: dict[str, int]) -> dict[str, int]:
    mistakes = [
        Mistake(f"{count} workers of role {shown(role)} are none to wait for", "Write 1 or more", (role,))
        for role, count in roles.items()
        if count < 1
    ]
    if mistakes:
        raise Mistaken(*mistakes)
    return roles


class Gang(StrictModel):
    """What starts together or not at all, beyond the pods of one worker: Kthena's `gangPolicy`."""

    min_role_replicas: Annotated[
        dict[str, int], Field(min_length=1, max_length=9), AfterValidator(_check_minima)
    ]
    """Workers by role that must have room all at once before any of them starts, at most as many as a replica
    has. Roles that are not named start on their own.
    """


class DeploymentScheduler(Scheduler):
    """Who schedules the pods of a deployment, where that differs from its cluster."""

    gang: Gang | None = None
    """What starts together or not at all; only Volcano does it. Default: the pods of each worker."""


def check_cluster_scheduler(scheduler: Scheduler) -> Scheduler:
    """Return the block of a cluster. Raises Mistaken with all that its fields contradict."""
    if mistakes := tuple(scheduler_mistakes(scheduler)):
        raise Mistaken(*mistakes)
    return scheduler


def check_deployment_scheduler(scheduler: DeploymentScheduler) -> DeploymentScheduler:
    """Return the block of a deployment, which is checked here as far as it names its type itself."""
    if scheduler.type and (mistakes := tuple(scheduler_mistakes(scheduler))):
        raise Mistaken(*mistakes)
    return scheduler


def scheduler_mistakes(scheduler: Scheduler) -> Iterator[Mistake]:
    """Yield what the fields of a block contradict once its type is known. A queue may still be missing."""
    kind = scheduler.type or "None"
    if kind == "None":
        for field, value in (("queue", scheduler.queue), ("topology", scheduler.topology)):
            if value is not None:
                what = f"{field} is for a scheduler with queues, and type is None"
                yield Mistake(what, f"Write type: Volcano, KAI or Kueue, or remove {field}", (field,))
    if isinstance(scheduler, DeploymentScheduler) and scheduler.gang and kind != "Volcano":
        what = f"gang is done by PodGroups of Volcano, and type is {kind}"
        yield Mistake(what, "Write type: Volcano, or remove gang", ("gang",))
    if scheduler.topology and kind != "None":
        yield from _closeness_mistakes(scheduler.topology, kind)


def _closeness_mistakes(topology: Closeness, kind: str) -> Iterator[Mistake]:
    if kind == "KAI" and topology.name is None:
        what = "topology of KAI needs the name of a Topology"
        yield Mistake(what, "Add name: `kubectl get topologies.kai.scheduler` has them", ("topology",))
    if kind != "KAI" and topology.name is not None:
        yield Mistake(f"{kind} is not told the name of a topology", "Remove name", ("topology", "name"))
    if kind != "KAI" and topology.required is not None and topology.preferred is not None:
        what = f"{kind} takes one of required and preferred, not both"
        yield Mistake(what, "Keep one of them", ("topology",))
    for field in ("required", "preferred"):
        level = getattr(topology, field)
        if kind != "Volcano" and isinstance(level, int):
            what = f"level {level} is a tier of Volcano, and {kind} knows levels by the label keys of nodes"
            next_step = "Write a key such as cloud.google.com/gce-topology-block"
            yield Mistake(what, next_step, ("topology", field))
