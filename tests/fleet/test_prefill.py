"""Replicas with prefill apart: on a cluster all of them share one pair of pools and one revision."""

from typing import Any

import pytest
from small_fleet import cluster, deployment, fleet, lock, role, standing

from inferfleet.documents.kinds.inference_cluster import Images, InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.decisions import Leaving
from inferfleet.fleet.demands import declared_demands
from inferfleet.fleet.lock.lock import Lock, parse, text
from inferfleet.fleet.placement.handover import waiting
from inferfleet.fleet.planning import plan
from inferfleet.fleet.roles import revision
from inferfleet.fleet.shapes import Pod

ON_L4 = "capacity['gpu.nvidia.com/memory'].compareTo(quantity('40Gi')) < 0"
ON_H100 = "capacity['gpu.nvidia.com/memory'].compareTo(quantity('40Gi')) > 0"


def _apart(replicas: int, *, gpus: int = 4, prefill: int = 4, **spec: Any) -> ModelDeployment:
    return deployment("a", replicas, gpus=gpus, prefill=role(prefill), **spec)


REV = revision(_apart(1), Images())


def _east(**pools: int) -> InferenceCluster:
    return cluster(
        "east", {name: ("l4" if name.startswith("l4") else "h100", n) for name, n in pools.items()}
    )


def test_both_roles_have_a_pool_on_one_cluster_and_a_revision() -> None:
    assert standing(plan(fleet(_east(h100=1), _apart(1)), Lock())) == {
        f"ml/a@{REV} east decode=h100 prefill=h100": 1
    }
    assert len(REV) == 6


def test_roles_run_on_classes_of_their_own_in_any_ratio() -> None:
    document = deployment("a", 2, gpus=8, workers=3, cel=ON_H100, prefill=role(2, workers=5, cel=ON_L4))
    of = revision(document, Images())
    assert standing(plan(fleet(_east(h100=6, l4=5), document), Lock())) == {
        f"ml/a@{of} east decode=h100 prefill=l4": 2
    }
    # One node less for prefill, and neither role of the second replica has a place.
    assert standing(plan(fleet(_east(h100=6, l4=4), document), Lock())) == {
        f"ml/a@{of} east decode=h100 prefill=l4": 1
    }


def test_replicas_of_a_cluster_never_split_over_two_pairs_of_pools() -> None:
    """Each pool has room for one replica, and the second has none that serves with the first."""
    document = _apart(2, gpus=5, prefill=3)
    made = plan(fleet(_east(**{"h100-x": 1, "h100-y": 1}), document), Lock())
    of = revision(document, Images())
    assert standing(made) == {f"ml/a@{of} east decode=h100-x prefill=h100-x": 1}
    assert [missing.replicas for missing in made.unplaced] == [1]


def test_the_first_replica_chooses_pools_with_room_for_its_share() -> None:
    documents = fleet(_east(**{"h100-x": 1, "h100-y": 3}), _apart(3))
    assert standing(plan(documents, Lock())) == {f"ml/a@{REV} east decode=h100-y prefill=h100-y": 3}


def test_where_no_pools_have_room_for_all_those_with_room_for_most_are_taken() -> None:
    document = _apart(4, gpus=5, prefill=3)
    of = revision(document, Images())
    assert standing(plan(fleet(_east(**{"h100-x": 1, "h100-y": 3}), document), Lock())) == {
        f"ml/a@{of} east decode=h100-y prefill=h100-y": 3
    }


def test_replicas_spread_over_clusters_and_have_one_spot_on_each() -> None:
    west = cluster("west", {"h100": ("h100", 2)})
    assert standing(plan(fleet(_east(h100=2), west, _apart(4)), Lock())) == {
        f"ml/a@{REV} east decode=h100 prefill=h100": 2,
        f"ml/a@{REV} west decode=h100 prefill=h100": 2,
    }


def test_prefill_comes_to_replicas_that_run_and_joins_those_on_two_pools() -> None:
    documents = fleet(_east(**{"h100-x": 2, "h100-y": 3}), _apart(3))
    made = plan(documents, lock({"a east/h100-x": 1, "a east/h100-y": 2}))
    assert standing(made) == {f"ml/a@{REV} east decode=h100-y prefill=h100-x": 3}
    again = plan(documents, made.lock)
    assert (standing(again), again.changes) == (standing(made), ())


def test_another_format_changes_the_revision_and_nothing_else() -> None:
    documents = fleet(_east(h100=2), _apart(2, cel=ON_H100))
    before = plan(documents, Lock()).lock
    other = fleet(_east(h100=2), _apart(2, cel=ON_H100, gpus=4, prefill=2))
    made = plan(other, before)
    of = revision(other.deployments["ml/a"], Images())
    assert [(str(change.spot), change.before, change.after) for change in made.changes] == sorted(
        [
            (f"ml/a@{REV} east decode=h100 prefill=h100", 2, 0),
            (f"ml/a@{of} east decode=h100 prefill=h100", 0, 2),
        ]
    )
    assert [*made.departure_reasons.values()] == [
        f"prefill and decode exchange something else: revision {of}"
    ]
    assert [endpoint.revision for endpoint in made.endpoints] == [of]


