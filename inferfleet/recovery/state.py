"""The state of a stack as `pulumi stack export` prints it, and what becomes of unfinished operations.

Pure. The engine writes a pending operation down before it asks a provider. One that is left when no update
runs was interrupted, and it is unknown how far it came. Observed with engine 3.250:

* `up` and `refresh` drop all pending operations but creates. Those stay until somebody says what became of
  them, even when a later `up` created the resource.
* `refresh --import-pending-creates` drops a create and imports nothing: the object would be nobody's.
* `stack import` drops all of them.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from inferfleet.cloud.provider import import_id
from inferfleet.documents.problems import Problem

CREATING = "creating"
# Instead of an operation: the state was lost, and what it had is there.
LOST = "lost"
# Providers, and what the state remembers of ready hooks: Pulumi alone has them.
_OWN = "pulumi:"
_PROVIDER = "pulumi:providers:"
# What a preview prints in place of a secret.
_SECRET = "[secret]"
# The only output of a resource that was taken over and not refreshed yet.
FIELD_MANAGER = "__fieldManager"
KUBERNETES = "kubernetes:"
# URNs on one command line. `pulumi` takes them from nowhere else, and systems take a line of 1 MiB (macOS) or
# 2 MiB (Linux) together with the environment; a URN has some 200 characters.
_MOST_TARGETS = 1_000
# IDs of the cloud resources that the documents ask for, by type and Pulumi name.
WantedIds = Mapping[tuple[str, str], str | None]


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
        return self._by_urn.get(urn)

    @cached_property
    def _by_urn(self) -> Mapping[str, StackResource]:
        by_urn: dict[str, StackResource] = {}
        for resource in self._resources():
            by_urn.setdefault(resource.urn, resource)
        return by_urn

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


@dataclass(frozen=True)
class Missing:
    """What a preview would create though it may exist: the state of the stack was lost, or parts of it were.

    `providers` are the URNs of providers that can be created, with those of the components that they are in.
    They come first, because resources are read through them. `operations` are the creates of resources whose
    provider the state has, in the form of operations that did not finish, and `components` those that the
    resources are in.
    """

    providers: tuple[str, ...]
    operations: tuple[Mapping[str, Any], ...]
    components: tuple[Mapping[str, Any], ...]


def missing(
    export: Mapping[str, Any],
    preview: Mapping[str, Any],
    is_ours: Callable[[StackResource], bool] = lambda _: True,
) -> Missing:
    """Return what the state of an export lacks by what `pulumi preview --json` printed, of resources that are
    ours.
    """
    state = State(export)
    steps = [step for step in preview.get("steps") or () if step.get("op") == "create"]
    resources = (StackResource(_recorded(step["newState"])) for step in steps)
    created = {resource.urn: resource for resource in resources if is_ours(resource)}
    providers = {
        urn: resource
        for urn, resource in created.items()
        if resource.token.startswith(_PROVIDER)
        and all(state.current(dependency) for dependency in _dependencies(resource))
    }
    return Missing(
        tuple(dict.fromkeys(part for urn in providers for part in (*_parents(urn, created), urn))),
        tuple(
            {"type": CREATING, "resource": dict(resource.values)}
            for resource in created.values()
            if resource.real and state.current(resource.provider.rpartition("::")[0])
        ),
        tuple(resource.values for resource in created.values() if not resource.values.get("custom")),
    )


def _recorded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resource of a preview as the state would have it. Previews leave secrets out, so the next
    update writes them again, as they are.
    """
    kept = {name: value for name, value in values.items() if name not in ("sourcePosition", "stackTrace")}
    return {**kept, "inputs": _without_secrets(kept["inputs"])} if "inputs" in kept else kept


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_secrets(part) for key, part in value.items() if part != _SECRET}
    if isinstance(value, list):
        return [_without_secrets(part) for part in value if part != _SECRET]
    return value


def _dependencies(resource: StackResource) -> Iterator[str]:
    yield from resource.values.get("dependencies") or ()
    for urns in (resource.values.get("propertyDependencies") or {}).values():
        yield from urns or ()


