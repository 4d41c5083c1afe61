"""An update ends with an error where a gateway refuses a pool that routes lead to.

It ends before anything is deleted, as with a resource that failed (components/unfinished.py): the pool that
takes another's place may be the one that is refused.
"""

from collections.abc import Mapping

import pulumi

from components.unfinished import is_finished
from inferfleet.desired.values import Confirm, Desired, DesiredCluster


def confirm_pools(
    desired: Desired, registered: Mapping[str, pulumi.CustomResource], confirm: Confirm
) -> None:
    """Ask about the pools of each cluster once its routes stand; not for previews."""
    for cluster in desired.clusters:
        keys = {key for served in cluster.served.values() for key in served.routes}
        if keys and cluster.connection.state != "lost":
            routes = tuple(registered[key] for key in sorted(keys))
            pulumi.Output.all(_confirmed(cluster, routes, confirm))


async def _confirmed(
    cluster: DesiredCluster, routes: tuple[pulumi.CustomResource, ...], confirm: Confirm
) -> bool:
    # All are waited for. Where one of them failed, the update ends with that.
    if not all([await is_finished(route) for route in routes]):
        return False
    problems = await confirm(cluster.connection.cluster)
    for problem in problems:
        if problem.severity == "warning":
            pulumi.log.warn(str(problem))
        if problem.severity == "notice":
            pulumi.log.info(str(problem))
    if errors := [str(problem) for problem in problems if problem.severity == "error"]:
        raise pulumi.RunError("\n".join(errors))
    return True
