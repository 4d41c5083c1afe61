"""Placed pods that keep their own siblings off the nodes where the plan counted them."""

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.workers import Position
from inferfleet.api.problems import Problem
from inferfleet.api.wording import path_of
from inferfleet.desired.pods import Pods
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.roles import template_path
from inferfleet.manifests.pod.parts import Contradiction
from inferfleet.manifests.pod.siblings import Siblings, excluded, separates
from inferfleet.plugins.calling import Finding
from inferfleet.plugins.diff import place

_ZONE = "topology.kubernetes.io/zone"


def sibling_problems(
    documents: Documents, planned: Plan, placement: Placement, made: tuple[Pods, ...]
) -> tuple[list[Problem], list[Finding]]:
    """Return what excludes pods of a placement from its nodes: of documents, and of plugins."""
    problems: list[Problem] = []
    findings: list[Finding] = []
    for pods in made:
        if pods.outcome.findings or not separates(pods.outcome.template["spec"]):
            continue
        siblings = _siblings(documents, planned, placement, pods)
        written = list(excluded(pods.generated["spec"], siblings))
        problems += (of_document(documents, pods, contradiction) for contradiction in written)
        told = {contradiction.what for contradiction in written}
        findings += (
            of_plugin(pods, contradiction)
            for contradiction in excluded(pods.outcome.template["spec"], siblings)
            if contradiction.what not in told
        )
    return problems, findings


def _siblings(documents: Documents, planned: Plan, placement: Placement, pods: Pods) -> Siblings:
    spot, request = pods.spot, pods.request
    pool = documents.clusters[spot.cluster].spec.pool(request.pool.name)
    count, spare = counted(planned, placement, pods)
    values = {key: (value,) for key, value in request.pool.node_labels.items()}
    return Siblings(
        pods=count,
        spare=spare,
        nodes=pool.size,
        labels=pods.outcome.template["metadata"]["labels"],
        namespace=spot.namespace,
        values=values | ({_ZONE: request.pool.zones} if request.pool.zones else {}),
        where=f"pool {pool.name} of cluster {spot.cluster}",
    )


def counted(planned: Plan, placement: Placement, pods: Pods) -> tuple[int, int]:
    """Return how many pods of a placement have this template, and how many more an update by Surge adds."""
    pool = placement.spot.cluster, pods.request.pool.name
    needs = planned.demands.of(placement.spot.deployment, pods.role, pool)
    in_worker = 1 if pods.request.position == "Entry" else needs.gang - 1
    return placement.replicas * needs.workers * in_worker, in_worker if needs.spare else 0


def of_document(documents: Documents, pods: Pods, contradiction: Contradiction) -> Problem:
    """Return the contradiction as that of the document of the pods."""
    position: Position = "Entry" if pods.request.position == "Entry" else "Follower"
    return Problem(
        contradiction.what,
        contradiction.next_step,
        f"{template_path(documents.deployments[pods.spot.deployment], pods.role, position)}."
        f"{path_of(contradiction.at)}",
        kind="ModelDeployment",
        key=pods.spot.deployment,
    )


def of_plugin(pods: Pods, contradiction: Contradiction) -> Finding:
    """Return the contradiction as that of the last link that changed what it is about."""
    where = place(pods.outcome.template, contradiction.at)
    step = pods.outcome.changed_by(where)
    # Without such a step a link has narrowed the nodes, on which a term of the document cannot hold then.
    step = step or next(step for step in reversed(pods.outcome.steps) if step.changes)
    what = f"{where}: {contradiction.what}"
    return Finding(pods.link_of(step), what, contradiction.next_step, pods.request)
