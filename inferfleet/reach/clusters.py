"""Problems of one cluster, which name its document."""

from inferfleet.api.problems import Problem, Severity


def cluster_problem(
    cluster: str, what: str, next_step: str, path: str = "", *, severity: Severity = "error"
) -> Problem:
    """Return a problem of one cluster; `path` is the field of its document that leads to it."""
    return Problem(what, next_step, path, kind="InferenceCluster", key=cluster, severity=severity)
