"""How large a fleet may be that is planned as one stack, so that every plan takes seconds.

Measured: what is made of a deployment takes two milliseconds, comparing a deployment with a pool fifty
microseconds, and placing a replica twenty for each pool.
"""

from collections.abc import Iterator

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem

MAX_DEPLOYMENTS = 1_500
MAX_REPLICAS = 20_000
MAX_COMPARED = 50_000  # deployments x pools
MAX_PLACED = 150_000  # replicas x pools


def oversize(documents: Documents) -> Iterator[Problem]:
    """Yield a problem for each limit that the documents of a stack exceed together."""
    deployments = len(documents.deployments)
    replicas = sum(deployment.spec.wanted for deployment in documents.deployments.values())
    pools = sum(len(cluster.spec.node_pools) for cluster in documents.clusters.values())
    step = "Use several stacks"
    if deployments > MAX_DEPLOYMENTS:
        yield Problem(f"the stack has {deployments:,} deployments, more than {MAX_DEPLOYMENTS:,}", step)
    if replicas > MAX_REPLICAS:
        what = f"the deployments of the stack want {replicas:,} replicas together, more than {MAX_REPLICAS:,}"
        yield Problem(what, "Lower spec.replicas, or use several stacks")
    if deployments * pools > MAX_COMPARED or replicas * pools > MAX_PLACED:
        what = f"{deployments:,} deployments with {replicas:,} replicas on {pools:,} node pools"
        limits = f"deployments times pools may be {MAX_COMPARED:,}, and replicas times pools {MAX_PLACED:,}"
        yield Problem(f"{what} are too many for one plan: {limits}", step)
