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
    before = pulumi.ResourceHook(f"{plan.key}: listen", begin)
    after = pulumi.ResourceHook(f"{plan.key}: listened", end)
    return pulumi.ResourceHookBinding(
        before_create=[before], before_update=[before], after_create=[after], after_update=[after]
    )
