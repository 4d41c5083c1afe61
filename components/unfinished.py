"""Nothing is deleted by an update in which something failed, with `--continue-on-error` as without it.

With that option the engine leaves out what needs a failed resource, and deletes in the end what the program
no longer has: pods whose successors never became ready, and a pool that the route in front of it still names,
because the change of the route was left out. The state then names resources that are gone, and every later
update stops at it. A program that ends with an error ends the update before anything is deleted
(performPostSteps in pkg/resource/deploy/deployment_executor.go of Pulumi 3.250).
"""

from collections.abc import Iterable, Mapping

import pulumi


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


async def is_finished(resource: pulumi.CustomResource) -> bool:
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
