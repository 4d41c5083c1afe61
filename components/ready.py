"""Ready hooks: resources of Pulumi's state alone that remember for which pod template a plugin was called.

A hook runs before such a resource is written, and after its workload: the provider waits for pods. A hook
that fails keeps it from being written, so the next update calls the hook again. A hook bound to the workload
itself would not be: its workload is in the state by then, or, where the engine was killed, the change of it.
"""

from collections.abc import Mapping, Sequence

import pulumi

from inferfleet.desired.values import ReadyHook, Tell


def remember(
    parent: pulumi.ComponentResource,
    hooks: Sequence[ReadyHook],
    *,
    registered: Mapping[str, pulumi.CustomResource],
    tell: Tell,
) -> dict[str, dict[str, pulumi.Output[str]]]:
    """Register `hooks` under `parent`, and return what the state remembers by workload and plugin."""
    remembered: dict[str, dict[str, pulumi.Output[str]]] = {}
    for hook in hooks:
        workload = registered[hook.workload.key]
        stash = pulumi.Stash(
            hook.name,
            input=hook.remembered,
            opts=pulumi.ResourceOptions(
                parent=parent,
                depends_on=[workload],
                # What was remembered before stays.
                ignore_changes=["input"] if hook.held else None,
                hooks=None if hook.held else _binding(hook, workload, tell),
            ),
        )
        remembered.setdefault(hook.workload.name, {})[hook.plugin.name] = stash.input
    return remembered


def _binding(hook: ReadyHook, workload: pulumi.Resource, tell: Tell) -> pulumi.ResourceHookBinding:
    async def run(_: pulumi.ResourceHookArgs) -> None:
        told = await tell(hook)
        for warning in told.warnings:
            pulumi.log.warn(str(warning), workload)
        if told.failure:
            raise pulumi.RunError(told.failure)
        pulumi.log.info(told.said, workload)

    bound = pulumi.ResourceHook(hook.name, run)
    return pulumi.ResourceHookBinding(before_create=[bound], before_update=[bound])
