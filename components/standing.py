"""What stands: the resources that Pulumi's state has of a fleet, asked of the engine."""

from collections.abc import Iterator
from typing import Any

import pulumi

from inferfleet.desired.values import COMPONENTS, Resource, Standing

# A function of the engine's own, by which programs read a stack of their backend: builtinProvider in
# pkg/resource/deploy/builtins.go of Pulumi 3.250. It has no name in SDKs.
_READ = "pulumi:pulumi:readStackResourceOutputs"
_FLEET = f"{COMPONENTS}Fleet"


async def standing(prefix: str) -> Standing:
    """Return the resources of a fleet, whose names begin with the prefix, as the last update left them."""
    stack = "/".join((pulumi.get_organization(), pulumi.get_project(), pulumi.get_stack()))
    read: Any = await pulumi.runtime.invoke_async(_READ, {"stackName": stack})
    return {
        place: resource["outputs"]
        for urn, resource in read["outputs"].items()
        for place in _places(urn, prefix)
    }


def _places(urn: str, prefix: str) -> Iterator[Resource]:
    """Yield what a URN names, if that is a part of a fleet and no provider.

    `urn:pulumi:<stack>::<project>::<types of parents>$<type>::<name>`
    """
    _, _, types, name = urn.split("::", 3)
    *parents, token = types.split("$")
    parent = parents[-1] if parents else ""
    if not name.startswith(prefix) or token == _FLEET or token.startswith("pulumi:providers:"):
        return
    if token.startswith(COMPONENTS):
        yield Resource("", token, name.removeprefix(prefix))
    elif parent.startswith(COMPONENTS):
        yield Resource(parent.removeprefix(COMPONENTS), token, name.removeprefix(prefix))
