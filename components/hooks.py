"""Hooks of resources: plugins that are told once pods are ready, and listening to pods meanwhile.

Ready hooks are resources of Pulumi's state alone, which remember for which pod template a plugin was called.
A hook runs before such a resource is written, and after its workload: the provider waits for pods. A hook
that fails keeps it from being written, so the next update calls the hook again. A hook bound to the workload
itself would not be: its workload is in the state by then, or, where the engine was killed, the change of it.

The program listens to pods of `watched` objects while the engine waits for them: the provider says no more of
them than whether they are available. What is told is not bound to its resource, which has no URN in the
program before the engine is done with it.

Names of hooks are those of one program, so those of a Fleet carry its `prefix`.
"""

import asyncio
from collections.abc import Mapping, Sequence

import pulumi

from inferfleet.desired.addons import DEFINITION
from inferfleet.desired.values import AwaitServed, CallHook, KubeObject, Listen, ReadyHook


def remember(
    parent: pulumi.ComponentResource,
    hooks: Sequence[ReadyHook],
    *,
    registered: Mapping[str, pulumi.CustomResource],
    tell: CallHook,
    prefix: str,
) -> dict[str, dict[str, pulumi.Output[str]]]:
    """Register `hooks` under `parent`, and return what the state remembers by workload and plugin."""
    remembered: dict[str, dict[str, pulumi.Output[str]]] = {}
    for hook in hooks:
        workload = registered[hook.workload.key]
        stash = pulumi.Stash(
            prefix + hook.name,
            input=hook.remembered,
            opts=pulumi.ResourceOptions(
                parent=parent,
                depends_on=[workload],
                # What was remembered before stays.
                ignore_changes=["input"] if hook.held else None,
                hooks=None if hook.held else _binding(hook, workload, tell, prefix),
            ),
        )
        remembered.setdefault(hook.workload.name, {})[hook.plugin.name] = stash.input
    return remembered


def _binding(
    hook: ReadyHook, workload: pulumi.Resource, tell: CallHook, prefix: str
) -> pulumi.ResourceHookBinding:
    async def run(_: pulumi.ResourceHookArgs) -> None:
        told = await tell(hook)
        for warning in told.warnings:
            pulumi.log.warn(str(warning), workload)
        if told.failure:
            raise pulumi.RunError(told.failure)
        pulumi.log.info(told.said, workload)

    bound = pulumi.ResourceHook(prefix + hook.name, run)
    return pulumi.ResourceHookBinding(before_create=[bound], before_update=[bound])


def hooks_of(
    plan: KubeObject, listen: Listen, await_served: AwaitServed, prefix: str
) -> pulumi.ResourceHookBinding | None:
    """Return the hooks of an object: those that wait for its webhooks come first, and a definition is served
    before anything comes after it.
    """
    listening = _while_awaited(plan, listen, prefix) if plan.watched else None
    defines = plan.kind == DEFINITION
    if not (plan.webhooks or defines):
        return listening

    async def wait(_: pulumi.ResourceHookArgs) -> None:
        if (why := await await_served(plan)) is not None:
            raise pulumi.RunError(why)

    waiting = pulumi.ResourceHook(f"{prefix}{plan.key}: served", wait)
    if defines:
        return pulumi.ResourceHookBinding(after_create=[waiting], after_update=[waiting])
    binding = listening or pulumi.ResourceHookBinding()
    return pulumi.ResourceHookBinding(
        before_create=[waiting, *(binding.before_create or ())],
        before_update=[waiting, *(binding.before_update or ())],
        after_create=binding.after_create,
        after_update=binding.after_update,
    )


def _while_awaited(plan: KubeObject, listen: Listen, prefix: str) -> pulumi.ResourceHookBinding:
    """Return hooks by which the program listens from before a resource is written until it is ready."""
    listening: list[asyncio.Task[None]] = []

    async def begin(_: pulumi.ResourceHookArgs) -> None:
        task = asyncio.create_task(listen(plan, warn=pulumi.log.warn, fail=pulumi.log.error))
        listening.append(task)

    async def end(_: pulumi.ResourceHookArgs) -> None:
        for task in listening:
            task.cancel()

    # Nothing listens for a failure: the engine would look for such a hook in a destroy too, which runs no
    # program, and tell that it is missing instead of what failed.
    # A program that failed takes its hooks along (run_pulumi_func in SDK v3.250.0, pulumi/runtime/stack.py),
    # and what became ready since would be told as failed: RunHooks in pulumi v3.250.0,
    # pkg/resource/deploy/deployment.go, warns instead. The state has the names of hooks alone
    # (sdk/go/common/apitype/core.go).
    heedless = pulumi.ResourceHookOptions(ignore_errors=True)
    before = pulumi.ResourceHook(f"{prefix}{plan.key}: listen", begin, heedless)
    after = pulumi.ResourceHook(f"{prefix}{plan.key}: listened", end, heedless)
    return pulumi.ResourceHookBinding(
        before_create=[before], before_update=[before], after_create=[after], after_update=[after]
    )
