"""Definitions are served before what comes after them, and objects wait for the webhooks that are called for
them.
"""

import asyncio

import pulumi
import pytest
from recording import heard, ran

from inferfleet.components.hooks import hooks_of
from inferfleet.desired.values import KubeObject

HOOKS = KubeObject("hooks", {"apiVersion": "v1", "kind": "X", "metadata": {"name": "hooks"}})


def item(kind: str, *webhooks: KubeObject) -> KubeObject:
    manifest = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}}
    return KubeObject(f"east/{kind}", manifest, webhooks=webhooks)


async def silent(asked: KubeObject) -> str | None:
    return f"nobody answers for {asked.kind}"


def names(hooks: object) -> list[str]:
    return [hook.name for hook in hooks or () if isinstance(hook, pulumi.ResourceHook)]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("planned", "before", "after"),
    [
        (
            item("CustomResourceDefinition"),
            [],
            ["kubernetes:core/v1:CustomResourceDefinition east/CustomResourceDefinition: served"],
        ),
        (item("Widget", HOOKS), ["kubernetes:core/v1:Widget east/Widget: served"], []),
        (item("ConfigMap"), [], []),
    ],
    ids=["definition", "with webhooks", "neither"],
)
def test_hooks_are_bound_where_something_is_waited_for(
    planned: KubeObject, before: list[str], after: list[str]
) -> None:
    bound: list[pulumi.ResourceHookBinding | None] = []

    def program() -> dict[str, object]:
        bound.append(hooks_of(planned, heard, silent, ""))
        return {}

    ran(program, preview=False)
    (binding,) = bound
    both = pulumi.ResourceHookBinding() if binding is None else binding
    assert (names(both.before_create), names(both.after_create)) == (before, after)
    assert (names(both.before_update), names(both.after_update)) == (before, after)


def test_an_object_whose_webhooks_do_not_answer_is_not_written() -> None:
    bound: list[pulumi.ResourceHook] = []

    def program() -> dict[str, object]:
        binding = hooks_of(item("Widget", HOOKS), heard, silent, "")
        bound.extend(binding.before_create or () if binding else ())  # type: ignore[arg-type]
        return {}

    ran(program, preview=False)
    (hook,) = bound
    called = hook.callback(None)  # type: ignore[arg-type]
    with pytest.raises(pulumi.RunError, match="nobody answers for Widget"):
        asyncio.run(called)  # type: ignore[arg-type]