def _parents(urn: str, created: Mapping[str, StackResource]) -> Iterator[str]:
    """Yield the components that a resource is in and that do not exist yet, the outermost first."""
    parent = str(created[urn].values.get("parent") or "")
    if parent in created:
        yield from _parents(parent, created)
        yield parent


@dataclass(frozen=True)
class Present:
    """An object exists on its cluster. `manager` owns its fields, where an engine created it."""

    manager: str | None = None


@dataclass(frozen=True)
class Absent:
    """There is no object of this stack under that name; `why` says what there is instead."""

    why: str = "it is not on its cluster"


Presence = Present | Absent | Problem


class Action(StrEnum):
    """What happens to the operation, in the words that people read."""

    TAKE_OVER = "take it over"
    TAKE_OVER_IF_THERE = "take it over if it exists"
    FORGET = "forget the operation"
    LOOK = "refresh it"
    LEAVE = "leave it"


@dataclass(frozen=True)
class Decision:
    """What to do about one resource, and `why`: what is known of it.

    `id` is that of a resource to take over, `manager` the owner of its fields. `replaces` says that the
    resource in the state is then to be deleted. `problem` says why nothing can be done.
    """

    kind: str
    resource: StackResource
    action: Action
    why: str
    id: str | None = None
    manager: str | None = None
    replaces: bool = False
    problem: Problem | None = None

    @property
    def enters(self) -> bool:
        """Return whether the resource is put into the state."""
        return self.action in (Action.TAKE_OVER, Action.TAKE_OVER_IF_THERE)

    @property
    def refreshed(self) -> bool:
        """Return whether the resource is refreshed afterwards; a missing one then leaves the state."""
        return self.enters or self.action is Action.LOOK


def decide(state: State, presence: Mapping[str, Presence], wanted: WantedIds | None) -> tuple[Decision, ...]:
    """Return one decision for each operation, and for each resource that an earlier recovery took over and
    did not refresh.

    `presence` says by URN whether Kubernetes objects exist on their clusters. `wanted` is None where the
    documents cannot be read.
    """
    entering: dict[str, Decision] = {}
    decisions = []
    # Where a document has several pools, the one that it asks for now comes first.
    for pending in sorted(state.pending, key=lambda pending: not _is_wanted(pending.resource, wanted)):
        decision = _decide(pending, state, presence)
        if decision.action is Action.TAKE_OVER_IF_THERE:
            decision = _beside(decision, state.current(decision.resource.urn), entering, wanted)
        if decision.enters:
            entering[decision.resource.urn] = decision
        decisions.append(decision)
    unread = (
        Decision("recovering", resource, Action.LOOK, "taken over, and not refreshed yet")
        for resource in state.unread
    )
    return (*decisions, *unread)


def _is_wanted(resource: StackResource, wanted: WantedIds | None) -> bool:
    wanted_id = (wanted or {}).get((resource.token, resource.name))
    return wanted_id is not None and wanted_id == _own_id(resource)


def _own_id(resource: StackResource) -> str | None:
    return resource.id or import_id(resource.token, resource.inputs)


def _decide(pending: PendingOperation, state: State, presence: Mapping[str, Presence]) -> Decision:
    kind, resource = pending.kind, pending.resource
    current = state.current(resource.urn)
    if kind != CREATING:
        if current is None:
            return Decision(kind, resource, Action.FORGET, "the state does not have it any more")
        return Decision(kind, resource, Action.LOOK, "it is unknown how far the operation came")
    if not resource.real:
        return Decision(kind, resource, Action.FORGET, "only Pulumi has it, and creates it again")
    if resource.token.startswith(KUBERNETES):
        if current is not None:
            return Decision(kind, resource, Action.FORGET, "the state has it: a later update created it")
        return _on_cluster(resource, presence.get(resource.urn))
    own_id = _own_id(resource)
    if current is not None and own_id in (None, current.id):
        return Decision(kind, resource, Action.FORGET, "the state has it: a later update created it")
    if own_id is None:
        step = "Answer for it yourself: pulumi refresh asks about each in a terminal"
        return _left(resource, Problem(f"{resource.title}: its ID does not follow from its inputs", step))
    why = "whether it exists, only Google knows"
    return Decision(kind, resource, Action.TAKE_OVER_IF_THERE, why, own_id)


