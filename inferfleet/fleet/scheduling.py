"""Who schedules the pods of a deployment on a cluster: what both documents say, laid together."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.scheduler import (
    Closeness,
    DeploymentScheduler,
    SchedulerType,
    scheduler_mistakes,
)
from inferfleet.documents.problems import FieldPath, Problem
from inferfleet.documents.wording import below, one_of
from inferfleet.fleet.accelerators import worker_shape
from inferfleet.fleet.roles import path_of_role, roles_of, workers_of
from inferfleet.fleet.shapes import node
from inferfleet.fleet.spot import Spot
from inferfleet.tables.schedulers import SCHEDULER_NAMES, VOLCANO_QUEUE

ON_CLUSTER = "spec.serving.scheduler"
ON_DEPLOYMENT = "spec.scheduler"


@dataclass(frozen=True)
class Scheduling:
    """Who schedules the pods of a deployment on a cluster."""

    type: SchedulerType
    """A scheduler with queues, or the word `None` where only the name of the scheduler is another."""
    queue: str | None = None
    scheduler_name: str | None = None
    topology: Closeness | None = None
    gang: Mapping[str, int] = field(default_factory=dict)
    """By role, the workers that must have space all at once."""


def scheduling_of(deployment: ModelDeployment, cluster: InferenceCluster) -> Scheduling | None:
    """Return who schedules the deployment's pods on a cluster, None where it is Kubernetes' own scheduler."""
    block = _together(deployment, cluster)
    kind = block.type or "None"
    name = block.scheduler_name or SCHEDULER_NAMES.get(kind)
    if kind == "None" and not name:
        return None
    return Scheduling(
        kind,
        block.queue or (VOLCANO_QUEUE if kind == "Volcano" else None),
        name,
        block.topology,
        dict(block.gang.min_role_replicas) if block.gang else {},
    )


def scheduling_problems(deployment: ModelDeployment, cluster: InferenceCluster) -> Iterator[Problem]:
    """Yield errors: what the blocks of both documents contradict together, and a queue that neither names."""
    key, name = deployment.metadata.key, cluster.metadata.name
    scheduler = deployment.spec.scheduler
    block = _together(deployment, cluster)
    kind = block.type or "None"
    if not scheduler.type:  # what a block says of its own type was checked when it was read
        for mistake in scheduler_mistakes(block):
            path = _path(mistake.field_path)
            what = f"deployment {key} on cluster {name}: {mistake.what}"
            yield Problem(
                what, mistake.next_step, path, kind="ModelDeployment", key=key, about=f"cluster {name}"
            )
    if kind in ("KAI", "Kueue") and not block.queue:
        object_ = "Queue" if kind == "KAI" else f"LocalQueue in namespace {deployment.metadata.namespace}"
        yield Problem(
            f"pods of deployment {key} wait in a queue of {kind} on cluster {name}, and nobody names it",
            f"Write scheduler.queue, the name of a {object_}, here or as {ON_CLUSTER}.queue of the cluster",
            ON_DEPLOYMENT,
            kind="ModelDeployment",
            key=key,
            about=f"cluster {name}",
        )


def of_several_pods(documents: Documents, spot: Spot) -> Mapping[str, InferenceClass]:
    """Return the roles of a spot whose workers have several pods, with the class of their nodes."""
    deployment = documents.deployments[spot.deployment]
    pools = {pool.name: pool for pool in documents.clusters[spot.cluster].spec.node_pools}
    roles = {}
    for role, pool in spot.pools:
        inference_class = documents.classes[pools[pool].class_name]
        empty = node(inference_class)
        if empty and worker_shape(documents, deployment, role, empty.gpus).pods > 1:
            roles[role] = inference_class
    return roles


def _together(deployment: ModelDeployment, cluster: InferenceCluster) -> DeploymentScheduler:
    block, of_cluster = deployment.spec.scheduler, cluster.spec.serving.scheduler
    fields_written = {
        name: getattr(block, name) for name in block.model_fields_set if getattr(block, name) is not None
    }
    if block.type and block.type != (of_cluster.type or "None"):
        return block
    defaults = {name: getattr(of_cluster, name) for name in type(of_cluster).model_fields}
    return DeploymentScheduler.model_construct(**{**defaults, **fields_written})


def _path(field_path: FieldPath) -> str:
    path = ON_DEPLOYMENT
    for step in field_path:
        path = below(path, step)
    return path


def gang_problems(deployment: ModelDeployment) -> Iterator[Problem]:
    """Yield errors: a gang waits for a role that the deployment lacks, or for more workers than a replica
    has.
    """
    gang = deployment.spec.scheduler.gang
    key = deployment.metadata.key
    for role, count in gang.min_role_replicas.items() if gang else ():
        path = f"{ON_DEPLOYMENT}.gang.minRoleReplicas.{role}"
        if role not in roles_of(deployment):
            what = f"the gang of deployment {key} waits for role {role}, which the deployment does not have"
            yield Problem(
                what, one_of(role, roles_of(deployment), "Its roles"), path, kind="ModelDeployment", key=key
            )
        elif count > (workers := workers_of(deployment, role).count):
            yield Problem(
                f"the gang of deployment {key} waits for {count} workers of role {role}, and a replica has "
                f"{workers} ({path_of_role(role)}.workers.count)",
                f"Write at most {workers}",
                path,
                kind="ModelDeployment",
                key=key,
            )
