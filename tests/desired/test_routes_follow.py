"""Routes lead to a new set of pods once it is ready."""

from dataclasses import replace

import pytest
from small_stack import NOTHING, after, cluster, deployment, find, made, service, stack

from inferfleet.desired import desired
from inferfleet.desired.gate import announced_problems
from inferfleet.desired.transition import with_leaving
from inferfleet.desired.values import Desired
from inferfleet.fleet.decisions import Leaving

PREFILLS = {"command": ["vllm", "serve", "m"]}
ENGINE = {"command": ["vllm", "serve", "m", "--port=8200"]}
PREFILL = {
    "workers": {
        "topology": {"tensor": 1},
        "template": {"spec": {"containers": [{"name": "engine", "image": "engine:1", **PREFILLS}]}},
    }
}
GATEWAY = {"Namespace east/ml", "Gateway east/inferfleet-system/inferfleet"}
# What the route of the deployment `b` leads to.
B = {"InferencePool east/ml/b", "Deployment east/ml/b-epp"}
# A set of another revision, which the stack no longer has.
OLD = Leaving(
    "east", "ml", "a-prefill-l4-0ld000", "l4", pods=1, gpus_per_pod=1, deployment="ml/a", revision="0ld000"
)


def _names(found: Desired) -> list[str]:
    """Kind and last part of the name of each component but the shared one, in the order of registration."""
    return [f"{one.kind} {one.name.rpartition('/')[2]}" for one in found.clusters[0].components[1:]]


def _set(revision: str) -> set[str]:
    return {
        f"InferencePool east/ml/a-{revision}",
        f"Deployment east/ml/a-{revision}-epp",
        f"Deployment east/ml/a-decode-l4-{revision}",
        f"Deployment east/ml/a-prefill-l4-{revision}",
    }


def test_routes_to_a_deployment_with_prefill_apart_come_after_all_that_serves_it() -> None:
    found = made(
        cluster("east"), deployment("a", engine=ENGINE, prefill=PREFILL), deployment("b"), service("s")
    )
    [revision] = {endpoint.revision for endpoint in found.plan.endpoints} - {""}
    assert after(found, "HTTPRoute", "east/ml/a") == GATEWAY | _set(revision)
    assert after(found, "HTTPRoute", "east/ml/s-svc") == GATEWAY | B | _set(revision)
    assert after(found, "HTTPRoute", "east/ml/b") == GATEWAY | B
    assert after(found, "Deployment", f"east/ml/a-prefill-l4-{revision}") >= {
        f"InferencePool east/ml/a-{revision}",
        f"Deployment east/ml/a-{revision}-epp",
        f"Service east/ml/a-{revision}-epp",
    }
    assert _names(found) == [
        "ModelEndpoint a",
        "ModelEndpoint b",
        f"ModelReplicas a-l4-l4-{revision}",
        "ModelReplicas b-l4",
        "ModelEndpoint route",
        "ModelService s",
    ]


def test_what_stands_first_is_registered_first() -> None:
    found = made(cluster("east"), deployment("a", engine=ENGINE, prefill=PREFILL), service("s"))
    seen: set[str] = set()
    for one in found.clusters[0].objects:
        assert set(one.after) <= seen
        seen.add(one.key)


@pytest.mark.parametrize(
    "leaving",
    [(), (Leaving("east", "ml", "a-decode-p", "p", 1, 1, deployment="ml/a"),)],
    ids=["none", "same"],
)
def test_routes_of_other_deployments_wait_for_no_pods(leaving: tuple[Leaving, ...]) -> None:
    documents = stack(cluster("east"), deployment("a"), service("s"))
    decided = desired(documents, NOTHING)
    assert with_leaving(decided, documents, NOTHING, leaving) == decided


def test_without_prefill_routes_wait_for_pods_while_the_set_with_prefill_leaves() -> None:
    documents = stack(cluster("east"), deployment("a"), deployment("b"), service("s"))
    found = with_leaving(desired(documents, NOTHING), documents, NOTHING, [OLD])
    serves = {
        "InferencePool east/ml/a",
        "Deployment east/ml/a-epp",
        "Deployment east/ml/a-decode-l4",
    }
    assert after(found, "HTTPRoute", "east/ml/a") == GATEWAY | serves
    assert after(found, "HTTPRoute", "east/ml/s-svc") == GATEWAY | B | serves
    assert after(found, "HTTPRoute", "east/ml/b") == GATEWAY | B
    assert _names(found) == [
        "ModelEndpoint a",
        "ModelEndpoint b",
        "ModelReplicas a-l4",
        "ModelReplicas b-l4",
        "ModelEndpoint route",
        "ModelService s",
    ]


