"""What is to be done about each operation that an update did not end, and the state after. Pure."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from inferfleet.api.problems import Problem
from inferfleet.gke.ids import cloud_id
from inferfleet.recovery.state import CREATING, MANAGER, Pending, StackResource, State

KUBERNETES = "kubernetes:"


@dataclass(frozen=True)
class Stands:
    """An object is on its cluster. `manager` owns its fields, where an engine put it there."""

    manager: str | None = None


@dataclass(frozen=True)
class Missing:
    """There is nothing of this stack under that name; `why` says what there is instead."""

    why: str = "it is not on its cluster"


Standing = Stands | Missing | Problem


class Action(StrEnum):
    """What happens to the operation, in the words that people read."""

    TAKE_OVER = "take it over"
    TAKE_OVER_IF_THERE = "take it over if it is there"
    FORGET = "forget the operation"
    LOOK = "look at it"
    LEAVE = "leave it"


@dataclass(frozen=True)
class Decision:
    """`why` is what was found. `id` is that of a resource to take over, `manager` the owner of its fields;
    `replaces`: the one in the state is then to be deleted. `problem` says why nothing can be done.
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
        """Whether the resource is put into the state."""
        return self.action in (Action.TAKE_OVER, Action.TAKE_OVER_IF_THERE)

    @property
    def refreshed(self) -> bool:
        """Whether the provider is asked about it afterwards; what is gone then leaves the state."""
        return self.enters or self.action is Action.LOOK


def decide(
    state: State, standing: Mapping[str, Standing], wanted: Mapping[tuple[str, str], str | None] | None
) -> tuple[Decision, ...]:
    """One decision for each operation, and for each resource that a recovery took over and did not look at.

    `standing` says of Kubernetes objects, by URN, whether they are on their cluster. `wanted` are the IDs of
    the cloud resources that the documents ask for, by type and Pulumi name; None where nobody can tell.
    """
    entering: dict[str, Decision] = {}
    decisions = []
    # Of several pools of one document, the one that it asks for now comes first.
    for pending in sorted(state.pending, key=lambda one: not _is_wanted(one.resource, wanted)):
        found = _decide(pending, state, standing)
        if found.action is Action.TAKE_OVER_IF_THERE:
            found = _beside(found, state.current(found.resource.urn), entering, wanted)
        if found.enters:
            entering[found.resource.urn] = found
        decisions.append(found)
    unread = (
        Decision("recovering", one, Action.LOOK, "taken over, and not looked at yet") for one in state.unread
    )
    return (*decisions, *unread)


def _is_wanted(resource: StackResource, wanted: Mapping[tuple[str, str], str | None] | None) -> bool:
    asked_for = (wanted or {}).get((resource.token, resource.name))
    return asked_for is not None and asked_for == _own(resource)


def _own(resource: StackResource) -> str | None:
    return resource.id or cloud_id(resource.token, resource.inputs)


def _decide(pending: Pending, state: State, standing: Mapping[str, Standing]) -> Decision:
    kind, resource = pending.kind, pending.resource
    current = state.current(resource.urn)
    if kind != CREATING:
        if current is None:
            return Decision(kind, resource, Action.FORGET, "the state does not have it any more")
        return Decision(kind, resource, Action.LOOK, "nobody knows how far it came")
    if not resource.real:
        return Decision(kind, resource, Action.FORGET, "only Pulumi has it, and makes it again")
    if resource.token.startswith(KUBERNETES):
        if current is not None:
            return Decision(kind, resource, Action.FORGET, "the state has it: a later update made it")
        return _on_cluster(resource, standing.get(resource.urn))
    own = _own(resource)
    if current is not None and own in (None, current.id):
        return Decision(kind, resource, Action.FORGET, "the state has it: a later update made it")
    if own is None:
        step = "Answer for it yourself: pulumi refresh asks about each in a terminal"
        return _left(resource, Problem(f"{resource.shown}: its ID cannot be told from its inputs", step))
    return Decision(kind, resource, Action.TAKE_OVER_IF_THERE, "only Google knows whether it is there", own)


