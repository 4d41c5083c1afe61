"""Phase one of the plan: what no placement can fix, such as a pod that no node can hold."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.base import LabelSelector
from inferfleet.documents.kinds.inference_cluster import Images
from inferfleet.documents.kinds.model_deployment import ModelDeployment, ModelDeploymentSpec
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.accelerators import (
    accelerator_problems,
    missing_resource,
    nowhere_problems,
    path_of_resource,
)
from inferfleet.fleet.demands import Demands
from inferfleet.fleet.placement.pool_labels import PoolLabels, path_of_conditions
from inferfleet.fleet.placement.suitability import NO_FOLLOWER, spread_over
from inferfleet.fleet.placement.terms import domains
from inferfleet.fleet.roles import (
    engine_of,
    lacking_images,
    path_of_image,
    path_of_role,
    path_of_selector,
    roles_of,
    running_image,
    selector_of,
    workers_of,
)
from inferfleet.fleet.selectors.devices import Selectors
from inferfleet.fleet.selectors.expressions import InvalidSelector
from inferfleet.fleet.shapes import Node, PoolKey, accelerators, gpus, node, shape
from inferfleet.tables.devices import VENDOR_BY_DRIVER

# Of pools whose nodes lack what a template asks for so many are named.
_MOST_SAID = 3
_DOMAIN_STEPS = {
    "region": "Write the label topology.kubernetes.io/region on clusters that exist",
    "zone": "Give pools one zone each: zones on GKE, topology.kubernetes.io/zone in the nodeSelector of "
    "pools that exist or in the labels of their cluster",
}


@dataclass(frozen=True)
class Soundness:
    """What the checks found."""

    invalid: frozenset[str]
    """Deployments with an error. Their replicas stay where they are."""
    problems: tuple[Problem, ...]


def check(documents: Documents, selectors: Selectors, demands: Demands, pool_labels: PoolLabels) -> Soundness:
    """Check every deployment, and every class that a pool uses, by itself.

    Pools that are lost are among the documents; `pool_labels` does not have them, and takes them to suit.
    """
    invalid: set[str] = set()
    problems = list(_class_problems(documents))
    nodes = {
        name: empty
        for name in {
            pool.class_name for cluster in documents.clusters.values() for pool in cluster.spec.node_pools
        }
        if (empty := node(documents.classes[name]))
    }
    selected, impossible = _ClassesBySelector(documents), Impossible(documents)
    for key in sorted(documents.deployments):
        document = documents.deployments[key]
        requests = {role: demands.devices[key, role] for role in roles_of(document)}
        classes = [documents.classes[name] for name in selected.by(document.spec.cluster_selector)[1]]
        found = [
            *accelerator_problems(document, documents.device_resources),
            *nowhere_problems(document, requests, classes),
            *(
                problem
                for role in requests
                for problem in _pod_problems(documents, key, role, demands, nodes)
            ),
            *_cluster_problems(documents, key, selected),
            *_selector_problems(documents, key, selectors, selected),
            *_image_problems(documents, key),
            *_node_label_problems(documents, key, pool_labels),
            *impossible.policy_problems(key),
        ]
        problems += found
        if any(problem.severity == "error" for problem in found):
            invalid.add(key)
    return Soundness(frozenset(invalid), tuple(problems))


def _class_problems(documents: Documents) -> Iterator[Problem]:
    if not documents.deployments:
        return
    used = {pool.class_name for cluster in documents.clusters.values() for pool in cluster.spec.node_pools}
    for name in sorted(used):
        if node(documents.classes[name]) is None:
            devices = accelerators(documents.classes[name])
            yield Problem(
                f"class {name} has {len(devices)} claimable devices of a supported driver or with a "
                "resource; a class in use must have exactly one, or none that pods could claim",
                f"Supported drivers are {', '.join(sorted(VENDOR_BY_DRIVER))}, and any with resource; "
                "set claim: Synthetic on all other devices",
                "spec.devices",
                kind="InferenceClass",
                key=name,
            )


def _pod_problems(
    documents: Documents,
    key: str,
    role: str,
    demands: Demands,
    nodes: Mapping[str, Node],
) -> Iterator[Problem]:
    """Yield a problem if no node of the fleet has the GPUs of a pod, and no group of nodes can."""
    document = documents.deployments[key]
    request, gpus_of_pod = demands.devices[key, role], demands.declared[key, role].pod.gpus
    if request.resource is None or any(
        empty.gpus >= gpus_of_pod and not missing_resource(documents.classes[name], request)
        for name, empty in nodes.items()
    ):
        return
    nodes = {
        name: empty
        for name, empty in nodes.items()
        if empty.gpus and not missing_resource(documents.classes[name], request)
    }
    largest = max(((node.gpus, name) for name, node in nodes.items()), default=None)
    if largest is None:
        return
    path = f"{path_of_role(role)}.workers"
    topology = workers_of(document, role).topology
    if request.named:
        yield Problem(
            f"each pod asks for {gpus_of_pod} {request.resource}; no node of the fleet has more than "
            f"{gpus(largest[0])} (class {largest[1]})",
            "Add a pool of larger nodes, or write as many as a node has, so that several pods share tensor",
            path_of_resource(document, role, request.resource),
            kind="ModelDeployment",
            key=key,
        )
        return
    spread = {name: spread_over(document, role, node) for name, node in nodes.items()}
    if None in spread.values():
        return
    if NO_FOLLOWER in spread.values():
        name = min(name for name, why in spread.items() if why == NO_FOLLOWER)
        pods = shape(topology, nodes[name].gpus).pods
        yield Problem(
            f"a group of {topology.tensor} GPUs (tensor) takes {pods} pods on nodes of class {name}, "
            "and workers have a template for their entry alone",
            "Write follower.template, or template for all pods",
            path,
            kind="ModelDeployment",
            key=key,
        )
        return
    why = spread[largest[1]]
    yield Problem(
        f"each pod needs {gpus_of_pod} GPUs (tensor x dataLocal); no node of the fleet has more than "
        f"{gpus(largest[0])} (class {largest[1]}), and several together do not do: {why}",
        "Make tensor x dataLocal smaller, add a pool of larger nodes, or choose a tensor that is a number of "
        "whole nodes, with dataLocal 1",
        f"{path}.topology",
        kind="ModelDeployment",
        key=key,
    )


class _ClassesBySelector:
    """Classes of the clusters that a selector matches, worked out once for each selector."""

    def __init__(self, documents: Documents) -> None:
        self._clusters = documents.clusters.values()
        self._known: dict[str, tuple[bool, tuple[str, ...]]] = {}

    def by(self, selector: LabelSelector) -> tuple[bool, tuple[str, ...]]:
        """Return whether the selector matches any cluster, and the classes of those, sorted."""
        key = str(selector)
        if key not in self._known:
            matched = [cluster for cluster in self._clusters if selector.matches(cluster.metadata.labels)]
            classes = {pool.class_name for cluster in matched for pool in cluster.spec.node_pools}
            self._known[key] = bool(matched), tuple(sorted(classes))
        return self._known[key]


def _cluster_problems(documents: Documents, key: str, selected: _ClassesBySelector) -> Iterator[Problem]:
    selector = documents.deployments[key].spec.cluster_selector
    any_matches, _ = selected.by(selector)
    if documents.clusters and not any_matches:
        labels = {name: cluster.metadata.labels for name, cluster in sorted(documents.clusters.items())}
        known_labels = "; ".join(
            f"{name} has {_text(of_cluster) or 'no labels'}" for name, of_cluster in labels.items()
        )
        yield Problem(
            f"clusterSelector {selector} matches no cluster",
            f"Use labels that a cluster has: {known_labels}",
            "spec.clusterSelector",
            kind="ModelDeployment",
            key=key,
        )


def _image_problems(documents: Documents, key: str) -> Iterator[Problem]:
    """Yield engines whose templates name no image, where no cluster that is selected has one either."""
    document = documents.deployments[key]
    engines = lacking_images(document, Images())
    if not engines:
        return
    selector, matched = document.spec.cluster_selector, False
    for cluster in documents.clusters.values():
        if selector.matches(cluster.metadata.labels):
            matched = True
            if not lacking_images(document, cluster.spec.serving.images):
                return  # of most deployments the first cluster has them
    if not matched:
        return
    for role in roles_of(document):
        if running_image(document, role, Images()) is None:
            kind = engine_of(document, role).type
            yield Problem(
                "the engine has no image, and no cluster that clusterSelector matches has those of "
                f"{' and '.join(engines)} (serving.images.engine)",
                f"Write engine.image, or serving: {{images: {{engine: {{{kind}: <image>}}}}}} in a cluster",
                path_of_image(document, role),
                kind="ModelDeployment",
                key=key,
            )


def _selector_problems(
    documents: Documents, key: str, selectors: Selectors, selected: _ClassesBySelector
) -> Iterator[Problem]:
    """Yield the problems of each nodeSelector, once, at the first role that has it."""
    document = documents.deployments[key]
    checked: set[str] = set()
    for role in roles_of(document):
        selector = selector_of(document, role)
        if selector is None or selector.cel in checked:
            continue
        checked.add(selector.cel)
        path = path_of_selector(document, role)
        try:
            selectors.check(selector.cel)
            mismatches = {
                name: selectors.mismatch(selector.cel, documents.classes[name])
                for name in selected.by(document.spec.cluster_selector)[1]
            }
        except InvalidSelector as invalid:
            yield _invalid(documents, key, path, selector.cel, invalid)
            continue
        nowhere = bool(mismatches) and all(mismatches.values())
        if mistyped := selectors.mistyped(
            selector.cel, map(documents.classes.__getitem__, sorted(mismatches))
        ):
            problem = _invalid(documents, key, path, selector.cel, mistyped)
            yield problem if nowhere else replace(problem, severity="warning")
            continue
        if nowhere:
            why = "; ".join(f"{name}: {mismatch}" for name, mismatch in sorted(mismatches.items()))
            what = f"nodeSelector matches no class of the clusters that clusterSelector matches ({why})"
            next_step = "Change it; `inferfleet classes` shows the attributes and capacity of each class"
            yield Problem(what, next_step, path, kind="ModelDeployment", key=key)


def _node_label_problems(documents: Documents, key: str, pool_labels: PoolLabels) -> Iterator[Problem]:
    """Yield an error for each role whose templates ask for labels that no pool of its clusters has."""
    document = documents.deployments[key]
    for role in roles_of(document):
        matches = pool_labels.of(key, role)
        if matches is None or not all(
            pool in matches.unmet_by_documents for pool in _pools(documents, document)
        ):
            continue
        reasons = {matches.of(pool).why: "/".join(pool) for pool in sorted(_pools(documents, document))}
        if reasons:
            said = [f"{pool}: {why}" for why, pool in sorted(reasons.items(), key=lambda item: item[1])]
            more = f"; and {len(said) - _MOST_SAID} more" if len(said) > _MOST_SAID else ""
            yield Problem(
                "no pool of the clusters that clusterSelector matches has nodes for this template "
                f"({'; '.join(said[:_MOST_SAID])}{more})",
                "Correct it, or add a pool with such nodes",
                path_of_conditions(document, role),
                kind="ModelDeployment",
                key=key,
            )


def _pools(documents: Documents, document: ModelDeployment) -> Iterator[PoolKey]:
    """Yield the pools of the clusters that a deployment selects."""
    selector = document.spec.cluster_selector
    for name, cluster in documents.clusters.items():
        if selector.matches(cluster.metadata.labels):
            yield from ((name, pool.name) for pool in cluster.spec.node_pools)


def _invalid(documents: Documents, key: str, path: str, cel: str, invalid: InvalidSelector) -> Problem:
    """Say where in the file the expression is wrong, as far as that is known."""
    kind, where = "ModelDeployment", documents.where("ModelDeployment", key, path)
    place = where.inside(cel, invalid.at) if where and invalid.line else None
    if where and place:
        where, column = replace(where, line=place[0]), f"column {place[1]}: "
    elif invalid.line:
        column = f"line {invalid.line}, column {invalid.column} of the expression: "
    else:
        column = ""
    return Problem(f"{column}{invalid.what}", invalid.next_step, path, where, kind=kind, key=key)


def _text(labels: dict[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))


# What no pool could ever meet of what deployments ask for.


class Impossible:
    """What no pool could ever meet of what deployments ask for, worked out once for all that ask alike."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._known: dict[tuple[object, ...], tuple[Problem, ...]] = {}

    def policy_problems(self, key: str) -> Iterator[Problem]:
        """Yield an error for each field of a deployment's policy that no pool of its clusters meets."""
        spec = self._documents.deployments[key].spec
        if spec.model_fields_set.isdisjoint(("spread", "pool_selector", "capacity_models")):
            return
        models = spec.capacity_models if "capacity_models" in spec.model_fields_set else None
        over = spec.spread.over if spec.spread else None
        policy = str(spec.cluster_selector), str(spec.pool_selector), models, over
        if policy not in self._known:
            self._known[policy] = tuple(_policy_problems(self._documents, spec))
        for problem in self._known[policy]:
            yield replace(problem, key=key)


