"""How many deployments and replicas a stack may have; what they take together is counted (`api/work.py`)."""

from collections.abc import Iterator

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem

MAX_DEPLOYMENTS = 1_500
MAX_REPLICAS = 20_000


def oversize(documents: Documents) -> Iterator[Problem]:
    """Yield a problem for each limit that the documents of a stack exceed together."""
    deployments = len(documents.deployments)
    replicas = sum(deployment.spec.wanted for deployment in documents.deployments.values())
    if deployments > MAX_DEPLOYMENTS:
        what = f"the stack has {deployments:,} deployments, more than {MAX_DEPLOYMENTS:,}"
        yield Problem(what, "Use several stacks")
    if replicas > MAX_REPLICAS:
        what = f"the deployments of the stack want {replicas:,} replicas together, more than {MAX_REPLICAS:,}"
        yield Problem(what, "Lower spec.replicas, or use several stacks")
