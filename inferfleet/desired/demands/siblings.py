"""Placed pods that keep their own siblings off the nodes where the plan counted them."""

from collections.abc import Iterator
from dataclasses import replace

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.workers import Position
from inferfleet.api.problems import Problem
from inferfleet.api.wording import path_of
from inferfleet.desired.pods import Pods
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.roles import template_path
from inferfleet.manifests.pod.parts import Contradiction
from inferfleet.manifests.pod.siblings import Siblings, crowded, excluded, separates
from inferfleet.plugins.calling import Finding
from inferfleet.plugins.diff import place

_ZONE = "topology.kubernetes.io/zone"


def sibling_problems(
    documents: Documents, planned: Plan, placement: Placement, made: tuple[Pods, ...]
) -> tuple[list[Problem], list[Finding]]:
    """Return what excludes pods of a placement from its nodes, or may: of documents, and of plugins."""
    problems: list[Problem] = []
    findings: list[Finding] = []
    for pods in made:
        if pods.outcome.findings or not separates(pods.outcome.template["spec"]):
            continue
        siblings = _siblings(documents, planned, placement, pods)
        for check, warns in ((excluded, False), (crowded, True)):
            written = list(check(pods.generated["spec"], siblings))
            problems += (
                of_document(documents, pods, contradiction, warns=warns) for contradiction in written
            )
            told = {contradiction.what for contradiction in written}
            for contradiction in check(pods.outcome.template["spec"], siblings):
                if contradiction.what in told:
                    continue
                finding = of_plugin(pods, contradiction)
                if warns:
                    said = finding.link.problem(
                        f"plugin {finding.link.spec.name}: {finding.what}", finding.next_step
                    )
                    problems.append(replace(said, severity="warning"))
                else:
                    findings.append(finding)
    return problems, findings


def _siblings(documents: Documents, planned: Plan, placement: Placement, pods: Pods) -> Siblings:
    spot, request = pods.spot, pods.request
    pool = documents.clusters[spot.cluster].spec.pool(request.pool.name)
    count, spare = counted(planned, placement, pods)
    free = (request.accelerator.count if request.accelerator else 0) - request.gpus
    others = sum(_gpus(planned, other, pool.name) for other in _beside(planned, placement, pool.name))
    # Where two of them do not fit on a node, the plan has given each a node of its own.
    blocked = others // (free + 1) if free >= request.gpus else 0
    values = {key: (value,) for key, value in request.pool.node_labels.items()}
    return Siblings(
        pods=count,
        spare=spare,
        nodes=pool.size,
        left=max(pool.size - blocked, 0),
        labels=pods.outcome.template["metadata"]["labels"],
        namespace=spot.namespace,
        values=values | ({_ZONE: request.pool.zones} if request.pool.zones else {}),
        where=f"pool {pool.name} of cluster {spot.cluster}",
        gang=planned.demands.of(spot.deployment, pods.role, (spot.cluster, pool.name)).gang,
        roles=len(spot.pools),
    )


def counted(planned: Plan, placement: Placement, pods: Pods) -> tuple[int, int]:
    """Return how many pods of a placement have this template, and how many more an update by Surge adds."""
    pool = placement.spot.cluster, pods.request.pool.name
    needs = planned.demands.of(placement.spot.deployment, pods.role, pool)
    in_worker = 1 if pods.request.position == "Entry" else needs.gang - 1
    return placement.replicas * needs.workers * in_worker, in_worker if needs.spare else 0


def _beside(planned: Plan, placement: Placement, pool: str) -> Iterator[Placement]:
    for other in planned.placements:
        beside = other.spot != placement.spot and other.spot.cluster == placement.spot.cluster
        if beside and any(theirs == pool for _, theirs in other.spot.pools):
            yield other


def _gpus(planned: Plan, placement: Placement, pool: str) -> int:
    """Return the GPUs of a placement on a pool, those of a worker that an update adds included."""
    needs = [
        planned.demands.of(placement.spot.deployment, role, (placement.spot.cluster, name))
        for role, name in placement.spot.pools
        if name == pool
    ]
    return sum((placement.replicas * each.pods + each.spare) * each.pod.gpus for each in needs)


def of_document(documents: Documents, pods: Pods, contradiction: Contradiction, *, warns: bool) -> Problem:
    """Return the contradiction as that of the document of the pods."""
    position: Position = "Entry" if pods.request.position == "Entry" else "Follower"
    return Problem(
        contradiction.what,
        contradiction.next_step,
        f"{template_path(documents.deployments[pods.spot.deployment], pods.role, position)}."
        f"{path_of(contradiction.at)}",
        kind="ModelDeployment",
        key=pods.spot.deployment,
        severity="warning" if warns else "error",
    )


def of_plugin(pods: Pods, contradiction: Contradiction) -> Finding:
    """Return the contradiction as that of the last link that changed what it is about."""
    where = place(pods.outcome.template, contradiction.at)
    step = pods.outcome.changed_by(where)
    # Without such a step a link has narrowed the nodes, on which a term of the document cannot hold then.
    step = step or next(step for step in reversed(pods.outcome.steps) if step.changes)
    what = f"{where}: {contradiction.what}"
    return Finding(pods.link_of(step), what, contradiction.next_step, pods.request)
