"""What is paused: its replicas keep their places, and its components what stands, whatever documents say."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from one_ready_hook import hook_of
from small_stack import NOTHING, Document, cluster, components, deployment, find, lock, made, service, spot
from test_on_cloud import on_gke

from inferfleet.desired import desired
from inferfleet.desired.paused import as_it_was, holds_any, kept
from inferfleet.desired.values import COMPONENTS, Component, Desired, DesiredCluster, Resource
from inferfleet.documents import InvalidDocuments
from inferfleet.fleet import names
from inferfleet.fleet.decisions import Placement
from inferfleet.plugins.contract import Ready

PAUSED, STEP = "nothing of it changes", "Remove paused to have it changed"
STANDS = lock({"a east/l4": 2})
PICKERS = {"endpointPicker": {"replicas": 2}}


def standing(before: Desired) -> dict[Resource, Mapping[str, Any]]:
    """What the state has once it was deployed."""
    found: dict[Resource, Mapping[str, Any]] = {}
    for one in before.clusters:
        for part in one.components:
            found[Resource("", f"{COMPONENTS}{part.kind}", part.name)] = {}
            for made_ in part.objects:
                found[Resource(part.kind, made_.token, made_.name)] = made_.manifest
        found |= {place: {} for place in in_cloud(one)}
    return found


def in_cloud(one: DesiredCluster) -> set[Resource]:
    cloud = one.connection.cloud
    parts = cloud.components if cloud else ()
    found = {Resource(part.kind, made_.token, made_.name) for part in parts for made_ in part.resources}
    found |= {Resource(part.kind, *place) for part in parts for place in part.standing}
    return found | {Resource("", f"{COMPONENTS}{part.kind}", part.name) for part in parts}


def of_a(found: Desired) -> list[Component]:
    return [part for one in found.clusters for part in one.components if part.name.startswith("east/ml/a")]


def registered(found: Desired) -> set[Resource]:
    """Everything that would be registered on the clusters, as the state has it."""
    extra = {place for one in found.clusters for part in one.components for place in part.standing}
    return {*standing(found), *extra}


def told(found: Desired) -> list[tuple[str, str, str]]:
    return [(problem.severity, problem.what, problem.next_step) for problem in found.warnings]


def routes(found: Desired) -> dict[str, list[tuple[str, int]]]:
    """Where the route of service s leads on each cluster that has it: pools and weights."""
    return {
        one.connection.cluster: [
            (backend["name"], backend["weight"])
            for backend in item.manifest["spec"]["rules"][0]["backendRefs"]
        ]
        for one in found.clusters
        for item in one.objects
        if (item.kind, item.kubernetes_name) == ("HTTPRoute", "s-svc")
    }


EDITS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "image": ({"engine": {"image": "engine:2"}}, {}),
    "replicas": ({"replicas": 7}, {}),
    "none": ({"replicas": 0}, {}),
    "pods that fill the pool": ({"gpus": 4}, {}),
    "no route": ({"route": {"enabled": False}}, {}),
    "another picker": ({"endpointPicker": {"replicas": 3, "flags": {"v": 5}}}, {}),
    "one picker": ({"endpointPicker": {}}, {}),
    "scaled": (
        {"replicas": {"min": 1, "max": 3}, "scaling": {"by": "External"}},
        {},
    ),
    "image of pickers": ({}, {"images": {"epp": "picker:2"}}),
    "policies": ({}, {"networkPolicy": {"gatewayNamespace": "gateways"}}),
}


@pytest.mark.parametrize("edit", EDITS)
def test_of_a_paused_deployment_exactly_what_stands_is_registered(edit: str) -> None:
    before = made(cluster("east"), deployment("a", 2, **PICKERS), deployment("b"), service("s"), lock=STANDS)
    spec, serving = EDITS[edit]
    gateway = {"gateway": {"className": "any"}}
    after = made(
        cluster("east", serving=gateway | serving),
        deployment("a", **{"replicas": 2, **PICKERS, **spec, "paused": True}),
        deployment("b"),
        service("s"),
        lock=before.plan.lock,
    )
    assert [one for one in after.plan.placements if one.spot == spot("a east/l4")] == [
        Placement(spot("a east/l4"), 2, *([after.plan.placements[0].least] if edit == "scaled" else []))
    ]
    stands = standing(before)
    own = {place for place in stands if place.name.startswith("east/ml/a") and place.parent != "ModelService"}
    kept_now = {place for place in registered(kept(after, stands)) if place.name.startswith("east/ml/a")}
    assert kept_now == own
    assert of_a(as_it_was(after, before)) == [replace(part, held=True) for part in of_a(before)]
    [backend, _] = find(kept(after, stands), "HTTPRoute", "east/ml/s-svc").manifest["spec"]["rules"][0][
        "backendRefs"
    ]
    assert f"InferencePool east/ml/{backend['name']}" in {
        f"{place.token.rpartition(':')[2]} {place.name}" for place in own
    }


def test_others_are_placed_around_a_paused_deployment() -> None:
    found = made(
        cluster("east"),
        deployment("a", 1, paused=True),
        deployment("b", 7),
        lock=lock({"a east/l4": 2}),
        unplaced="warn",
    )
    assert found.plan.placements == (Placement(spot("a east/l4"), 2), Placement(spot("b east/l4"), 6))
    assert [(missing.deployment, missing.replicas) for missing in found.plan.unplaced] == [("ml/b", 1)]
    assert told(found)[0] == ("notice", f"ml/a is paused: {PAUSED}", STEP)


def test_a_paused_deployment_stays_on_a_cluster_that_is_drained() -> None:
    found = made(
        cluster("east", state="drained"), cluster("west"), deployment("a", 2, paused=True), lock=STANDS
    )
    assert found.plan.changes == ()
    stays = "ml/a is paused, so 2 replicas stay on east/l4 (drained)"
    assert ("warning", stays, "Remove paused to have them moved") in told(found)


def test_a_paused_deployment_gets_no_other_place_for_what_an_abandoned_cluster_had() -> None:
    found = made(cluster("east"), deployment("a", 2, paused=True), service("s"))
    assert (components(found, "east"), found.plan.unplaced) == ([("ServingStack", "east")], ())
    unlocked = "the lock has no replica of it, so none is made, and what is there stays as it is"
    assert ("notice", f"ml/a is paused: {unlocked}", STEP) in told(found)


def test_a_deployment_without_a_document_ends_though_it_was_paused() -> None:
    found = made(cluster("east"), lock=STANDS)
    assert [(change.before, change.after) for change in found.plan.changes] == [(2, 0)]


def test_a_role_of_what_is_paused_cannot_be_renamed() -> None:
    half = lock({})
    placements = {spot("a east/l4")._replace(pools=(("decode", "l4"), ("vision", "l4"))): 1}
    with pytest.raises(InvalidDocuments) as refused:
        made(cluster("east"), deployment("a", paused=True), lock=replace(half, placements=placements))
    assert [problem.what for problem in refused.value.problems] == [
        "ml/a is paused and the lock has 1 replica of ml/a with role vision there, but the deployment has "
        "decode only"
    ]


BOTH = lock({"a east/l4": 1, "a west/l4": 1}, {"s": ("east", "west")}, uids={"east": "e", "west": "w"})


def test_a_paused_cluster_keeps_exactly_what_stands() -> None:
    def on(*more: Document, state: str, replicas: int = 2, serving: Any = None) -> Desired:
        gateway = {"gateway": {"className": "any"}, **(serving or {})}
        return made(
            cluster("east"),
            cluster("west", state=state, serving=gateway),
            deployment("a", replicas, labels={"app": "a"}, **PICKERS),
            service("s", app="a"),
            *more,
            lock=BOTH,
        )

    before = on(state="active")
    later = on(
        deployment("b", 3, labels={"app": "a"}),
        service("t"),
        state="paused",
        replicas=5,
        serving={"images": {"epp": "picker:2"}},
    )
    stands = standing(before)
    [west] = [one for one in kept(later, stands).clusters if one.connection.cluster == "west"]
    assert registered(replace(later, clusters=(west,))) == {
        place for place in stands if place.name == "west" or place.name.startswith("west/")
    }
    assert (dict(west.workloads), dict(west.served)) == ({}, {})
    assert {str(spot_): number for spot_, number in later.plan.lock.placements.items()} == {
        "ml/a east decode=l4": 4,
        "ml/a west decode=l4": 1,
        "ml/b east decode=l4": 3,
    }
    said = "cluster west is paused: nothing changes on it"
    assert ("notice", said, "Write state: active to have it changed") in told(later)


def test_a_new_cluster_that_is_paused_is_not_made() -> None:
    found = made(cluster("east"), cluster("west", state="paused"), deployment("a", 2))
    assert (components(found, "west"), sorted(found.plan.lock.clusters)) == ([], ["east"])
    unlocked = "the lock has no such cluster, so none is made, and what is there stays as it is"
    assert told(found)[0][1] == f"cluster west is paused: {unlocked}"


def test_what_a_paused_cluster_has_keeps_its_documents() -> None:
    with pytest.raises(InvalidDocuments) as refused:
        made(cluster("east"), cluster("west", state="paused"), lock=BOTH)
    assert [(problem.what, problem.next_step) for problem in refused.value.problems] == [
        (
            "cluster west is paused and the lock has 1 replica of ml/a there, but that deployment has no "
            "document",
            "Restore the document until the cluster is active again",
        ),
        (
            "cluster west is paused and the lock has service ml/s there, but that service has no document",
            "Restore the document until the cluster is active again",
        ),
    ]


def test_without_anything_paused_the_state_is_not_asked() -> None:
    found = made(cluster("east"), deployment("a"), lock=NOTHING)
    assert (holds_any(found), kept(found, {}), as_it_was(found, found)) == (False, found, found)


def test_of_a_paused_cluster_in_a_cloud_exactly_what_stands_is_registered() -> None:
    before = desired(on_gke(), NOTHING)
    edited = on_gke(pool={"maxNodeCount": 5, "labels": {"a": "b"}}, releaseChannel="RAPID")
    spec = edited.clusters["east"].spec
    other = spec.node_pools[0].model_copy(update={"name": "other"})
    for pools in ((*spec.node_pools, other), (other,)):
        changed = spec.model_copy(update={"state": "paused", "node_pools": pools})
        document = edited.clusters["east"].model_copy(update={"spec": changed})
        without = {} if len(pools) == 1 else edited.deployments
        lock_ = before.plan.lock if without else replace(before.plan.lock, placements={}, services={})
        later = desired(
            replace(edited, clusters={"east": document}, deployments=without, services={}),
            replace(lock_, services={}),
        )
        assert (later.cloud_changes, later.plan.lock.pools) == ((), before.plan.lock.pools)
        [east] = kept(later, standing(before)).clusters
        cloud = east.connection.cloud
        assert cloud is not None
        assert {made_.ignore for made_ in cloud.resources} == {("*",)}
        assert registered(replace(later, clusters=(east,))) == standing(before).keys()


def test_a_paused_cluster_in_a_cloud_cannot_become_another() -> None:
    before = desired(on_gke(), NOTHING)
    edited = on_gke(region="europe-west4")
    spec = edited.clusters["east"].spec.model_copy(update={"state": "paused"})
    document = edited.clusters["east"].model_copy(update={"spec": spec})
    with pytest.raises(InvalidDocuments) as refused:
        desired(replace(edited, clusters={"east": document}), before.plan.lock)
    assert [problem.next_step for problem in refused.value.problems] == [
        "Change it back until the cluster is active again"
    ]


def test_a_deployment_that_was_moved_in_the_lock_alone_keeps_what_serves() -> None:
    def at(here: str, **spec: Any) -> Desired:
        where = lock({f"a {here}": 1, "b east/l4": 1, "b west/l4": 1})
        pools = ("l4", "h")
        deployments = (deployment("a", 1, **spec), deployment("b", 2))
        return made(cluster("east", pools=pools), cluster("west"), *deployments, lock=where)

    for there in ("west/l4", "east/h"):
        stands = {**standing(at("east/l4")), **standing(at(there))}
        for found in (stands, standing(at("east/l4"))):
            paused = kept(at(there, paused=True), found)
            assert registered(paused) == set(found)


def test_a_paused_deployment_that_the_lock_does_not_know_keeps_what_stands() -> None:
    both = lock({"a east/l4": 2, "c east/l4": 1})
    stands = standing(made(cluster("east"), deployment("a", 2), deployment("c"), lock=both))
    for other in (deployment("c"), deployment("c", paused=True)):
        found = made(cluster("east"), deployment("a", 2, paused=True), other, lock=lock({"c east/l4": 1}))
        assert holds_any(found)
        assert registered(kept(found, stands)) == set(stands)


@pytest.mark.parametrize("state", ["paused", "lost"])
def test_a_held_cluster_that_the_lock_does_not_know_keeps_what_stands(state: str) -> None:
    documents = (cluster("east"), deployment("a", 2), service("s"))
    stands = standing(made(cluster("west"), *documents, lock=BOTH))
    found = made(cluster("west", state=state), *documents, lock=NOTHING)
    assert holds_any(found)
    west = {place for place in stands if place.name == "west" or place.name.startswith("west/")}
    now = {place for place in registered(kept(found, stands)) if place in west}
    assert now == west


def test_a_paused_cluster_in_a_cloud_that_the_lock_does_not_know_keeps_what_stands() -> None:
    stands = standing(desired(on_gke(), NOTHING))
    documents = on_gke()
    spec = documents.clusters["east"].spec.model_copy(update={"state": "paused"})
    document = documents.clusters["east"].model_copy(update={"spec": spec})
    found = desired(replace(documents, clusters={"east": document}), NOTHING)
    assert registered(found) == set()
    [east] = kept(found, stands).clusters
    assert registered(replace(found, clusters=(east,))) == set(stands)
    assert east.connection.cloud is not None
    assert east.connection.cloud.key in {made_.key for made_ in east.connection.cloud.resources}
    assert {made_.ignore for made_ in east.connection.cloud.resources} == {("*",)}
    assert registered(kept(found, {})) == set()


def test_of_a_paused_cluster_whose_creation_was_killed_the_network_stays() -> None:
    before = desired(on_gke(), NOTHING)
    network = {place: {} for place in standing(before) if "GkeNetwork" in f"{place.parent} {place.token}"}
    assert {place.token.rpartition(":")[2] for place in network} >= {"GkeNetwork", "Network", "Subnetwork"}
    documents = on_gke()
    spec = documents.clusters["east"].spec.model_copy(update={"state": "paused"})
    document = documents.clusters["east"].model_copy(update={"spec": spec})
    for loaded in (before.plan.lock, NOTHING):
        found = desired(replace(documents, clusters={"east": document}), loaded)
        assert registered(kept(found, network)) == set(network)


def test_on_an_abandoned_cluster_nothing_of_a_paused_deployment_is_kept() -> None:
    stands = standing(made(cluster("east"), deployment("a", 2), lock=STANDS))
    found = made(cluster("east", state="abandoned"), deployment("a", 2, paused=True))
    assert registered(kept(found, stands)) == set()


def test_a_service_does_not_lead_to_a_paused_deployment_that_was_never_made() -> None:
    only_b = lock({"b east/l4": 1})
    stands = standing(made(cluster("east"), deployment("b"), service("s"), lock=only_b))
    both = lock({"a east/l4": 1, "b east/l4": 1})
    found = made(cluster("east"), deployment("a", paused=True), deployment("b"), service("s"), lock=both)
    assert routes(kept(found, stands)) == {"east": [("b", 1)]}
    first = deployment("a", paused=True), deployment("b")
    again = kept(made(cluster("east"), *first, service("s"), lock=both), {**stands, **standing(found)})
    assert routes(again) == {"east": [("a", 1), ("b", 1)]}


def test_a_service_of_which_no_pool_was_made_gets_no_route() -> None:
    found = made(cluster("east"), deployment("a", paused=True), service("s"), lock=lock({"a east/l4": 1}))
    assert ("ModelService", "east/ml/s") in components(found, "east")
    assert components(kept(found, {}), "east") == [("ServingStack", "east")]


A, B = (deployment(name, labels={"model": name}) for name in ("a", "b"))
PAUSED_A = deployment("a", labels={"model": "a"}, paused=True)
EAST_AND_WEST = (cluster("east"), cluster("west"))
ALL, OF_A, OF_EAST = service("s"), service("s", model="a"), service("s", **{names.CLUSTER: "east"})
BOTH_ON_EAST = lock({"a east/l4": 1, "b east/l4": 1})
# The service, where the lock has a and b, and where its routes lead: a stands on east all the time.
MOVED: dict[str, tuple[Document, dict[str, int], dict[str, list[tuple[str, int]]]]] = {
    "alone": (OF_A, {"a west/l4": 1, "b east/l4": 1}, {"east": [("a", 1)]}),
    "beside another": (ALL, {"a west/l4": 1, "b east/l4": 1}, {"east": [("a", 1), ("b", 1)]}),
    "with another": (ALL, {"a west/l4": 1, "b west/l4": 1}, {"east": [("a", 1)], "west": [("b", 1)]}),
    "out of the lock": (OF_A, {"b east/l4": 1}, {"east": [("a", 1)]}),
    "from the cluster that is selected": (OF_EAST, {"a west/l4": 1, "b west/l4": 1}, {"east": [("a", 1)]}),
    "and not selected by now": (
        service("s", model="b"), {"a west/l4": 1, "b east/l4": 1}, {"east": [("b", 1)]},
    ),
    "and a service that is gone": (service("t", model="b"), {"a west/l4": 1, "b east/l4": 1}, {}),
}  # fmt: skip


@pytest.mark.parametrize("moved", MOVED)
def test_a_service_leads_to_a_paused_deployment_where_it_stands(moved: str) -> None:
    selects, places, expected = MOVED[moved]
    before = selects if moved.startswith("from") else ALL
    stands = standing(made(*EAST_AND_WEST, A, B, before, lock=BOTH_ON_EAST))
    found = kept(made(*EAST_AND_WEST, PAUSED_A, B, selects, lock=lock(places)), stands)
    assert routes(found) == expected
    assert found.outputs["services"].get("ml/s", []) == [*expected]


def test_a_route_that_stays_as_it_stands_is_held_and_one_that_loses_a_pool_is_written() -> None:
    def route(places: dict[str, int]) -> Component:
        found = kept(made(*EAST_AND_WEST, PAUSED_A, B, ALL, lock=lock(places)), stands)
        [component] = [part for part in found.clusters[0].components if part.kind == "ModelService"]
        return component

    alone = made(*EAST_AND_WEST, A, OF_A, lock=lock({"a east/l4": 1}))
    stands = standing(alone)
    [before] = [part for part in alone.clusters[0].components if part.kind == "ModelService"]
    stays = replace(before.objects[0], after=(), timeout=None)
    assert route({"a west/l4": 1, "b west/l4": 1}) == replace(before, objects=(stays,), held=True)
    stands = standing(made(*EAST_AND_WEST, A, B, ALL, lock=BOTH_ON_EAST))
    assert route({"a west/l4": 1, "b west/l4": 1}) == replace(before, objects=(stays,))


def test_a_service_with_the_name_of_a_paused_deployment_ends_with_its_document() -> None:
    with_service = made(cluster("east"), A, service("a"), lock=lock({"a east/l4": 1}))
    without = made(cluster("east"), PAUSED_A, lock=lock({"a east/l4": 1}))
    kinds = [kind for kind, _ in components(kept(without, standing(with_service)), "east")]
    assert kinds == ["ServingStack", "ModelEndpoint", "ModelReplicas"]


def test_what_servers_write_into_a_route_is_not_sent_back() -> None:
    before = made(*EAST_AND_WEST, A, ALL, lock=lock({"a east/l4": 1}))
    written = standing(before)
    live = {
        place: {
            **outputs,
            "metadata": {**outputs["metadata"], "uid": "1", "managedFields": [{}]},
            "status": {"parents": []},
        }
        if place.parent
        else outputs
        for place, outputs in written.items()
    }
    moved = made(*EAST_AND_WEST, PAUSED_A, ALL, lock=lock({"a west/l4": 1}))
    assert kept(moved, live) == kept(moved, written)


def test_a_service_leads_to_the_set_of_pods_that_it_led_to_while_the_new_one_is_half_made() -> None:
    old, new = (
        made(cluster("east"), deployment("a", 2, endpointPicker=picker), service("s"), lock=STANDS)
        for picker in ({"replicas": 2}, {"replicas": 2, "flags": {"v": 5}})
    )
    [(led, _)], [(planned, _)] = routes(old)["east"], routes(new)["east"]
    assert led != planned
    half = {**standing(new), **standing(old)}
    paused = deployment("a", 2, endpointPicker={"replicas": 2, "flags": {"v": 5}}, paused=True)
    found = kept(made(cluster("east"), paused, service("s"), lock=STANDS), half)
    assert routes(found) == {"east": [(led, 1)]}


@pytest.mark.parametrize("state", ["active", "paused"])
def test_a_hook_of_a_workload_that_the_state_has_no_more_is_not_registered(state: str) -> None:
    before = made(cluster("east"), deployment("a", 2), lock=STANDS)
    found = made(cluster("east", state=state), deployment("a", 2, paused=True), lock=STANDS)
    [east] = found.clusters
    [replicas] = [part for part in east.components if part.kind == "ModelReplicas"]
    [workload] = [item for item in replicas.objects if item.kind == "Deployment"]
    hook = replace(hook_of(_told, held=True), name="east/ml/a-decode-l4/registrar", workload=workload)
    hooked = replace(replicas, hooks=(hook,))
    parts = tuple(hooked if part is replicas else part for part in east.components)
    with_hook = replace(found, clusters=(replace(east, components=parts),))
    stash = Resource("ModelReplicas", "pulumi:index:Stash", hook.name)
    stands = {**standing(before), stash: {}}

    def hooks() -> list[str]:
        [now] = kept(with_hook, stands).clusters
        return [each.name for part in now.components for each in part.hooks]

    assert hooks() == [hook.name]
    del stands[Resource("ModelReplicas", workload.token, workload.name)]
    assert hooks() == []


def _told(ready: Ready, config: object) -> None: ...
