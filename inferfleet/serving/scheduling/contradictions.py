"""What a placement's pods say of schedulers and queues against what cluster and deployment say of them.

The blocks `serving.scheduler` and `spec.scheduler` are the way into a queue. The plugin `scheduler` is for
clusters that say nothing of one, and for priorities: with both, one of two queues would silently not count.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.workers import Position
from inferfleet.documents.problems import Problem, part_of
from inferfleet.documents.wording import path_of, shown
from inferfleet.fleet.roles import template_path, workers_of
from inferfleet.fleet.scheduling import (
    ON_CLUSTER,
    ON_DEPLOYMENT,
    Scheduling,
    gang_problems,
    of_several_pods,
    scheduling_of,
    scheduling_problems,
)
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.link import Link
from inferfleet.tables import schedulers

Template = Mapping[str, Any]


def blocks(documents: Documents, spot: Spot) -> Iterator[Problem]:
    """Yield what the blocks of cluster and deployment contradict, and a topology that nobody can use."""
    deployment, cluster = documents.deployments[spot.deployment], documents.clusters[spot.cluster]
    yield from scheduling_problems(deployment, cluster)
    yield from gang_problems(deployment)
    if deployment.spec.scheduler.topology and not of_several_pods(documents, spot):
        yield Problem(
            "topology says how close the pods of one worker are, and workers of deployment "
            f"{spot.deployment} on cluster {spot.cluster} have one pod",
            "Remove topology",
            f"{ON_DEPLOYMENT}.topology",
            kind="ModelDeployment",
            key=spot.deployment,
            about=f"cluster {spot.cluster}",
        )


def contradictions(
    documents: Documents,
    spot: Spot,
    template: Template,
    *,
    role: str,
    position: Position,
    link_of: Callable[[str], Link | None],
) -> Iterator[Problem]:
    """Yield what the final pods of a role contradict, at the line of their document, or of the link that made
    them so: `link_of` returns the last one that changed a place.
    """
    deployment = documents.deployments[spot.deployment]
    scheduling = scheduling_of(deployment, documents.clusters[spot.cluster])
    if scheduling is None:
        return
    said = _said(deployment, spot, scheduling)
    for path, value, field_of_block, ours in _marks(template, scheduling):
        written = part_of(_written(deployment, role, position), path) == value
        link = None if written else link_of(path_of(path))
        by = f" from plugin {link.spec.name}" if link else ""
        what = (
            f"pods of deployment {spot.deployment}, role {role}, have {path[-1]} {shown(value)!r}"
            f"{by}, and {said}, whose {field_of_block} is {ours}"
        )
        step = f"Remove it there, and say in {field_of_block} of the block scheduler what is meant"
        field = template_path(deployment, role, position)
        own = Problem(what, step, f"{field}.{path_of(path)}", kind="ModelDeployment", key=spot.deployment)
        problem = link.problem(what, step) if link else own
        yield replace(problem, about=f"cluster {spot.cluster}")


def _said(deployment: ModelDeployment, spot: Spot, scheduling: Scheduling) -> str:
    """Return who says which scheduler it is, in words."""
    own = deployment.spec.scheduler
    ours = own.type or (own.scheduler_name if scheduling.type == "None" else None)
    whose = f"its {ON_DEPLOYMENT}" if ours else f"{ON_CLUSTER} of cluster {spot.cluster}"
    named = scheduling.type if scheduling.type != "None" else f"schedulerName {scheduling.scheduler_name}"
    return f"{whose} says {named}"


def _marks(
    template: Template, scheduling: Scheduling
) -> Iterator[tuple[tuple[str, ...], str, str, str | None]]:
    """Yield what stands in pods against the block: path, value, and the block's own field and value."""
    name = template["spec"].get("schedulerName")
    if name and scheduling.scheduler_name and name != scheduling.scheduler_name:
        yield ("spec", "schedulerName"), name, "schedulerName", scheduling.scheduler_name
    if scheduling.type == "None":
        return
    for kind, key in schedulers.QUEUE_KEYS:
        if (value := template.get("metadata", {}).get(kind, {}).get(key)) is not None:
            yield ("metadata", kind, key), value, "queue", scheduling.queue


def _written(deployment: ModelDeployment, role: str, position: Position) -> Template:
    template = workers_of(deployment, role).of(position)
    if template is None:
        return {}
    metadata = {"labels": template.metadata.labels, "annotations": template.metadata.annotations}
    return {"metadata": metadata, "spec": template.spec}
