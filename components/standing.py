"""What stands: the resources that Pulumi's state has of a fleet, asked of the engine."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pulumi
from pulumi.runtime import rpc
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import get_monitor

from inferfleet.desired.values import COMPONENTS, Resource, Standing

# A function of the engine's own, by which programs read a stack of their backend: builtinProvider in
# pkg/resource/deploy/builtins.go of Pulumi 3.250. It has no name in SDKs.
_READ = "pulumi:pulumi:readStackResourceOutputs"
_FLEET = f"{COMPONENTS}Fleet"


async def standing(prefix: str) -> Standing:
    """Return the resources of a Fleet, whose names begin with the prefix, as the last update left them.

    Those of the stack's own Fleet have no prefix: they are all that begin with that of no other Fleet.
    """
    stack = pulumi.get_stack()
    whole = "/".join((pulumi.get_organization(), pulumi.get_project(), stack))
    read = await _read(whole)
    outputs = {_parts(urn): made["outputs"] for urn, made in read["outputs"].items()}
    fleets = {name for types, name in outputs if types[-1] == _FLEET}
    others = () if prefix else tuple(f"{name}/" for name in fleets - {stack})
    return {
        place: made
        for (types, name), made in outputs.items()
        if name.startswith(prefix) and not name.startswith(others)
        for place in _places(types, name.removeprefix(prefix))
    }


async def _read(stack: str) -> Any:
    """Return the name of a stack and the outputs of its resources.

    `pulumi.runtime.invoke` has references to resources made into resources, where a component of the program
    has such outputs. The engine is then asked for each of them, and knows those alone that this update has
    registered before, so that the program ended with `unknown resource`. So they come as text here.
    """
    request = resource_pb2.ResourceInvokeRequest(
        tok=_READ, args=await rpc.serialize_properties({"stackName": stack}, {}), acceptResources=False
    )
    monitor: Any = get_monitor()
    answer = await asyncio.to_thread(monitor.Invoke, request)
    read, _ = rpc.deserialize_properties_unwrap_secrets(getattr(answer, "return"))
    return read


def _parts(urn: str) -> tuple[tuple[str, ...], str]:
    """Return the types in a URN, those of parents first, and the name.

    `urn:pulumi:<stack>::<project>::<types of parents>$<type>::<name>`
    """
    _, _, types, name = urn.split("::", 3)
    return tuple(types.split("$")), name


def _places(types: tuple[str, ...], name: str) -> Iterator[Resource]:
    """Yield what has these types and this name, if that is a part of a Fleet and no provider."""
    *parents, token = types
    parent = parents[-1] if parents else ""
    if token == _FLEET or token.startswith("pulumi:providers:"):
        return
    if token.startswith(COMPONENTS):
        yield Resource("", token, name)
    elif parent.startswith(COMPONENTS):
        yield Resource(parent.removeprefix(COMPONENTS), token, name)