def _beside(
    found: Decision,
    current: StackResource | None,
    entering: Mapping[str, Decision],
    wanted: Mapping[tuple[str, str], str | None] | None,
) -> Decision:
    """The decision where the state has, or is about to get, another resource of the same URN: node pools are
    replaced by ones of another name.
    """
    other = entering[found.resource.urn].id if found.resource.urn in entering else current and current.id
    if other is None:
        return found
    if wanted is None:
        step = "Mend the documents, so that they tell which of the two is wanted"
        problem = Problem(f"{found.resource.shown}: {found.id} was made beside {other}", step)
        return _left(found.resource, problem)
    if current is not None and _is_wanted(found.resource, wanted):
        return replace(found, why=f"it was to replace {current.id}", replaces=True)
    step = "If Google has it, delete it there"
    problem = Problem(f"{found.resource.shown}: {found.id} was made beside {other}, and is not wanted", step)
    return replace(found, action=Action.FORGET, why=problem.what, problem=problem)


def _left(resource: StackResource, problem: Problem) -> Decision:
    return Decision(CREATING, resource, Action.LEAVE, problem.what, problem=problem)


def _on_cluster(resource: StackResource, standing: Standing | None) -> Decision:
    metadata = resource.inputs.get("metadata") or {}
    own = "/".join(one for one in (metadata.get("namespace"), metadata.get("name")) if one)
    match standing:
        case Stands(manager):
            return Decision(CREATING, resource, Action.TAKE_OVER, "it is on its cluster", own, manager)
        case Missing(why):
            return Decision(CREATING, resource, Action.FORGET, why)
        case Problem():
            return _left(resource, standing)
    raise LookupError(resource.urn)


def edited(export: Mapping[str, Any], decisions: tuple[Decision, ...]) -> dict[str, Any] | None:
    """The export as it is to be imported, or None where nothing in it changes.

    None too while one operation is left as it is: an import drops all of them.
    """
    if any(one.action is Action.LEAVE for one in decisions):
        return None
    if not any(one.enters or one.action is Action.FORGET for one in decisions):
        return None
    after = copy.deepcopy(dict(export))
    deployment = after["deployment"]
    deployment.pop("pending_operations", None)
    entering = [one for one in decisions if one.enters]
    replaced = {one.resource.urn for one in entering if one.replaces}
    for values in deployment["resources"]:
        if values["urn"] in replaced:
            values["delete"] = True
    deployment["resources"] += [_entry(one) for one in entering]
    return after


def restored(export: Mapping[str, Any], decisions: tuple[Decision, ...]) -> dict[str, Any] | None:
    """The export with those back that a taken-over resource was to replace and that turned out not to be
    there; None where there are none.
    """
    state = State(export)
    back = {one.resource.urn for one in decisions if one.replaces and not state.current(one.resource.urn)}
    if not back:
        return None
    after = copy.deepcopy(dict(export))
    for values in after["deployment"]["resources"]:
        if values["urn"] in back:
            values.pop("delete", None)
    return after


def refreshes(decisions: tuple[Decision, ...]) -> tuple[tuple[str, ...], ...]:
    """The URNs to refresh, those of each provider together: one that does not answer stops its own alone."""
    found: dict[str, list[str]] = {}
    for one in decisions:
        if one.refreshed:
            found.setdefault(one.resource.provider, []).append(one.resource.urn)
    return tuple(tuple(dict.fromkeys(urns)) for urns in found.values())


def _entry(decision: Decision) -> dict[str, Any]:
    """As an update would have written it, but for what only a provider can say."""
    values = dict(_kept(decision.resource.values))
    values["id"] = decision.id
    if decision.manager:
        # Under another name the engine could not take back a field that it set.
        values["outputs"] = {MANAGER: decision.manager}
    return values


def _kept(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if name not in ("outputs", "created", "modified", "initErrors"):
            yield name, copy.deepcopy(value)
