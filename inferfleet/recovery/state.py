"""The state of a stack as `pulumi stack export` prints it: its resources, and operations that did not finish.

Pure. The engine writes a pending operation down before it asks a provider. One that is left when no update
runs was interrupted, and it is unknown how far it came. Observed with engine 3.250:

* `up` and `refresh` drop all pending operations but creates. Those stay until somebody says what became of
  them, even when a later `up` created the resource.
* `refresh --import-pending-creates` drops a create and imports nothing: the object would be nobody's.
* `stack import` drops all of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

CREATING = "creating"
# Providers, and what the state remembers of ready hooks: Pulumi alone has them.
_OWN = "pulumi:"
# The only output of a resource that was taken over and not refreshed yet.
FIELD_MANAGER = "__fieldManager"


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
    def title(self) -> str:
        """Return type and name as the engine prints them: `Deployment east/ml/x-decode-l4`."""
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
        """Return the cluster of the resource, with whose name its Pulumi name begins."""
        return self.name.partition("/")[0]

    @property
    def real(self) -> bool:
        """Return whether it exists outside of Pulumi, which components and types of its own do not."""
        return bool(self.values.get("custom")) and not self.token.startswith(_OWN)

    @property
    def read(self) -> bool:
        """Return whether a provider has read its outputs."""
        return bool(set(self.values.get("outputs") or {}) - {FIELD_MANAGER})


@dataclass(frozen=True)
class PendingOperation:
    """An operation that did not finish: `kind` is creating, updating, deleting, reading or importing."""

    kind: str
    resource: StackResource


@dataclass(frozen=True)
class State:
    """The state of a stack; `export` is what `pulumi stack export` printed."""

    export: Mapping[str, Any]

    @property
    def deployment(self) -> Mapping[str, Any]:
        return self.export.get("deployment") or {}

    @property
    def pending(self) -> tuple[PendingOperation, ...]:
        """Return the operations that did not finish, each once.

        The state lists an operation that was interrupted twice two times, the latest first.
        """
        operations: dict[tuple[str, str, str], PendingOperation] = {}
        for operation in self.deployment.get("pending_operations") or ():
            kind, resource = operation["type"], StackResource(operation["resource"])
            key = (kind, resource.urn, str(resource.inputs.get("name")))
            operations.setdefault(key, PendingOperation(kind, resource))
        return tuple(operations.values())

    def current(self, urn: str) -> StackResource | None:
        """Return the resource of that URN, without those that wait for their deletion."""
        return next((resource for resource in self._resources() if resource.urn == urn), None)

    def urn_of(self, own_id: str | None) -> str | None:
        """Return the URN of the resource with that ID, None where there is none."""
        return next(
            (resource.urn for resource in self._resources() if own_id and resource.id == own_id), None
        )

    @property
    def unread(self) -> tuple[StackResource, ...]:
        """Return the resources that were taken over and not refreshed yet."""
        return tuple(
            resource for resource in self._resources() if resource.real and resource.id and not resource.read
        )

    def _resources(self) -> Iterator[StackResource]:
        for values in self.deployment.get("resources") or ():
            if not values.get("delete"):
                yield StackResource(values)
