"""What holds for everything desired, whatever the fleet."""

from collections.abc import Iterable
from random import Random
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from small_stack import NOTHING, Document, cluster, deployment, lock, service, stack

from inferfleet.desired import desired
from inferfleet.desired.values import Component, Desired
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet.lock.lock import Lock
from inferfleet.plugins import contract
from inferfleet.plugins.contract import Edited, Plugin, PodTemplate, Request
from inferfleet.plugins.registry import builtin

HELD = {"ml/hf": ["token"]}
STATES = ["active", "active", "active", "cordoned", "drained", "paused", "lost", "abandoned"]
# With GPUs per pod by name: pods that grow may overfill a pool, which is an error.
GPUS = {"a": 1, "b": 1, "c": 2, "d": 4}
NAMES = sorted(GPUS)


class _None(contract.Config):
    pass


def _beside(template: PodTemplate, request: Request, config: _None) -> Edited:
    metadata = {"name": f"{request.workload}-beside"}
    return Edited(template, ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata},))


REGISTRY = builtin().with_(Plugin("beside", _None, _beside, version="1.0.0"))

_engines = st.sampled_from(
    [
        {},
        {"image": "engine:2"},
        {"envFrom": [{"secretRef": {"name": "hf"}}]},
        {"envFrom": [{"secretRef": {"name": "own"}}]},
    ]
)


def _deployments(name: str, most: int) -> st.SearchStrategy[Document]:
    return st.builds(
        deployment,
        st.just(name),
        st.integers(0, most),
        gpus=st.just(GPUS[name]),
        engine=_engines,
        labels=st.sampled_from([{}, {"size": "small"}]),
        namespace=st.sampled_from(["ml", "ml", "other"]),
        plugins=st.sampled_from([(), ({"name": "beside", "config": {}},)]),
        route=st.sampled_from([{}, {"enabled": False}]),
    )


def _clusters(name: str, states: list[str]) -> st.SearchStrategy[Document]:
    pools = st.sampled_from([("p",), ("p", "q")])
    return st.builds(cluster, st.just(name), pools=pools, state=st.sampled_from(states))


def _fleets(states: list[str], most: int) -> st.SearchStrategy[list[Document]]:
    return st.tuples(
        st.integers(1, 3).flatmap(
            lambda many: st.tuples(*(_clusters(f"c{index}", states) for index in range(many)))
        ),
        st.lists(st.sampled_from(NAMES), unique=True).flatmap(
            lambda chosen: st.tuples(*(_deployments(name, most) for name in sorted(chosen)))
        ),
    ).map(lambda both: [*both[0], *both[1]])


SERVICES = [service("all"), service("some", size="small")]
_locks = st.dictionaries(
    st.builds(
        lambda name, where, pool: f"{name} c{where}/{pool}",
        st.sampled_from(NAMES),
        st.integers(0, 2),
        st.sampled_from("pq"),
    ),
    st.integers(1, 2),
    max_size=5,
).map(lambda placements: lock(placements, {"all": ("c0",)}))


def _desired(documents: Iterable[Document], locked: Lock) -> Desired:
    """What is desired, for fleets that have no problem (a selector without match is one)."""
    try:
        return desired(stack(*documents, secrets=HELD), locked, registry=REGISTRY)
    except InvalidDocuments:
        assume(False)
        raise


@settings(max_examples=60, deadline=None)
@given(_fleets(STATES, 4), st.sampled_from([[], SERVICES[:1]]), _locks)
def test_all_that_must_stand_first_is_registered_first(
    documents: list[Document], services: list[Document], locked: Lock
) -> None:
    registered: set[str] = set()
    for part in _desired([*documents, *services], locked).clusters:
        for one in part.objects:
            assert set(one.after) <= registered
            assert one.key not in registered
            registered.add(one.key)


@settings(max_examples=25, deadline=None)
@given(_fleets(STATES, 4), _locks, st.integers())
def test_the_order_of_documents_changes_nothing(documents: list[Document], locked: Lock, seed: int) -> None:
    shuffled = list(documents)
    Random(seed).shuffle(shuffled)
    assert _desired(shuffled, locked) == _desired(documents, locked)


@settings(max_examples=25, deadline=None)
@given(_fleets(["active"], 2))
def test_a_second_time_everything_is_the_same_but_the_order_of_rolling(documents: list[Document]) -> None:
    first = _desired(documents, NOTHING)
    second = _desired(documents, first.plan.lock)
    assert _manifests(second) == _manifests(first)
    third = _desired(documents, second.plan.lock)
    assert third.clusters == second.clusters


@settings(max_examples=80, deadline=None)
@given(st.data(), _fleets(["active"], 2), st.sampled_from([[], SERVICES[:1]]))
def test_adding_removing_or_editing_a_deployment_changes_no_object_of_another(
    data: st.DataObject, documents: list[Document], services: list[Document]
) -> None:
    """But the routes of services that select it, and the namespace and secrets that it is the only to use."""
    documents = [*documents, *services]
    locked = _desired(documents, NOTHING).plan.lock
    before = _desired(documents, locked)
    assume(not before.plan.unplaced)
    changed = data.draw(_deployments(data.draw(st.sampled_from(NAMES)), 2))
    rest = [one for one in documents if one.metadata.name != changed.metadata.name]
    after = _desired(rest if data.draw(st.booleans()) else [*rest, changed], locked)
    assert _others(after, changed) == _others(before, changed)


def _manifests(found: Desired) -> dict[str, dict[str, Any]]:
    return {one.key: one.manifest for part in found.clusters for one in part.objects}


def _others(found: Desired, changed: Document) -> dict[tuple[str, str], Component]:
    """The components of all deployments but one, whole."""
    own = tuple(
        f"/{space}/{changed.metadata.name}{end}" for space in ("ml", "other") for end in ("", "-p", "-q")
    )
    assert isinstance(changed, ModelDeployment)
    return {
        (one.kind, one.name): one
        for part in found.clusters
        for one in part.components
        if one.kind in ("ModelEndpoint", "ModelReplicas") and not one.name.endswith(own)
    }