def _policy_problems(documents: Documents, spec: ModelDeploymentSpec) -> Iterator[Problem]:
    pools = _selected_pools(documents, spec.cluster_selector)
    if not pools:
        return
    if spec.spread and not pools & domains(documents, spec.spread.over).keys():
        over = spec.spread.over
        what = over if over in _DOMAIN_STEPS else f"label {over}"
        yield Problem(
            f"spread.over is {over}, and no pool of the clusters that clusterSelector matches has a {what} "
            "that is known",
            _DOMAIN_STEPS.get(
                over, f"Use cluster, region, zone or a label that clusters have ({_label_names(documents)})"
            ),
            "spec.spread.over",
            kind="ModelDeployment",
        )
    chosen = [
        pool
        for name, cluster in documents.clusters.items()
        for pool in cluster.spec.node_pools
        if (name, pool.name) in pools
    ]
    if not any(spec.pool_selector.matches(pool.node_labels) for pool in chosen):
        labels = {f"{label}={value}" for pool in chosen for label, value in pool.node_labels.items()}
        yield Problem(
            f"poolSelector {spec.pool_selector} matches no pool of the clusters that clusterSelector matches",
            f"Use labels that their pools have ({listing(sorted(labels)) or 'there are none'})",
            "spec.poolSelector",
            kind="ModelDeployment",
        )
    models = {pool.capacity.model for pool in chosen}
    if "capacity_models" in spec.model_fields_set and models.isdisjoint(spec.capacity_models):
        yield Problem(
            f"capacityModels allow {listing(spec.capacity_models)}, and the pools of the clusters that "
            f"clusterSelector matches are {listing(sorted(models))}",
            "Add one of these, or a pool with such a capacity.model",
            "spec.capacityModels",
            kind="ModelDeployment",
        )


def _selected_pools(documents: Documents, selector: LabelSelector) -> set[PoolKey]:
    """Return the pools of the clusters that are selected."""
    return {
        (name, pool.name)
        for name, cluster in documents.clusters.items()
        if selector.matches(cluster.metadata.labels)
        for pool in cluster.spec.node_pools
    }


def _label_names(documents: Documents) -> str:
    keys = {key for cluster in documents.clusters.values() for key in cluster.metadata.labels}
    return listing(sorted(keys)) if keys else "they have none"