def _beside(
    decision: Decision,
    current: StackResource | None,
    entering: Mapping[str, Decision],
    wanted: WantedIds | None,
) -> Decision:
    """Return the decision for a resource beside another one of the same URN, which the state has or is about
    to get: a node pool is replaced by one of another name.
    """
    resource = decision.resource
    other_id = entering[resource.urn].id if resource.urn in entering else current and current.id
    if other_id is None:
        return decision
    if wanted is None:
        step = "Fix the documents, so that they say which of the two is wanted"
        return _left(
            resource, Problem(f"{resource.title}: {decision.id} was created beside {other_id}", step)
        )
    if current is not None and _is_wanted(resource, wanted):
        return replace(decision, why=f"it was to replace {current.id}", replaces=True)
    what = f"{resource.title}: {decision.id} was created beside {other_id}, and is not wanted"
    problem = Problem(what, "If Google has it, delete it there")
    return replace(decision, action=Action.FORGET, why=problem.what, problem=problem)


def _left(resource: StackResource, problem: Problem) -> Decision:
    return Decision(CREATING, resource, Action.LEAVE, problem.what, problem=problem)


def _on_cluster(resource: StackResource, presence: Presence | None) -> Decision:
    metadata = resource.inputs.get("metadata") or {}
    own_id = "/".join(part for part in (metadata.get("namespace"), metadata.get("name")) if part)
    match presence:
        case Present(manager):
            return Decision(CREATING, resource, Action.TAKE_OVER, "it is on its cluster", own_id, manager)
        case Absent(why):
            return Decision(CREATING, resource, Action.FORGET, why)
        case Problem():
            return _left(resource, presence)
    raise LookupError(resource.urn)


def edited(
    export: Mapping[str, Any],
    decisions: tuple[Decision, ...],
    components: tuple[Mapping[str, Any], ...] = (),
) -> dict[str, Any] | None:
    """Return the export as it is to be imported, with `components` before the resources that are taken over,
    or None where nothing in it changes.

    None too while one operation is left as it is: an import drops all of them.
    """
    if any(decision.action is Action.LEAVE for decision in decisions):
        return None
    if not any(decision.enters or decision.action is Action.FORGET for decision in decisions):
        return None
    after = copy.deepcopy(dict(export))
    deployment = after["deployment"]
    deployment.pop("pending_operations", None)
    entering = [decision for decision in decisions if decision.enters]
    replaced = {decision.resource.urn for decision in entering if decision.replaces}
    for values in deployment["resources"]:
        if values["urn"] in replaced:
            values["delete"] = True
    deployment["resources"] += [*components, *(_entry(decision) for decision in entering)]
    return after


def restored(export: Mapping[str, Any], decisions: tuple[Decision, ...]) -> dict[str, Any] | None:
    """Return the export in which resources are kept again whose replacement, which was taken over, turned out
    not to exist; None where there are none.
    """
    state = State(export)
    kept = {
        decision.resource.urn
        for decision in decisions
        if decision.replaces and not state.current(decision.resource.urn)
    }
    if not kept:
        return None
    after = copy.deepcopy(dict(export))
    for values in after["deployment"]["resources"]:
        if values["urn"] in kept:
            values.pop("delete", None)
    return after


def refreshes(decisions: tuple[Decision, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the URNs to refresh in one command each. A provider that does not answer stops only its own."""
    by_provider: dict[str, list[str]] = {}
    for decision in decisions:
        if decision.refreshed:
            by_provider.setdefault(decision.resource.provider, []).append(decision.resource.urn)
    return tuple(
        urns[start : start + _MOST_TARGETS]
        for urns in (tuple(dict.fromkeys(urns)) for urns in by_provider.values())
        for start in range(0, len(urns), _MOST_TARGETS)
    )


def _entry(decision: Decision) -> dict[str, Any]:
    """Return the resource as an update would have written it, but for what only a provider can say."""
    values = dict(_kept(decision.resource.values))
    values["id"] = decision.id
    if decision.manager:
        # Under another name the engine could not take back a field that it set.
        values["outputs"] = {FIELD_MANAGER: decision.manager}
    return values


def _kept(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if name not in ("outputs", "created", "modified", "initErrors"):
            yield name, copy.deepcopy(value)
