"""The line of a cluster's document that a problem speaks of."""

from dataclasses import replace

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem


def located(problem: Problem, cluster: str, documents: Documents | None) -> Problem:
    """The problem with file and line of its path in the cluster's document, if that is known."""
    where = documents.where("InferenceCluster", cluster, problem.path) if documents else None
    return replace(problem, where=where) if where else problem
