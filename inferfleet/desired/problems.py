"""What is wrong between documents, the plan and the pods that were made of them, and belongs to no single
manifest: engines, pickers, queues, networks between GPUs, risks of pods, and things of one name.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from inferfleet.desired.pods import Pods
from inferfleet.desired.values import DesiredCluster, KubeObject, titled
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.pods.diff import field_path
from inferfleet.documents.pods.security import Forbidden, forbidden, listed
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import path_of
from inferfleet.fleet.accelerators import has_accelerators
from inferfleet.fleet.adapters import adapter_problems
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.demands import Demands, RoleKey
from inferfleet.fleet.names import DEPLOYMENT, ROLE, SERVICE
from inferfleet.fleet.roles import (
    DECODE,
    connector,
    is_disaggregated,
    path_of_args,
    path_of_role,
    path_of_selector,
    roles_of,
    serving_roles,
    workers_of,
)
from inferfleet.fleet.shapes import Shape, has_fabric, node
from inferfleet.fleet.spot import Spot
from inferfleet.serving import picker_check, scaler
from inferfleet.serving.engines import check
from inferfleet.serving.picker import Picker
from inferfleet.serving.pod.plain_secrets import risks
from inferfleet.serving.schedulers import block_problems, mark_problems
from inferfleet.serving.workload import WORKER_SET
from inferfleet.tables.devices import LINK_TYPE, NETWORK_DRIVER

_FABRIC = "network-fabric"
# What it gives, and a template that was written before may have too.
_FABRIC_GIVES = ("capabilities.add", "IPC_LOCK")
_FORBIDDEN = "what level baseline of the Pod Security Standards forbids"
_REFUSED = "a namespace that enforces the level takes their workload and refuses the pods"


def engine_problems(documents: Documents, planned: Plan) -> Iterator[Problem]:
    """Yield what is wrong with declared engines, what the pools of prefill and decode have otherwise, and
    what cannot be scaled so.
    """
    shapes = worker_shapes(documents, planned)
    spots: dict[str, list[Spot]] = {}
    for placement in planned.placements:
        spots.setdefault(placement.spot.deployment, []).append(placement.spot)
    for key, deployment in sorted(documents.deployments.items()):
        pods = {role: [shape.pods for shape in shapes[key, role]] for role in roles_of(deployment)}
        placed = spots.get(key, ())
        yield from check.engine_problems(deployment, pods)
        yield from adapter_problems(documents, key, pods)
        # Replicas that have no pool for a role, or are on a lost cluster, are not what the document says.
        for spot in placed:
            if {role for role, _ in spot.pools} >= {*serving_roles(deployment)}:
                yield from _lone_fabric_problems(documents, deployment, spot)
            yield from _slow_group_problems(documents, planned.demands, deployment, spot)
    yield from scaler.problems(documents, planned.placements)


def _lone_fabric_problems(documents: Documents, deployment: ModelDeployment, spot: Spot) -> Iterator[Problem]:
    """Yield a warning where the pool of one of prefill and decode alone has a network between its GPUs."""
    if not is_disaggregated(deployment) or connector(deployment) == "SharedStorage":
        return
    spec = documents.clusters[spot.cluster].spec
    fabrics = {
        role: has_fabric(documents.classes[spec.pool(spot.pool(role)).class_name])
        for role in serving_roles(deployment)
    }
    for role, other_role in (serving_roles(deployment), serving_roles(deployment)[::-1]):
        if fabrics[other_role] and not fabrics[role]:
            yield Problem(
                f"the class of pool {spot.pool(other_role)} of {other_role} has a network between GPUs, "
                f"and that of pool {spot.pool(role)} of cluster {spot.cluster} of {role} has none, "
                "so caches go over TCP",
                "Choose nodes with the same network for both by nodeSelector, if prompts are long",
                path_of_selector(deployment, role).removesuffix(".cel"),
                kind="ModelDeployment",
                key=deployment.metadata.key,
                severity="warning",
            )


def _slow_group_problems(
    documents: Documents, demands: Demands, deployment: ModelDeployment, spot: Spot
) -> Iterator[Problem]:
    """Yield a warning for each role whose groups of `tensor` GPUs are spread over nodes without a network."""
    spec = documents.clusters[spot.cluster].spec
    for role, pool in spot.pools:
        if role not in roles_of(deployment) or pool not in {document.name for document in spec.node_pools}:
            continue
        inference_class = documents.classes[spec.pool(pool).class_name]
        empty, tensor = node(inference_class), workers_of(deployment, role).topology.tensor
        if empty is None or has_fabric(inference_class):
            continue
        gpus = demands.unedited(spot.deployment, role, empty.gpus).pod.gpus
        if 0 < gpus < tensor:
            # Without numbers, so that all deployments on the class are told in one line.
            yield Problem(
                "the GPUs that share each layer (tensor) are spread over several nodes of class "
                f"{inference_class.metadata.name}, which describes no network between them: every layer "
                "waits for an exchange over the ordinary network, which is slow",
                "Choose nodes with as many GPUs; write pipeline in place of tensor; or if nodes have such a "
                f"network, describe it in the class (gpuDirect on GKE, a Synthetic device of driver "
                f"{NETWORK_DRIVER} or with the attribute {LINK_TYPE})",
                f"{path_of_role(role)}.workers.topology",
                kind="ModelDeployment",
                key=deployment.metadata.key,
                severity="warning",
            )


def worker_shapes(documents: Documents, planned: Plan) -> dict[RoleKey, tuple[Shape, ...]]:
    """Return the shapes that workers of each role have where they are placed, each once.

    Without a place it is that of its topology, or that on the largest nodes where they do not hold a group of
    `tensor` GPUs.
    """
    nodes = {name: node(document) for name, document in documents.classes.items()}
    sizes = {
        (name, pool.name): empty.gpus
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
        if (empty := nodes.get(pool.class_name))
    }
    placed: dict[RoleKey, set[int]] = {}
    for spot in (placement.spot for placement in planned.placements):
        for role, pool in spot.pools:
            if (spot.cluster, pool) in sizes:
                placed.setdefault((spot.deployment, role), set()).add(sizes[spot.cluster, pool])
    largest = max(sizes.values(), default=None)
    shapes: dict[RoleKey, tuple[Shape, ...]] = {}
    for key, deployment in documents.deployments.items():
        for role in roles_of(deployment):
            topology = workers_of(deployment, role).topology
            without = topology.gpus_per_pod if largest is None else largest
            unplaced = {without if has_accelerators(deployment, role) else 0}
            found = [planned.demands.unedited(key, role, gpus) for gpus in placed.get((key, role), unplaced)]
            shapes[key, role] = tuple(sorted({Shape(each.gang, each.pod.gpus) for each in found}))
    return shapes


def picker_problems(documents: Documents, pickers: Mapping[tuple[str, str], Picker]) -> Iterator[Problem]:
    """Yield what is wrong with endpoint pickers in documents, and with those that are planned, by deployment
    and cluster.
    """
    for cluster in documents.clusters.values():
        yield from picker_check.cluster_problems(cluster)
    for deployment in documents.deployments.values():
        yield from picker_check.deployment_problems(deployment)
    for (_, cluster_name), picker in pickers.items():
        yield from picker_check.picker_problems(picker, documents.clusters[cluster_name])


def scheduler_problems(documents: Documents, placed: Mapping[Spot, Iterable[Pods]]) -> Iterator[Problem]:
    """Yield what documents and final pods of placements contradict about queues and schedulers."""
    for spot, of_spot in placed.items():
        yield from block_problems(documents, spot)
        for pods in of_spot:
            yield from mark_problems(
                documents,
                spot,
                pods.outcome.template,
                role=pods.role,
                position=pods.placed.position,
                link_of=pods.link_at,
            )


def same_name_problems(documents: Documents, clusters: Iterable[DesiredCluster]) -> Iterator[Problem]:
    """Yield objects of the same kind and name on a cluster, and components of the same Pulumi name.

    Of all that two documents would call alike, on all clusters, it is the first: one of the two gets another
    name. What one document would call alike is told thing by thing.
    """
    reported: set[Hashable] = set()
    for cluster in clusters:
        objects: dict[tuple[str, str, str | None, str], _Owned] = {}
        components: dict[tuple[str, str], _Owned] = {}
        for component in (component for component in cluster.components if component.objects):
            # Objects without a namespace are of the document that the others are of.
            namespace = next((item.namespace for item in component.objects if item.namespace), None)
            # Two of the same name are each described by their last object.
            last = _Owned(component.objects[-1], namespace)
            before = components.setdefault((component.kind, component.name), last)
            if before is not last and _is_new(before, last, reported):
                owners = [f"{each.title} of {_owner(documents, each)}" for each in (before, last)]
                yield _same_name(f"{component.kind} {component.name}", cluster, owners, last)
            for item in component.objects:
                owned = _Owned(item, namespace)
                kinds = [(item.api_version.rpartition("/")[0], item.kind)]
                if item.kind == WORKER_SET:
                    # Its controller makes a Service of the same name, and takes one that exists for its own.
                    kinds.append(("", "Service"))
                for group, kind in kinds:
                    identity = group, kind, item.namespace, item.kubernetes_name
                    first_owner = objects.get(identity)
                    objects[identity] = owned
                    if first_owner and _is_new(first_owner, owned, reported):
                        owners = [_owner(documents, each) for each in (first_owner, owned)]
                        title = titled(kind, item.namespace, item.kubernetes_name)
                        yield _same_name(title, cluster, owners, owned)


class _Owned(NamedTuple):
    """An object, and the namespace of the document that it is made for: it may have none itself."""

    item: KubeObject
    namespace: str | None

    @property
    def title(self) -> str:
        return titled(self.item.kind, self.item.namespace, self.item.kubernetes_name)

    @property
    def field(self) -> tuple[str, str, str]:
        """Return kind, key and field of the document that it is made for; "" where it is for all."""
        labels = self.item.manifest["metadata"].get("labels", {})
        for kind, label in (("ModelDeployment", DEPLOYMENT), ("ModelService", SERVICE)):
            if label in labels:
                role = labels.get(ROLE, DECODE)
                path = "metadata.name" if role == DECODE else path_of_role(role)
                return kind, f"{self.namespace}/{labels[label]}", path
        return "", "", ""


def _is_new(one: _Owned, other: _Owned, known: set[Hashable]) -> bool:
    """Return whether nothing is known of the two documents, or of these parts of one, and note that it is."""
    documents = frozenset(each.field[:2] for each in (one, other))
    what = documents if len(documents) > 1 else (documents, one.item.kind, one.item.kubernetes_name)
    new = what not in known
    known.add(what)
    return new


def _same_name(what: str, cluster: DesiredCluster, owners: Iterable[str], owned: _Owned) -> Problem:
    kind, key, path = owned.field
    wanted = " and by ".join(dict.fromkeys(owners))
    return Problem(
        f"two different things on cluster {cluster.connection.cluster} would be called {what} "
        f"(wanted by {wanted})",
        "Rename one of the deployments, roles, services or pools from which the name is derived",
        path,
        kind=kind,
        key=key,
    )


def _owner(documents: Documents, owned: _Owned) -> str:
    """Return the document that an object is made for, its role if it is of one, and where that is written."""
    kind, key, path = owned.field
    role = owned.item.manifest["metadata"].get("labels", {}).get(ROLE)
    where = documents.where(kind, key, path)
    return (
        (f"role {role} of " if role else "")
        + (f"{kind} {key}" if kind else "the stack")
        + (f" ({where})" if where else "")
    )


def risk_problems(documents: Documents, placed: Mapping[Spot, tuple[Pods, ...]]) -> Iterator[Problem]:
    """Yield secrets in plain text, and what Pod Security Standards forbid, of pods after their chain: as a
    warning or, as the stack's settings say, an error; nothing with `ignore`.

    What the document already says is the document's, wherever its replicas run, in its template or in args of
    a written command; the rest is of the plugin that changed that place last. Each secret is told by itself;
    all that the standards forbid is one line per deployment, and one per plugin of another document that
    gives it to deployments. What `network-fabric` gives, without which the hardware that somebody chose is
    not reached, is told where namespaces would refuse it, and else nowhere.
    """
    settings = documents.settings
    if settings.pod_security == "ignore":
        return
    every = [pods for of_spot in placed.values() for pods in of_spot]
    problems = [problem for pods in every for problem in _secret_problems(documents, pods)]
    problems += _baseline_problems(every, enforced=settings.pod_security == "enforce")
    for problem in problems:
        if settings.pod_security == "warn":
            yield replace(problem, severity="warning")
        else:
            next_step = f"{problem.next_step}; setting podSecurity: warn would only warn of it"
            yield replace(problem, next_step=next_step)


def _secret_problems(documents: Documents, pods: Pods) -> Iterator[Problem]:
    risks_of_document = {(risk.place, risk.what): risk for risk in risks(pods.placed.written.manifest)}
    for risk in risks(pods.outcome.template):
        risk_of_document = risks_of_document.get((risk.place, risk.what))
        link = None if risk_of_document else pods.link_at(risk.place)
        key = pods.spot.deployment
        if link is None:
            args = path_of_args(documents.deployments[key], pods.role)
            path = f"{pods.placed.path}.{risk_of_document.path}" if risk_of_document else args
            yield Problem(risk.what, risk.next_step, path, kind="ModelDeployment", key=key)
        else:
            what = f"plugin {link.spec.name} gives pods of {key} this at {risk.place}: {risk.what}"
            yield link.problem(what, "Change its config, or remove the plugin")


@dataclass
class _Forbidding:
    """What of pods is forbidden by the doing of one document."""

    before: str
    """Words before the names of the deployments whose pods have it."""
    after: str
    problem: Callable[[str, str], Problem]
    """Makes the problem of the document."""
    deployments: dict[str, None] = field(default_factory=dict)
    found: list[Forbidden] = field(default_factory=list)


def _baseline_problems(every: Iterable[Pods], *, enforced: bool) -> Iterator[Problem]:
    by_document: dict[tuple[str, str, str], _Forbidding] = {}
    for pods in every:
        key, template = pods.spot.deployment, pods.outcome.template
        if not (violations := tuple(forbidden(template, level="baseline"))):
            continue
        document = pods.placed.written.manifest
        own = {
            (field_path(document, violation.field_path), violation.what): violation
            for violation in forbidden(document, level="baseline")
        }
        has_fabric = any(effect.plugin == _FABRIC and effect.in_scope for effect in pods.outcome.effects)
        for violation in violations:
            place = field_path(template, violation.field_path)
            written = own.get((place, violation.what))
            link = None if written else pods.link_at(place)
            given = (violation.field, violation.value) == _FABRIC_GIVES
            if has_fabric and not enforced and (link.spec.name == _FABRIC if link else given):
                continue
            if link and link.kind != "ModelDeployment":
                of_link = _Forbidding(f"plugin {link.spec.name} gives pods of ", " ", link.problem)
                forbidding = by_document.setdefault((link.kind, link.key, link.path), of_link)
            else:
                path = pods.placed.path
                if link:
                    path = link.path
                    violation = replace(violation, part=f"{violation.part} (by plugin {link.spec.name})")
                elif written:
                    path = f"{path}.{path_of(written.field_path)}"
                of_deployment = partial(Problem, path=path, kind="ModelDeployment", key=key)
                forbidding = by_document.setdefault(
                    ("ModelDeployment", key, ""), _Forbidding("pods of ", " have ", of_deployment)
                )
            forbidding.deployments[key] = None
            forbidding.found.append(violation)
    for forbidding in by_document.values():
        first, *others = forbidding.deployments
        more = f" and {len(others)} more" if others else ""
        yield forbidding.problem(
            f"{forbidding.before}{first}{more}{forbidding.after}{_FORBIDDEN}: {listed(forbidding.found)}",
            f"Remove what is not needed: {_REFUSED}",
        )
