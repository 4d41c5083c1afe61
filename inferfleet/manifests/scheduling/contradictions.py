"""What a placement's pods say of schedulers and queues against what cluster and deployment say of them.

The blocks `serving.scheduler` and `spec.scheduler` are the way into a queue. The plugin `scheduler` is for
clusters that say nothing of one, and for priorities: with both, one of two queues would silently not count.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.workers import Position
from inferfleet.api.problems import Problem
from inferfleet.api.wording import below, listing, shown
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
from inferfleet.plugins.builtin.scheduler import Config
from inferfleet.plugins.contract import Request
from inferfleet.plugins.link import BoundLink
from inferfleet.profiles import schedulers

Template = Mapping[str, Any]


def blocks(documents: Documents, claimed: Mapping[Spot, Mapping[str, tuple[str, ...]]]) -> Iterator[Problem]:
    """Yield what the blocks of clusters and deployments contradict, a topology that nobody can use, and what
    Kueue needs to be told of claims. `claimed` are the DeviceClasses that pods of each spot claim, by role.

    What is wrong with a field on several clusters is told once, with all of them.
    """
    clusters: dict[Problem, list[str]] = {}
    for spot in sorted(claimed):
        problems = (*_blocks(documents, spot), *_claims_in_kueue(documents, spot, claimed[spot]))
        for problem in problems:
            named = clusters.setdefault(replace(problem, what=problem.what.replace(_on(spot), _ON)), [])
            if spot.cluster not in named:
                named.append(spot.cluster)
    for problem, named in clusters.items():
        where = f"on cluster{'' if len(named) == 1 else 's'} {listing(named)}"
        yield replace(problem, what=problem.what.replace(_ON, where))


# Stands for the clusters in what is told of several.
_ON = "\0"


def _on(spot: Spot) -> str:
    return f"on cluster {spot.cluster}"


def _blocks(documents: Documents, spot: Spot) -> Iterator[Problem]:
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
        )


def _claims_in_kueue(
    documents: Documents, spot: Spot, claimed: Mapping[str, tuple[str, ...]]
) -> Iterator[Problem]:
    """Yield what Kueue does not do for pods with claims by template: count DeviceClasses that nobody mapped
    (pkg/dra/claims.go of kubernetes-sigs/kueue, commit ff69552e), and choose close nodes by free devices
    ("No DRA + TAS", site/content/en/docs/concepts/dynamic_resource_allocation.md).
    """
    deployment = documents.deployments[spot.deployment]
    scheduling = scheduling_of(deployment, documents.clusters[spot.cluster])
    classes = sorted({name for names in claimed.values() for name in names})
    if scheduling is None or scheduling.type != "Kueue" or not classes:
        return
    yield Problem(
        f"pods of deployment {spot.deployment} {_on(spot)} claim devices of DeviceClass {listing(classes)}, "
        "and Kueue admits no pod with a claim of a class that its configuration does not map",
        "See that resources.deviceClassMappings of Kueue's Configuration has each of them, and the queue a "
        "quota for what they are mapped to",
        ON_DEPLOYMENT,
        kind="ModelDeployment",
        key=spot.deployment,
        severity="warning",
    )
    by_claims = [
        role
        for role, inference_class in of_several_pods(documents, spot).items()
        if inference_class.spec.allocation == "DRA" and claimed.get(role)
    ]
    if scheduling.topology and by_claims:
        own = bool(deployment.spec.scheduler.topology)
        yield Problem(
            f"Kueue chooses nodes for a topology without regard to devices that are claimed, and pods of "
            f"deployment {spot.deployment}, role {listing(by_claims)}, {_on(spot)} claim their GPUs",
            "Remove topology, or use classes with allocation: DevicePlugin",
            f"{ON_DEPLOYMENT if own else ON_CLUSTER}.topology",
            kind="ModelDeployment" if own else "InferenceCluster",
            key=spot.deployment if own else spot.cluster,
        )


def contradictions(
    documents: Documents, spot: Spot, template: Template, *, links: Iterable[BoundLink], request: Request
) -> Iterator[Problem]:
    """Yield what the final pods of a role contradict. `template` is what the chain of `links` made."""
    deployment = documents.deployments[spot.deployment]
    scheduling = scheduling_of(deployment, documents.clusters[spot.cluster])
    if scheduling is None:
        return
    said = _said(deployment, spot, scheduling)
    plugin = False
    for bound in links:
        config = bound.config
        if isinstance(config, Config) and config.system and bound.link.acts_on(request):
            plugin = scheduling.type != "None" or plugin
            if scheduling.type != "None":
                yield bound.link.problem(
                    f"plugin scheduler puts the pods of deployment {spot.deployment} into a queue of "
                    f"{config.system}, and {said}",
                    "Remove system, queue and group from the plugin, or the block scheduler",
                )
    if plugin:
        return  # what the pods have is the plugin's
    for path, value, field_of_block, ours in _marks(template, scheduling):
        written = _at(_written(deployment, request), path) == value
        by = "" if written else " from a plugin"
        field = template_path(deployment, request.role, _position(request))
        for step in path if written else ():
            field = below(field, step)
        yield Problem(
            f"pods of deployment {spot.deployment}, role {request.role}, have {path[-1]} "
            f"{shown(value)!r}{by}, and {said}, whose {field_of_block} is {ours}",
            f"Remove it there, and say in {field_of_block} of the block scheduler what is meant",
            field,
            kind="ModelDeployment",
            key=spot.deployment,
        )


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


def _written(deployment: ModelDeployment, request: Request) -> Template:
    template = workers_of(deployment, request.role).of(_position(request))
    if template is None:
        return {}
    metadata = {"labels": template.metadata.labels, "annotations": template.metadata.annotations}
    return {"metadata": metadata, "spec": template.spec}


def _position(request: Request) -> Position:
    return "Entry" if request.position == "Entry" else "Follower"


def _at(template: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        template = (template or {}).get(step)
    return template
