"""Every recipe that Google would refuse once its cluster is there and billed, with reason and source.

What the first call of an update says itself, of networks and clusters, is left to that.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace

from inferfleet.cloud.gke.described import DescribedClass, DescribedCluster, DescribedPool
from inferfleet.cloud.gke.gateways import gateway_problems, pool_kind_problems
from inferfleet.cloud.gke.recipes import classes, pools
from inferfleet.cloud.gke.recipes.classes import tpu_problem
from inferfleet.cloud.gke.recipes.clusters import (
    cluster_problems,
    maintenance_problems,
    network_way_problems,
    way_in_problems,
)
from inferfleet.cloud.gke.recipes.problems import MAYBE_UPGRADED, RecipeProblem
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import NodePool
from inferfleet.documents.problems import Problem

_CLASS, _CLUSTER = "InferenceClass", "InferenceCluster"


def recipe_problems(
    documents: Documents,
    clusters: Mapping[str, DescribedCluster],
    existing_clusters: Container[str] = (),
    locked_clusters: Container[str] = (),
) -> Iterator[Problem]:
    """Yield what Google would refuse of the clusters as they are written (errors), or might (warnings).

    A class is checked once, where any pool of a GKE cluster uses it. Abandoned clusters are left out.
    `existing_clusters` holds the GKE clusters that exist: what is wrong with what one began with is a
    warning. `locked_clusters` holds all clusters that are in the lock, existing ones too.
    """
    yield from gateway_problems(documents, locked_clusters)
    checked: set[str] = set()
    for cluster in clusters.values():
        if cluster.document.spec.state == "abandoned":
            continue
        yield from cluster_problems(cluster)
        yield from pool_kind_problems(cluster, existing_clusters)
        yield from network_way_problems(cluster)
        yield from maintenance_problems(cluster)
        if cluster.name not in existing_clusters:
            yield from way_in_problems(cluster)
        provisioned = {pool.place: pool for pool in cluster.pools}
        for index, document in enumerate(cluster.document.spec.node_pools):
            pool = provisioned.get(index)
            if pool is None:
                yield _not_provisioned(documents, cluster.name, index, document)
                continue
            if pool.gke_class.name not in checked:
                checked.add(pool.gke_class.name)
                yield from _class_problems(pool.gke_class)
            yield from _pool_problems(pool, exists=cluster.name in existing_clusters)


def _class_problems(gke_class: DescribedClass) -> Iterator[Problem]:
    if tpu := tpu_problem(gke_class):
        yield tpu
        return
    found = (problem for rule in classes.RULES for problem in rule(gke_class))
    verified = gke_class.recipe.verified
    for problem in _problems(found, f"class {gke_class.name}", verified, exists=False):
        yield replace(problem, kind=_CLASS, key=gke_class.name)


def _pool_problems(pool: DescribedPool, *, exists: bool) -> Iterator[Problem]:
    found = (problem for rule in pools.RULES for problem in rule(pool))
    subject = f"pool {pool.name} of cluster {pool.cluster}"
    for problem in _problems(found, subject, pool.gke_class.recipe.verified, exists=exists):
        yield replace(problem, kind=_CLUSTER, key=pool.cluster)


def _problems(
    found: Iterable[RecipeProblem], subject: str, verified: str | None, *, exists: bool
) -> Iterator[Problem]:
    """Yield each with its severity. `verified` overrules the table of machines."""
    for problem in found:
        what, next_step = problem.about(subject), problem.next_step
        if problem.certainty == "rule":
            yield Problem(what, next_step, problem.path)
        elif problem.certainty == "creation":
            yield Problem(what, next_step, problem.path, severity="warning" if exists else "error")
        elif problem.certainty == "floor" and exists:
            yield Problem(f"{what}{MAYBE_UPGRADED}", next_step, problem.path, severity="warning")
        elif problem.certainty in ("fact", "floor") and verified:
            what = f"{what}, but was seen to work: {verified}"
            yield Problem(
                what,
                "Look again at what `verified` says when you change the recipe",
                problem.path,
                severity="warning",
            )
        elif problem.certainty in ("fact", "floor"):
            hint = "If Google has changed that since, say where you saw it in the class: verified"
            yield Problem(what, f"{next_step}. {hint}", problem.path)
        elif not verified:
            yield Problem(what, next_step, problem.path, severity="warning")


def _not_provisioned(documents: Documents, cluster: str, index: int, pool: NodePool) -> Problem:
    provisioning = documents.classes[pool.class_name].spec.provisioning
    why = (
        f"is provisioned by {provisioning.provider}"
        if provisioning
        else "does not say how its nodes are provisioned"
    )
    what = f"pool {pool.name} of cluster {cluster} is provisioned by GKE, but class {pool.class_name} {why}"
    next_step = "Use a class with provisioning {provider: GKE}; `inferfleet classes` lists them"
    return Problem(what, next_step, f"spec.nodePools[{index}].className", kind=_CLUSTER, key=cluster)
