"""Listens to pods while the engine waits for them, and tells what they say: those of `heard` objects.

The provider says no more of them than whether they are available. What is told is not bound to its resource:
that has no URN in the program before the engine is done with it.
"""

import asyncio

import pulumi

from inferfleet.desired.values import KubeObject, Listen


def while_awaited(plan: KubeObject, listen: Listen) -> pulumi.ResourceHookBinding:
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
    before = pulumi.ResourceHook(f"{plan.key}: listen", begin, heedless)
    after = pulumi.ResourceHook(f"{plan.key}: listened", end, heedless)
    return pulumi.ResourceHookBinding(
        before_create=[before], before_update=[before], after_create=[after], after_update=[after]
    )
