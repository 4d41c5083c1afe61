"""An update ends with an error where what it made does not serve.

A gateway refuses a pool that routes lead to, or a route, an endpoint picker or a workload is gone or at zero.

It ends before anything is deleted, as with a resource that failed (`unfinished.py`): the pool that
takes another's place may be the one that is refused.
"""

import asyncio
from collections.abc import Mapping, Sequence

import pulumi

from inferfleet.components.unfinished import is_finished
from inferfleet.desired.values import Confirm, Desired, DesiredCluster
from inferfleet.documents.problems import Problem, joined


def confirm_served(
    desired: Desired, registered: Mapping[str, pulumi.CustomResource], confirm: Confirm
) -> None:
    """Ask each cluster once its routes, and what they lead to, stand; not for previews."""
    asked: list[tuple[str, tuple[pulumi.CustomResource, ...]]] = []
    for cluster in desired.clusters:
        keys = _keys(cluster)
        if keys and cluster.connection.state != "lost":
            made = tuple(registered[key] for key in sorted(keys) if key in registered)
            asked.append((cluster.connection.cluster, made))
    if asked:
        pulumi.Output.all(_confirmed(asked, confirm))


def _keys(cluster: DesiredCluster) -> set[str]:
    served = {key for one in cluster.served.values() for key in (*one.routes, *one.members)}
    return served | {key for keys in cluster.workloads.values() for key in keys}


async def _confirmed(
    asked: Sequence[tuple[str, tuple[pulumi.CustomResource, ...]]], confirm: Confirm
) -> bool:
    # The first error ends the program, so the answers of all clusters are gathered before.
    answers = await asyncio.gather(*(_of_cluster(cluster, made, confirm) for cluster, made in asked))
    problems = joined(problem for answer in answers for problem in answer)
    for problem in problems:
        if problem.severity == "warning":
            pulumi.log.warn(str(problem))
        if problem.severity == "notice":
            pulumi.log.info(str(problem))
    if errors := [str(problem) for problem in problems if problem.severity == "error"]:
        raise pulumi.RunError("\n".join(errors))
    return True


async def _of_cluster(
    cluster: str, made: tuple[pulumi.CustomResource, ...], confirm: Confirm
) -> tuple[Problem, ...]:
    # All are waited for. Where one of them failed, the update ends with that.
    if not all([await is_finished(resource) for resource in made]):
        return ()
    return await confirm(cluster)