def test_all_stands_after_what_it_needs_while_another_set_leaves() -> None:
    for document in (deployment("a"), deployment("a", engine=ENGINE, prefill=PREFILL)):
        documents = stack(cluster("east"), document, service("s"))
        once = with_leaving(desired(documents, NOTHING), documents, NOTHING, [OLD])
        seen: set[str] = set()
        for one in once.clusters[0].objects:
            assert set(one.after) <= seen
            seen.add(one.key)
        assert with_leaving(once, documents, NOTHING, [OLD]) == once


def test_only_order_changes_while_another_set_leaves() -> None:
    documents = stack(cluster("east"), deployment("a"), service("s"))
    before = desired(documents, NOTHING)
    found = with_leaving(before, documents, NOTHING, [OLD])
    for one in before.clusters[0].objects:
        assert find(found, one.kind, one.name).manifest == one.manifest


def test_a_new_set_that_is_not_awaited_is_announced_with_its_gap() -> None:
    said = {}
    for setting in ("ready", "applied"):
        documents = stack(
            cluster("east"), deployment("a", engine=ENGINE, prefill=PREFILL), **{"await": setting}
        )
        [placement] = desired(documents, NOTHING).plan.placements
        old = replace(NOTHING, placements={placement.spot._replace(revision="0ld000"): 1})
        found = announced_problems(desired(documents, old), documents, old, locked=False, preview=False)
        said[setting] = [(one.severity, one.what) for one in found if "gets a new set of pods" in one.what]
    what = f"ml/a on {placement.spot.place} gets a new set of pods beside the old one"
    assert said == {
        "ready": [
            (
                "notice",
                f"{what}, because prefill and decode exchange something else: the old one serves until the "
                "new one is ready, and ends then",
            )
        ],
        "applied": [
            (
                "warning",
                f"{what}, and with await: applied the old one ends before the new one is ready: nothing "
                "serves in between",
            )
        ],
    }


def test_a_new_set_is_told_of_also_where_the_lock_was_committed_before() -> None:
    documents = stack(cluster("east"), deployment("a", engine=ENGINE, prefill=PREFILL))
    lock = desired(documents, NOTHING).plan.lock
    found = with_leaving(desired(documents, lock), documents, lock, [OLD])
    told = announced_problems(found, documents, lock, locked=True, preview=True)
    assert [problem.severity for problem in told if "gets a new set of pods beside" in problem.what] == [
        "notice"
    ]


def test_a_gap_is_announced_by_the_plan_alone_until_clusters_say_otherwise() -> None:
    """A set has 5 of 8 GPUs; of the old one, which the lock has, the cluster has nothing any more."""
    engine = {"command": [*ENGINE["command"], "--tensor-parallel-size=4"]}
    documents = stack(cluster("east"), deployment("a", gpus=4, engine=engine, prefill=PREFILL))
    [placement] = desired(documents, NOTHING).plan.placements
    old = replace(NOTHING, placements={placement.spot._replace(revision="0ld000"): 1})
    planned = desired(documents, old)
    told = [
        next(
            problem.severity
            for problem in announced_problems(found, documents, old, locked=False, preview=False)
            if "gets a new set of pods" in problem.what
        )
        for found in (planned, with_leaving(planned, documents, old, []))
    ]
    assert told == ["warning", "notice"]


def test_where_both_sets_have_no_room_routes_change_after_all_else_of_the_update() -> None:
    """What the old set serves is not taken from it while other models take their time, or fail."""
    large = {"workers": {**PREFILL["workers"], "topology": {"tensor": 4}}}
    documents = stack(
        cluster("east"),
        cluster("west"),
        deployment("a", engine=ENGINE, prefill=large, gpus=1),
        deployment("b", 2),
    )
    lock = desired(documents, NOTHING).plan.lock
    here = {spot.deployment: spot.cluster for spot in lock.placements}["ml/a"]
    old = Leaving(here, "ml", "a-old", "l4", 2, 3, deployment="ml/a", revision="0ld000")
    found = with_leaving(desired(documents, lock), documents, lock, [old])
    assert [spot.deployment for spot in found.waiting] == ["ml/a"]
    assert found.clusters[-1].connection.cluster == here
    everything = {
        one.key for of in found.clusters for one in of.objects if one.kind not in ("HTTPRoute", "Secret")
    }
    (route,) = (
        one for one in found.clusters[-1].objects if one.kubernetes_name == "a" and one.kind == "HTTPRoute"
    )
    assert set(route.after) == everything
