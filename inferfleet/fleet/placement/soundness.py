"""Phase one of the plan: what no placement can fix, such as a pod that no node can hold."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.fleet.placement.suitability import gpus
from inferfleet.fleet.selectors.cel import InvalidSelector, Selectors
from inferfleet.fleet.shapes import Demand, accelerator, accelerators, demand
from inferfleet.profiles.devices import RESOURCE_BY_DRIVER


@dataclass(frozen=True)
class Checked:
    """What the checks found out.

    `demands` has what each deployment needs, as far as its pods could be read. Replicas of deployments in
    `invalid` stay where they are.
    """

    demands: dict[str, Demand]
    invalid: frozenset[str]
    problems: tuple[Problem, ...]


def check(documents: Documents, selectors: Selectors) -> Checked:
    """Check every deployment, and every class that a pool uses, by itself."""
    demands: dict[str, Demand] = {}
    invalid: set[str] = set()
    problems = list(_classes(documents))
    for key in sorted(documents.deployments):
        own = [
            *_pods(documents, key, demands),
            *_clusters(documents, key),
            *_selector(documents, key, selectors),
        ]
        if own:
            invalid.add(key)
            problems += own
    return Checked(demands, frozenset(invalid), tuple(problems))


def _classes(documents: Documents) -> Iterator[Problem]:
    if not documents.deployments:
        return
    used = {pool.class_name for cluster in documents.clusters.values() for pool in cluster.spec.node_pools}
    for name in sorted(used):
        devices = accelerators(documents.classes[name])
        if len(devices) != 1:
            yield Problem(
                f"class {name} has {len(devices)} claimable devices of a supported driver; "
                "a class in use must have exactly one",
                f"Supported drivers are {', '.join(sorted(RESOURCE_BY_DRIVER))}; "
                "set claim: Synthetic on all other devices",
                "spec.devices",
                kind="InferenceClass",
                key=name,
            )


def _pods(documents: Documents, key: str, demands: dict[str, Demand]) -> Iterator[Problem]:
    needs = demands[key] = demand(documents.deployments[key])
    sizes = [
        (device.count, pool.class_name)
        for cluster in documents.clusters.values()
        for pool in cluster.spec.node_pools
        if (device := accelerator(documents.classes[pool.class_name]))
    ]
    if sizes and max(sizes)[0] < needs.pod.gpus:
        yield Problem(
            f"each pod needs {needs.pod.gpus} GPUs (tensor x dataLocal); no node of the fleet has more than "
            f"{gpus(max(sizes)[0])} (class {max(sizes)[1]})",
            "Make tensor x dataLocal smaller, or add a pool of larger nodes",
            "spec.workers.topology",
            kind="ModelDeployment",
            key=key,
        )


def _clusters(documents: Documents, key: str) -> Iterator[Problem]:
    selector = documents.deployments[key].spec.cluster_selector
    labels = {name: cluster.metadata.labels for name, cluster in sorted(documents.clusters.items())}
    if labels and not any(map(selector.matches, labels.values())):
        there = "; ".join(f"{name} has {_text(own) or 'no labels'}" for name, own in labels.items())
        yield Problem(
            f"clusterSelector {_text(selector.match_labels)} matches no cluster",
            f"Use labels that a cluster has: {there}",
            "spec.clusterSelector",
            kind="ModelDeployment",
            key=key,
        )


def _selector(documents: Documents, key: str, selectors: Selectors) -> Iterator[Problem]:
    spec = documents.deployments[key].spec
    if spec.node_selector is None:
        return
    path = "spec.nodeSelector.cel"
    try:
        selectors.check(spec.node_selector.cel)
        objections = {
            pool.class_name: selectors.objection(spec.node_selector.cel, documents.classes[pool.class_name])
            for cluster in documents.clusters.values()
            if spec.cluster_selector.matches(cluster.metadata.labels)
            for pool in cluster.spec.node_pools
        }
    except InvalidSelector as invalid:
        yield _invalid(documents, key, path, invalid)
        return
    if objections and all(objections.values()):
        why = "; ".join(f"{name}: {objection}" for name, objection in sorted(objections.items()))
        what = f"nodeSelector matches no class of the clusters that clusterSelector matches ({why})"
        next_step = "Change it; `inferfleet classes` shows the attributes and capacity of each class"
        yield Problem(what, next_step, path, kind="ModelDeployment", key=key)


def _invalid(documents: Documents, key: str, path: str, invalid: InvalidSelector) -> Problem:
    """Say where in the file the expression is wrong, as far as that is known."""
    kind, where = "ModelDeployment", documents.where("ModelDeployment", key, path)
    selector = documents.deployments[key].spec.node_selector
    place = where.inside(selector.cel, invalid.at) if where and selector and invalid.line else None
    if where and place:
        where, column = replace(where, line=place[0]), f"column {place[1]}: "
    elif invalid.line:
        column = f"line {invalid.line}, column {invalid.column} of the expression: "
    else:
        column = ""
    return Problem(f"{column}{invalid.what}", invalid.next_step, path, where, kind=kind, key=key)


def _text(labels: dict[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))
