"""An update ends with an error, and deletes nothing, where something failed or does not serve.

With `--continue-on-error` the engine leaves out what needs a failed resource, and deletes in the end what the
program no longer has: pods whose successors never became ready, and a pool that the route in front of it
still names, because the change of the route was left out. The state then names resources that are gone, and
every later update stops at it. A program that ends with an error ends the update before anything is deleted
(performPostSteps in pkg/resource/deploy/deployment_executor.go of Pulumi 3.250).

It ends so too where a gateway refuses a pool that routes lead to, or a route, an endpoint picker or a
workload is gone or at zero: the pool that takes another's place may be the one that is refused.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import pulumi

from inferfleet.desired.values import FRONT_DOORS, Confirm, Desired, DesiredCluster
from inferfleet.documents.problems import Problem, joined


def keep_all_if_any_failed(
    registered: Mapping[str, pulumi.CustomResource],
    remembered: Mapping[str, Mapping[str, pulumi.Output[str]]],
) -> None:
    """End the program with an error once all is registered, if some of it failed or was left out.

    Not for previews, in which outputs are unknown for other reasons.
    """
    outputs = [tuple(_outputs(resource)) for resource in registered.values()]
    outputs += [(output,) for of_workload in remembered.values() for output in of_workload.values()]
    pulumi.Output.all(_end(outputs))


def confirm_served(
    desired: Desired, registered: Mapping[str, pulumi.CustomResource], confirm: Confirm
) -> None:
    """Ask each cluster once its routes, and what they lead to, stand; not for previews."""
    asked: list[tuple[str, tuple[pulumi.CustomResource, ...]]] = []
    for cluster in desired.clusters:
        keys = _keys(cluster)
        if keys and cluster.connection.state != "lost":
            resources = tuple(registered[key] for key in sorted(keys) if key in registered)
            asked.append((cluster.connection.cluster, resources))
    if asked:
        pulumi.Output.all(_confirmed(asked, confirm))


def _keys(cluster: DesiredCluster) -> set[str]:
    served = {key for one in cluster.served.values() for key in (*one.routes, *one.members)}
    doors = {
        item.key
        for component in cluster.components
        if component.kind in FRONT_DOORS and not component.held
        for item in component.objects
    }
    return served | doors | {key for keys in cluster.workloads.values() for key in keys}


async def _confirmed(
    asked: Sequence[tuple[str, tuple[pulumi.CustomResource, ...]]], confirm: Confirm
) -> bool:
    # The first error ends the program, so the answers of all clusters are gathered before.
    answers = await asyncio.gather(
        *(_cluster_problems(cluster, resources, confirm) for cluster, resources in asked)
    )
    problems = joined(problem for answer in answers for problem in answer)
    for problem in problems:
        if problem.severity == "warning":
            pulumi.log.warn(str(problem))
        if problem.severity == "notice":
            pulumi.log.info(str(problem))
    if errors := [str(problem) for problem in problems if problem.severity == "error"]:
        raise pulumi.RunError("\n".join(errors))
    return True


async def _cluster_problems(
    cluster: str, resources: tuple[pulumi.CustomResource, ...], confirm: Confirm
) -> tuple[Problem, ...]:
    # All are waited for. Where one of them failed, the update ends with that.
    if not all([await _is_finished(resource) for resource in resources]):
        return ()
    return await confirm(cluster)


async def _is_finished(resource: pulumi.CustomResource) -> bool:
    """Wait for the resource, and return whether it was written, and neither failed nor was left out."""
    return await _known(tuple(_outputs(resource)))


async def _end(outputs: Iterable[tuple[pulumi.Output[object], ...]]) -> bool:
    missing = 0
    for of_resource in outputs:
        missing += not await _known(of_resource)
    if missing:
        raise pulumi.RunError(
            f"{missing} resources failed, or were left out because they need one that did, so this update "
            "deletes nothing: what is no longer wanted keeps running. Mend what failed and update again; "
            "for a cluster that does not answer, set spec.state: lost"
        )
    return True


async def _known(outputs: Iterable[pulumi.Output[object]]) -> bool:
    # Those of a resource that failed or was left out are all unknown.
    return any([await output.is_known() for output in outputs])


def _outputs(resource: pulumi.CustomResource) -> Iterable[pulumi.Output[object]]:
    for name, value in vars(resource).items():
        if name not in ("id", "urn") and isinstance(value, pulumi.Output):
            yield value
