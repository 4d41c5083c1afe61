"""What no placement can make good: selectors that do not compile or match nothing, pods no node can hold."""

from collections.abc import Iterator
from dataclasses import dataclass

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.fleet.placement.suitability import gpus
from inferfleet.fleet.selectors.cel import InvalidSelector, Selectors
from inferfleet.fleet.shapes import Demand, accelerator, accelerators, demand
from inferfleet.profiles.devices import RESOURCE_BY_DRIVER


@dataclass(frozen=True)
class Sound:
    """`demands` of the deployments whose pods could be read; those in `invalid` stay where they are."""

    demands: dict[str, Demand]
    invalid: frozenset[str]
    problems: tuple[Problem, ...]


def sound(documents: Documents, selectors: Selectors) -> Sound:
    """Every deployment and every class in use, checked by itself."""
    demands: dict[str, Demand] = {}
    invalid: set[str] = set()
    problems = list(_classes(documents))
    for key in sorted(documents.deployments):
        found = list(_pods(documents, key, demands)) + list(_clusters(documents, key))
        found += _selector(documents, key, selectors)
        if found:
            invalid.add(key)
            problems += found
    return Sound(demands, frozenset(invalid), tuple(problems))


def _classes(documents: Documents) -> Iterator[Problem]:
    if not documents.deployments:
        return
    used = {pool.class_name for cluster in documents.clusters.values() for pool in cluster.spec.node_pools}
    for name in sorted(used):
        found = accelerators(documents.classes[name])
        if len(found) != 1:
            yield Problem(
                f"class {name} has {len(found)} claimable devices of a known driver, a class in use has one",
                f"Known drivers are {', '.join(sorted(RESOURCE_BY_DRIVER))}; mark others claim: Synthetic",
                "spec.devices",
                kind="InferenceClass",
                key=name,
            )


def _pods(documents: Documents, key: str, demands: dict[str, Demand]) -> Iterator[Problem]:
    try:
        asked = demands[key] = demand(documents.deployments[key])
    except ValueError as wrong:
        path, next_step = "spec.workers.template.spec", "Mend the resources of the container"
        yield Problem(str(wrong), next_step, path, kind="ModelDeployment", key=key)
        return
    sizes = [
        (device.count, pool.class_name)
        for cluster in documents.clusters.values()
        for pool in cluster.spec.node_pools
        if (device := accelerator(documents.classes[pool.class_name]))
    ]
    if sizes and max(sizes)[0] < asked.pod.gpus:
        yield Problem(
            f"each pod needs {asked.pod.gpus} GPUs (tensor x dataLocal); no node of the fleet has more than "
            f"{gpus(max(sizes)[0])} (class {max(sizes)[1]})",
            "Make tensor x dataLocal smaller, or add a pool of larger nodes",
            "spec.workers.topology",
            kind="ModelDeployment",
            key=key,
        )


def _clusters(documents: Documents, key: str) -> Iterator[Problem]:
    selector = documents.deployments[key].spec.cluster_selector
    labels = {name: one.metadata.labels for name, one in sorted(documents.clusters.items())}
    if labels and not any(selector.matches(one) for one in labels.values()):
        there = "; ".join(f"{name} has {_text(one) or 'none'}" for name, one in labels.items())
        yield Problem(
            f"clusterSelector {_text(selector.match_labels)} matches no cluster",
            f"Use labels that a cluster carries: {there}",
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
    except InvalidSelector as invalid:
        next_step = "Mend the expression; `inferfleet classes` shows what each class offers"
        what = f"{spec.node_selector.cel!r} is not a selector: {invalid}"
        yield Problem(what, next_step, path, kind="ModelDeployment", key=key)
        return
    objections = {
        pool.class_name: selectors.objection(spec.node_selector.cel, documents.classes[pool.class_name])
        for cluster in documents.clusters.values()
        if spec.cluster_selector.matches(cluster.metadata.labels)
        for pool in cluster.spec.node_pools
    }
    if objections and all(objections.values()):
        said = "; ".join(f"{name}: {why}" for name, why in sorted(objections.items()))
        what = f"nodeSelector matches no class of the clusters that clusterSelector leaves ({said})"
        next_step = "`inferfleet classes` shows what each class offers"
        yield Problem(what, next_step, path, kind="ModelDeployment", key=key)


def _text(labels: dict[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))
