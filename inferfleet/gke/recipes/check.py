"""Every recipe that Google would refuse, with reason and source, before anything is asked of it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from inferfleet.api.documents import Documents
from inferfleet.api.kinds.node_pool import NodePool
from inferfleet.api.problems import Problem
from inferfleet.gke.facts.machines import machine as known_machine
from inferfleet.gke.facts.machines import machine_of
from inferfleet.gke.recipes import capacity, devices, machine, version, zones
from inferfleet.gke.recipes.cluster import cluster_problems
from inferfleet.gke.recipes.findings import Finding, PoolRecipe, Recipe

_OF_CLASSES = (*machine.RULES, *devices.RULES)
_OF_POOLS = (*capacity.RULES, *zones.RULES, *version.RULES)
# Kind and key of the document that holds the field, the problem, and whether it refuses (or only warns).
_Told = tuple[str, str, Problem, bool]


def recipe_problems(documents: Documents) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """What stands against the GKE clusters as they are written, and what may: problems and warnings.

    A class is judged once, where any pool of a GKE cluster uses it. Abandoned clusters are left out.
    """
    problems: list[Problem] = []
    warnings: list[Problem] = []
    for kind, key, problem, refuses in _told(documents):
        located = replace(problem, where=documents.where(kind, key, problem.path))
        (problems if refuses else warnings).append(located)
    return tuple(problems), tuple(warnings)


def _told(documents: Documents) -> Iterator[_Told]:
    recipes: dict[str, Recipe | None] = {}
    for name, cluster in sorted(documents.clusters.items()):
        gke = cluster.spec.cluster.gke
        if gke is None or cluster.spec.state == "abandoned":
            continue
        for problem in cluster_problems(name, cluster):
            yield "InferenceCluster", name, problem, True
        for place, pool in enumerate(cluster.spec.node_pools):
            subject, of_class = f"pool {pool.name} of cluster {name}", pool.class_name
            if of_class not in recipes:
                recipes[of_class] = _recipe(documents, of_class)
                yield from _of_class(recipes[of_class])
            recipe = recipes[of_class]
            if recipe is None:
                yield "InferenceCluster", name, _unmakable(documents, subject, place, pool), True
                continue
            asked = PoolRecipe(name, gke, place, pool, recipe)
            found = (one for rule in _OF_POOLS for one in rule(asked))
            for problem, refuses in _weighed(found, subject, recipe.gke.verified):
                yield "InferenceCluster", name, problem, refuses


def _recipe(documents: Documents, name: str) -> Recipe | None:
    document = documents.classes[name]
    facts, provisioning = machine_of(document), document.spec.provisioning
    if facts is None or provisioning is None or provisioning.gke is None:
        return None
    return Recipe(document, provisioning.gke, facts, known=known_machine(facts.type) is not None)


def _of_class(recipe: Recipe | None) -> Iterator[_Told]:
    if recipe is not None:
        found = (one for rule in _OF_CLASSES for one in rule(recipe))
        for problem, refuses in _weighed(found, f"class {recipe.name}", recipe.gke.verified):
            yield "InferenceClass", recipe.name, problem, refuses


def _weighed(found: Iterable[Finding], subject: str, verified: str | None) -> Iterator[tuple[Problem, bool]]:
    """Each finding as a problem, and whether it refuses. Who saw a recipe work knows more than a table."""
    for one in found:
        what, next_step = one.said_of(subject), one.next_step
        if one.weight == "rule":
            yield Problem(what, next_step, one.path), True
        elif one.weight == "fact" and verified:
            what = f"{what}, but was seen to work: {verified}"
            yield Problem(what, "Keep verified true", one.path), False
        elif one.weight == "fact":
            hint = "If Google has changed that since, say where you saw it in the class: verified"
            yield Problem(what, f"{next_step}. {hint}", one.path), True
        elif not verified:
            yield Problem(what, next_step, one.path), False


def _unmakable(documents: Documents, subject: str, place: int, pool: NodePool) -> Problem:
    provisioning = documents.classes[pool.class_name].spec.provisioning
    why = f"is provisioned by {provisioning.provider}" if provisioning else "says not how its nodes are made"
    what = f"{subject} is made by GKE, but class {pool.class_name} {why}"
    next_step = "Use a class with provisioning {provider: GKE}; `inferfleet classes` lists them"
    return Problem(what, next_step, f"spec.nodePools[{place}].className")
