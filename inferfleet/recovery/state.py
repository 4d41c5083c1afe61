"""A stack's state as `pulumi stack export` tells it: what it has, and what an update did not end.

Pure. The engine writes an operation down before it asks a provider, so one that stands there when nobody
works on the stack was cut off, and nobody knows how far it came. Seen in engine 3.250:

* `up` and `refresh` drop all of them but creates, which stay until somebody says what became of them, even
  when a later `up` made the resource.
* `refresh --import-pending-creates` drops a create and takes nothing over: the object would be nobody's.
* `stack import` drops all of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

CREATING = "creating"
_PROVIDER = "pulumi:providers:"
# The only output of a resource that was taken over and that no provider has read yet.
MANAGER = "__fieldManager"


@dataclass(frozen=True)
class StackResource:
    """One resource as the state has it. `values` may hold encrypted secrets, never plain ones."""

    values: Mapping[str, Any]

    @property
    def urn(self) -> str:
        return str(self.values["urn"])

    @property
    def token(self) -> str:
        return str(self.values["type"])

    @property
    def name(self) -> str:
        return self.urn.split("::", 3)[-1]

    @property
    def shown(self) -> str:
        """`Deployment east/ml/x-decode-l4`, as the engine's own lines have it."""
        return f"{self.token.rpartition(':')[2]} {self.name}"

    @property
    def id(self) -> str | None:
        return self.values.get("id") or None

    @property
    def inputs(self) -> Mapping[str, Any]:
        return self.values.get("inputs") or {}

    @property
    def provider(self) -> str:
        return str(self.values.get("provider") or "")

    @property
    def cluster(self) -> str:
        """The cluster whose name every Pulumi name of a cluster's resources begins with."""
        return self.name.partition("/")[0]

    @property
    def real(self) -> bool:
        """Whether something outside of Pulumi stands for it."""
        return bool(self.values.get("custom")) and not self.token.startswith(_PROVIDER)

    @property
    def read(self) -> bool:
        """Whether a provider has said what it looks like."""
        return bool(set(self.values.get("outputs") or {}) - {MANAGER})


@dataclass(frozen=True)
class Pending:
    """An operation that did not end: `kind` is creating, updating, deleting, reading or importing."""

    kind: str
    resource: StackResource


@dataclass(frozen=True)
class State:
    """`export` is what `pulumi stack export` printed."""

    export: Mapping[str, Any]

    @property
    def deployment(self) -> Mapping[str, Any]:
        return self.export.get("deployment") or {}

    @property
    def pending(self) -> tuple[Pending, ...]:
        """Each once: one that was cut off twice stands there twice, the latest first."""
        found: dict[tuple[str, str, str | None], Pending] = {}
        for one in self.deployment.get("pending_operations") or ():
            resource = StackResource(one["resource"])
            inputs = resource.inputs.get("name")
            found.setdefault((one["type"], resource.urn, str(inputs)), Pending(one["type"], resource))
        return tuple(found.values())

    def current(self, urn: str) -> StackResource | None:
        """The resource of that URN, without those that wait for their deletion."""
        return next((one for one in self._resources() if one.urn == urn), None)

    def urn_of(self, own: str | None) -> str | None:
        """The URN of the resource with that ID."""
        return next((one.urn for one in self._resources() if own and one.id == own), None)

    @property
    def unread(self) -> tuple[StackResource, ...]:
        """Resources that were taken over and not looked at yet."""
        return tuple(one for one in self._resources() if one.real and one.id and not one.read)

    def _resources(self) -> Iterator[StackResource]:
        for values in self.deployment.get("resources") or ():
            if not values.get("delete"):
                yield StackResource(values)
