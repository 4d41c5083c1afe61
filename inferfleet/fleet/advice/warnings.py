"""Problems of a plan as it is: replicas that should leave their place and cannot, pools that are too
small, wishes that are not met, and what pods ask for and plans do not count.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.workers import POSITIONS
from inferfleet.documents.pods.template import resource_amounts
from inferfleet.documents.problems import FieldPath, Problem, cluster_problem
from inferfleet.documents.wording import listing, path_of, shown
from inferfleet.fleet.decisions import Placement, Reason
from inferfleet.fleet.demands import Demands, RoleKey
from inferfleet.fleet.lock.capacity import MOST_VALUES
from inferfleet.fleet.node_conditions import OF_ONE_NODE, LabelMatch, MatchingNodes
from inferfleet.fleet.placement.candidates import Candidates
from inferfleet.fleet.placement.ledger import Ledger
from inferfleet.fleet.placement.placing import Task
from inferfleet.fleet.placement.pool_labels import path_of_conditions
from inferfleet.fleet.placement.reasons import Reasoning, kept_free, listed
from inferfleet.fleet.placement.soundness import Soundness
from inferfleet.fleet.placement.suitability import Consequence, Obstacle
from inferfleet.fleet.placement.terms import prefers
from inferfleet.fleet.roles import role_templates, roles_of
from inferfleet.fleet.shapes import HUGE_PAGES, Node, Pod, PoolKey, amounts, counted, gib, gpus, requests
from inferfleet.fleet.spot import Spot

# Of deployments on a pool that does not hold them so many are named.
_MOST_NAMED = 12


def placement_problems(
    task: Task, ledger: Ledger, *, checked: Soundness, why: Reasoning
) -> Iterator[Problem]:
    """Yield errors (replicas that cannot run on their pool) and warnings (replicas that should leave it)."""
    documents, suitability = task.documents, task.suitability
    for pool in ledger.overfull():
        overfull = _overfull(documents, ledger, pool, shrunk=pool in task.shrunk)
        paused = any(documents.deployments[spot.deployment].spec.paused for spot in ledger.on_pool(pool))
        # What documents of a paused one ask for is not there yet, and more is not asked of the pool.
        yield replace(overfull, severity="warning") if paused and pool not in task.shrunk else overfull
    for deployment in sorted(set(documents.deployments) - checked.invalid):
        for spot, replicas in ledger.replicas(deployment).items():
            obstacle = suitability.obstacle(spot)
            if obstacle is None or obstacle.consequence == Consequence.CORDON:
                continue
            if documents.deployments[deployment].spec.paused:
                yield _stays_paused(spot, replicas, obstacle)
                continue
            elsewhere = why.reasons_against(deployment)
            whole = len(spot.pools) == len(roles_of(documents.deployments[deployment]))
            if whole:
                elsewhere = _of_others(spot, elsewhere)
            yield _cannot_leave(spot, replicas, obstacle=obstacle, elsewhere=elsewhere)


def _of_others(spot: Spot, reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """Return the reasons against other places than those of the spot."""
    pools = ("", *(pool for _, pool in spot.pools))
    return tuple(reason for reason in reasons if reason.cluster != spot.cluster or reason.pool not in pools)


def _stays_paused(spot: Spot, replicas: int, obstacle: Obstacle) -> Problem:
    number = f"{replicas} {'replica stays' if replicas == 1 else 'replicas stay'}"
    return Problem(
        f"{spot.deployment} is paused, so {number} on {spot.place} ({obstacle.why})",
        "Remove paused to have them moved",
        "spec.paused",
        kind="ModelDeployment",
        key=spot.deployment,
        severity="warning",
    )


def _cannot_leave(spot: Spot, replicas: int, *, obstacle: Obstacle, elsewhere: tuple[Reason, ...]) -> Problem:
    number = f"{replicas} {'replica' if replicas == 1 else 'replicas'} of {spot.deployment}"
    return Problem(
        f"{number} cannot leave {spot.place} ({obstacle.why}): "
        + (listed(elsewhere) or "there is no other pool"),
        "Make room on another cluster or pool, or lower replicas",
        kind="ModelDeployment",
        key=spot.deployment,
        severity="error" if obstacle.consequence == Consequence.IMPOSSIBLE else "warning",
    )


def _overfull(documents: Documents, ledger: Ledger, pool: PoolKey, *, shrunk: bool) -> Problem:
    """Return the error at the pool, or at the rollout of a deployment that alone makes it too small.

    Some leave a pool that was `shrunk` as far as there is space elsewhere; another one nobody leaves unasked.
    """
    cluster, name = pool
    pools = documents.clusters[cluster].spec.node_pools
    index, document = next((index, document) for index, document in enumerate(pools) if document.name == name)
    by_deployment = _held(ledger, pool)
    offered = f"{counted(document.size, 'node')} of {_amounts(ledger.spaces.by_key[pool].node)}"
    what = (
        f"pool {cluster}/{name} with {offered} is too small for the replicas that placement.lock has on it: "
        + ", ".join(
            [f"{deployment} ({amounts})" for deployment, amounts in by_deployment.items()][:_MOST_NAMED]
        )
        + (f", and {len(by_deployment) - _MOST_NAMED:,} more" if len(by_deployment) > _MOST_NAMED else "")
    )
    steps = ["give it more nodes", *(["make room on another pool"] if shrunk else []), "lower replicas"]
    kept = kept_free(ledger, pool)
    of_rollouts = bool(kept) and ledger.holds_without_kept_free(pool)
    if of_rollouts:
        what += f", and {kept}"
        steps.append("write rollout: DeleteFirst")
    step = f"{', '.join(steps[:-1])}, or {steps[-1]}"
    if shrunk:
        what += "; it has fewer nodes than it had, and there is no room elsewhere"
        step = step[0].upper() + step[1:]
    else:
        what += "; it lost no nodes: pods grew, its class changed, or branches were merged, and nobody moves "
        what += "unasked"
        deployment_name = next(iter(by_deployment)) if len(by_deployment) == 1 else "NAMESPACE/NAME"
        several = "" if len(by_deployment) == 1 else ", which may be repeated"
        command = f"inferfleet plan {documents.options} --write"
        step = (
            f"Say who may leave it: {command} --yield {deployment_name}{several}; or {step}; or, where "
            f"branches were merged, take the lock of the branch that yours went to, and run {command}"
        )
    problem = cluster_problem(cluster, what, step, f"spec.nodePools[{index}]")
    if not of_rollouts:
        return problem
    surging = list(ledger.kept_free(pool))
    if len(surging) > 1:
        return problem
    return replace(problem, path="spec.rollout", kind="ModelDeployment", key=surging[0])


def _held(ledger: Ledger, pool: PoolKey) -> dict[str, str]:
    """Return what the replicas of each deployment hold of a pool: `2 replicas: 2 GPUs, 8 cores, 32Gi`."""
    replicas: Counter[str] = Counter()
    held: dict[str, Counter[str]] = {}
    for spot, number in ledger.on_pool(pool).items():
        replicas[spot.deployment] += number
        total = held.setdefault(spot.deployment, Counter(dict.fromkeys(Pod._fields, 0)))
        for role in (role for role, name in spot.pools if name == pool[1]):
            if not ledger.demands.has(spot.deployment, role):
                continue
            demand = ledger.demands.of(spot.deployment, role, pool)
            workers = number * demand.workers
            for position, pods in zip(POSITIONS, (workers, workers * (demand.gang - 1)), strict=True):
                pod, _ = demand.of(position)
                total.update({field: amount * pods for field, amount in pod._asdict().items()})
    return {
        deployment: f"{counted(replicas[deployment], 'replica')}: {_amounts(Pod(**total))}"
        for deployment, total in held.items()
    }


def _amounts(total: Node | Pod) -> str:
    """Return `2 GPUs, 8 cores, 32Gi of memory`, without what there is none of."""
    said = [gpus(total.gpus)] if total.gpus else []
    words_by_field = {"cpu": "cores", "memory": "of memory"}
    words_by_field |= {field: f"of {size} huge pages" for field, size in HUGE_PAGES.items()}
    said += [
        f"{amounts(field)(number)} {name}"
        for field, name in words_by_field.items()
        if (number := getattr(total, field))
    ]
    return ", ".join(said) or "nothing"


# Wishes of deployments that replicas which run do not meet, and preferences that name nothing.


def unmet_wish_problems(
    documents: Documents, candidates: Candidates, valid: Iterable[str]
) -> Iterator[Problem]:
    """Yield a warning for each wish that replicas which run do not meet, and for preferences of nothing."""
    for key in sorted(valid):
        spec = documents.deployments[key].spec
        for index, rule in enumerate(spec.prefer):
            if not any(
                prefers(rule, cluster, pool)
                for cluster in documents.clusters.values()
                for pool in cluster.spec.node_pools
            ):
                yield _warning(
                    key,
                    "no pool of the fleet is what this preference names",
                    "Change it, or remove it if the pool is gone",
                    f"spec.prefer[{index}]",
                )
        if spec.on_demand_replicas or spec.spread:
            yield from _replica_problems(documents, candidates, key)


def _replica_problems(documents: Documents, candidates: Candidates, key: str) -> Iterator[Problem]:
    terms, spreading = candidates.terms(key), candidates.spreading
    unsteady = spreading.unsteady(terms)
    if terms.unsteady is not None and unsteady > terms.unsteady:
        spec = documents.deployments[key].spec
        wants, to_replace = spec.on_demand_replicas, unsteady - terms.unsteady
        yield _warning(
            key,
            f"onDemandReplicas is {wants}, and {unsteady} replicas run on pools of other models than "
            "OnDemand and Reservation; they stay there",
            f"To replace them, write replicas: {spec.wanted + to_replace} for one update, then "
            f"{spec.wanted} again: new ones go to OnDemand or Reservation, and those on others end first",
            "spec.onDemandReplicas",
        )
    if terms.domains is None or not terms.required:
        return
    counts, eligible = spreading.counts(terms), terms.domains.eligible
    least = min(((counts[name], name) for name in eligible), default=(0, ""))
    most = max(((number, name) for name, number in counts.items()), default=(0, ""))
    if eligible and most[0] - least[0] > terms.domains.max_skew:
        yield _warning(
            key,
            f"{terms.domains.over} {most[1]} has {most[0]} replicas and {least[1]} {least[0]}, which is a "
            f"skew of more than {terms.domains.max_skew}; replicas that run stay where they are",
            "To spread them, lower replicas and raise it again: those end first where most of them are",
            "spec.spread",
        )


def _warning(key: str, what: str, next_step: str, path: str) -> Problem:
    return Problem(what, next_step, path, kind="ModelDeployment", key=key, severity="warning")


# Labels of nodes that templates ask for, and that are not known, or that some of a pool's nodes have alone.


def node_label_problems(task: Task, ledger: Ledger) -> Iterator[Problem]:
    """Yield a warning for each role that runs on pools of which it is not known that all of their nodes have
    the labels that its templates ask for, or of which capacity.lock says that none has.
    """
    for deployment, role in sorted(task.demands.conditions):
        if deployment not in task.valid:
            continue
        found: dict[LabelMatch, set[PoolKey]] = {}
        for spot in ledger.replicas(deployment):
            pool = spot.cluster, dict(spot.pools).get(role, "")
            match = task.suitability.label_match(deployment, role, pool)
            if match.nodes in (MatchingNodes.SOME, MatchingNodes.UNKNOWN) or match.on_day:
                found.setdefault(match, set()).add(pool)
        path = path_of_conditions(task.documents.deployments[deployment], role)
        for match, pools in sorted(found.items()):
            what, next_step = _label_warning(match, f"pool {listing(sorted(map('/'.join, pools)), 3)}")
            yield _warning(deployment, what, next_step, path)


def _label_warning(match: LabelMatch, where: str) -> tuple[str, str]:
    """Return what is wrong with labels of nodes of these pools, and what to do."""
    needs = "; or ".join(match.needs)
    if match.nodes == MatchingNodes.SOME:
        return (
            f"only nodes with {needs} of {where} take its pods, and the plan counts all nodes there",
            "Make those nodes a pool of their own, or ask for less",
        )
    if match.on_day:
        return (
            f"its pods need nodes with {needs}, and those of {where}, where replicas stay, have {match.has}; "
            "pods that are made anew there stay Pending",
            "Label the nodes and have them asked again (inferfleet capacity --write), or correct the "
            "template; to move the replicas, lower replicas and raise it again: those end first",
        )
    what = (
        f"its pods need nodes with {needs}, and whether those of {where}, where they are placed, have that "
        "is not known; pods for which none has it stay Pending"
    )
    if OF_ONE_NODE & {*match.keys}:
        return what, (
            "Plans know no single nodes: cordon one that pods must not have, or make those that they must "
            "have a pool of their own"
        )
    return what, (
        f"Have its nodes asked: inferfleet capacity --write, which notes up to {MOST_VALUES} values of a "
        f"label; or, if all of them have it, write {' and '.join(match.keys)} into the pool: on GKE into "
        "labels, else into nodeSelector beside inferfleet.dev/pool or what it has"
    )


# What plans do not count. A class does not say how much ephemeral storage nodes have, which depends on disks
# and images. The overhead of a RuntimeClass stands in the cluster, and the API server writes it into pods;
# one that a template has already is planned, and must be the class's.

_STORAGE = "ephemeral-storage"
# Those of NVIDIA's GPU operator, which have no overhead (NVIDIA/gpu-operator, 0200_runtime_class.yaml to
# 0220_runtime_class_cdi.yaml of assets/pre-requisites at e249be8).
_WITHOUT_OVERHEAD = {"nvidia", "nvidia-cdi", "nvidia-legacy"}


def uncounted_request_problems(documents: Documents) -> Iterator[Problem]:
    """Yield a notice for each template whose pods ask for something that plans do not count."""
    for key, document in sorted(documents.deployments.items()):
        for role in roles_of(document):
            for _, path, template in role_templates(document, role):
                yield from _template_problems(key, template.spec, path)


def _template_problems(key: str, spec: dict[str, Any], path: str) -> Iterator[Problem]:
    if storage := requests(spec, _STORAGE):
        yield _template_notice(
            f"each pod requests {gib(storage)} of {_STORAGE}, which plans do not count: classes do not say "
            "how much their nodes have",
            f"Compare it with what nodes offer (kubectl describe node, Allocatable: {_STORAGE}): pods for "
            "which none has enough stay Pending",
            key,
            f"{path}.spec",
        )
    name = spec.get("runtimeClassName")
    if name and "overhead" not in spec and name not in _WITHOUT_OVERHEAD:
        yield _template_notice(
            f"the overhead of RuntimeClass {shown(name)}, if it has one, is not planned: it is known to the "
            "cluster alone",
            f"Write the class's overhead.podFixed (kubectl get runtimeclass {shown(name)} --output yaml) as "
            "overhead of the pod; without one, nothing has to be done",
            key,
            f"{path}.spec.runtimeClassName",
        )


def _template_notice(what: str, next_step: str, key: str, path: str) -> Problem:
    return Problem(what, next_step, path, kind="ModelDeployment", key=key, severity="notice")


# Extended resources of others than vendors of accelerators. They are no condition on classes, because most
# are of device plugins that no class describes.


def undescribed_resource_problems(
    documents: Documents, demands: Demands, placements: Iterable[Placement]
) -> Iterator[Problem]:
    """Yield a warning for each extended resource that templates ask for and that classes of the nodes, where
    their pods are placed, do not describe.
    """
    described = {name: _described_resources(document) for name, document in documents.classes.items()}
    classes = _classes_by_role(documents, placements)
    for key, document in sorted(documents.deployments.items()):
        for role in roles_of(document):
            accelerator = demands.devices[key, role].resource
            for _, path, template in role_templates(document, role):
                for resource, field_path in _extended_resources(template.spec):
                    if lacking := [
                        name for name in classes.get((key, role), ()) if resource not in described[name]
                    ]:
                        at = f"{path}.{path_of(field_path)}"
                        yield replace(_undescribed(resource, lacking, accelerator), path=at, key=key)


def _described_resources(inference_class: InferenceClass) -> frozenset[str | None]:
    """Return the extended resources that nodes have by the document of their class."""
    devices = inference_class.spec.all_devices
    return frozenset(device.driver if device.claim == "Synthetic" else device.asked_as for device in devices)


def _classes_by_role(documents: Documents, placements: Iterable[Placement]) -> dict[RoleKey, list[str]]:
    """Return the classes of the nodes on which each role is placed, sorted."""
    by_pool = {
        (name, pool.name): pool.class_name
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
    }
    classes: dict[RoleKey, set[str]] = {}
    for spot in (placement.spot for placement in placements):
        for role, pool in spot.pools:
            if (spot.cluster, pool) in by_pool:
                classes.setdefault((spot.deployment, role), set()).add(by_pool[spot.cluster, pool])
    return {key: sorted(names) for key, names in classes.items()}


def _extended_resources(spec: dict[str, Any]) -> Iterator[tuple[str, FieldPath]]:
    """Yield the extended resources that containers of a pod ask for, each with the first place."""
    seen: set[str] = set()
    for asked in resource_amounts(spec):
        domain, slash, _ = asked.resource.partition("/")
        if slash and not domain.endswith("kubernetes.io") and asked.resource not in seen:
            seen.add(asked.resource)
            yield asked.resource, asked.path


def _undescribed(resource: str, classes: list[str], accelerator: str | None) -> Problem:
    beside = f" beside {accelerator}" if accelerator else ""
    which = f"class {classes[0]}" if len(classes) == 1 else f"classes {listing(classes)}"
    return Problem(
        f"pods ask for {resource}{beside}, and by {which} their nodes have none: plans do not count it, and "
        "pods for which no node has it stay Pending",
        "If nodes have it, describe it in the class by a device: if it is their accelerator with resource: "
        f"{resource}, else with claim: Synthetic and driver: {resource}",
        kind="ModelDeployment",
        severity="warning",
    )