@pytest.mark.parametrize(("nodes", "placed"), [(1, 0), (2, 1), (4, 2)])
def test_surge_keeps_room_for_a_second_set(nodes: int, placed: int) -> None:
    made = plan(fleet(_east(h100=nodes), _apart(2, rollout="Surge")), Lock())
    assert sum(placement.replicas for placement in made.placements) == placed


def test_the_lock_holds_revisions() -> None:
    made = plan(fleet(_east(h100=2), _apart(2)), Lock(stack="test"))
    assert f"\n  ml/a@{REV} east decode=h100 prefill=h100: 2\n" in text(made.lock)
    assert parse(text(made.lock), file="placement.lock", stack="test").placements == made.lock.placements


def test_a_new_revision_waits_where_the_old_one_holds_its_room() -> None:
    """Also if the lock says that it runs: an update that was killed had written it."""
    old = [
        Leaving("east", "ml", f"a-{name}-h100-0a1b2c", "h100", 1, 4, deployment="ml/a", revision="0a1b2c")
        for name in ("decode", "prefill")
    ]
    for nodes, waits in ((1, 1), (2, 0)):
        documents = fleet(_east(h100=nodes), _apart(1))
        planned = plan(documents, Lock())
        for before in (Lock(), planned.lock):
            assert len(waiting(documents, planned, old, before)) == waits


@pytest.mark.parametrize(
    ("nodes", "rollout", "beside"), [(2, "DeleteFirst", False), (4, "DeleteFirst", True), (4, "Surge", True)]
)
def test_the_plan_says_whether_a_new_set_comes_beside_the_old_one(
    nodes: int, rollout: str, beside: bool
) -> None:
    east = _east(h100=nodes)
    apart = plan(fleet(east, _apart(2, prefill=3, rollout=rollout)), Lock()).lock
    (roll,) = plan(fleet(east, _apart(2, rollout=rollout)), apart).rolls
    assert (str(roll.spot), roll.replicas, roll.before, roll.beside) == (
        f"ml/a@{REV} east decode=h100 prefill=h100",
        2,
        tuple(apart.placements),
        beside,
    )
    assert plan(fleet(east, _apart(2, prefill=3, rollout=rollout)), apart).rolls == ()


def test_toggling_prefill_is_a_new_set_either_way() -> None:
    east = _east(h100=4)
    unified, apart = fleet(east, deployment("a", 2, gpus=4)), fleet(east, _apart(2))
    (on,) = plan(apart, plan(unified, Lock()).lock).rolls
    (off,) = plan(unified, plan(apart, Lock()).lock).rolls
    assert [(str(roll.spot), roll.beside) for roll in (on, off)] == [
        (f"ml/a@{REV} east decode=h100 prefill=h100", True),
        ("ml/a east decode=h100", True),
    ]


def test_a_pool_that_holds_no_second_set_is_told_at_the_rollout() -> None:
    east = _east(h100=2)
    before = plan(fleet(east, _apart(2)), Lock()).lock
    (problem,) = plan(fleet(east, _apart(2, rollout="Surge")), before).problems
    assert (problem.path, problem.key, problem.next_step) == (
        "spec.rollout",
        "ml/a",
        "Say who may leave it: inferfleet plan --stack test --write --yield ml/a; or give it more nodes, "
        "lower replicas, or write rollout: DeleteFirst; or, where branches were merged, take the lock of the "
        "branch that yours went to, and run inferfleet plan --stack test --write",
    )
    assert "the room for 4 more that rollout: Surge of ml/a keeps free" in problem.what


def test_a_replica_that_moves_and_changes_its_revision_says_why_it_moves() -> None:
    east, west = _east(h100=2), cluster("west", {"h100": ("h100", 2)})
    before = plan(fleet(east, _apart(1, prefill=3)), Lock()).lock
    drained = cluster("east", {"h100": ("h100", 2)}, state="drained")
    assert [*plan(fleet(drained, west, _apart(1)), before).departure_reasons.values()] == ["drained"]


CORES = {"requests": {"cpu": "10"}}
PROXY = {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "4", "memory": "1Gi"}}}


def test_the_proxy_of_decode_pods_is_counted() -> None:
    document = deployment("a", 1, gpus=4, prefill={**role(4), "proxy": PROXY}, resources=CORES)
    declared = declared_demands(fleet(document)).declared
    counted = [declared[document.metadata.key, of].pod for of in ("decode", "prefill")]
    assert counted == [Pod(4, 12_000, 2**30), Pod(4, 0, 0)]


def test_followers_that_serve_have_a_proxy_that_is_counted_and_others_have_none() -> None:
    for topology, cpu in (
        ({"tensor": 4, "data": 2, "dataLocal": 1}, 12_000),
        ({"tensor": 4, "pipeline": 2}, 10_000),
    ):
        document = deployment("a", 1, topology=topology, prefill={**role(4), "proxy": PROXY}, resources=CORES)
        made = declared_demands(fleet(document)).declared[document.metadata.key, "decode"]
        assert (made.pod.cpu, made.follower and made.follower.cpu) == (12_000, cpu)
