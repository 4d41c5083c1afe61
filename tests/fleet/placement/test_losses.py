"""Replicas that run and find no new place: how many there are, and who is served before whom."""

import pytest
from small_fleet import Document, cluster, deployment, fleet, lock, placed

from inferfleet.fleet.planning import plan

ONE = {"l4": ("l4", 1)}  # a node of four GPUs
WEST = cluster("west", ONE)


def _east(state: str) -> Document:
    return cluster("east", ONE, state=state)


@pytest.mark.parametrize(
    ("east", "wanted", "locked", "missing", "running"),
    [
        pytest.param(
            "active", 9, {"a east/l4": 3, "a west/l4": 4}, 1, 0, id="more wanted than there is room"
        ),
        pytest.param("cordoned", 9, {"a east/l4": 4, "a west/l4": 4}, 1, 0, id="cordoned ones stay"),
        pytest.param("drained", 7, {"a east/l4": 2, "a west/l4": 4}, 1, 0, id="drained ones stay"),
        pytest.param("lost", 9, {"a east/l4": 4, "a west/l4": 4}, 1, 0, id="lost ones count"),
        pytest.param("abandoned", 4, {"a east/l4": 3}, 0, 0, id="all placed elsewhere"),
        pytest.param("abandoned", 6, {"a east/l4": 3, "a west/l4": 2}, 2, 1, id="one of five has no place"),
        pytest.param("abandoned", 6, {"a west/l4": 4}, 2, 0, id="none ran there"),
        pytest.param("abandoned", 4, {"a east/l4": 4, "a west/l4": 4}, 0, 0, id="no longer wanted"),
        pytest.param("abandoned", 5, {"a east/l4": 4, "a west/l4": 4}, 1, 1, id="fewer wanted, not so few"),
    ],
)
def test_replicas_are_lost_where_fewer_run_than_ran_and_are_wanted(
    east: str, wanted: int, locked: dict[str, int], missing: int, running: int
) -> None:
    unplaced = plan(fleet(_east(east), WEST, deployment("a", wanted)), lock(locked)).unplaced
    assert [(one.replicas, one.running) for one in unplaced] == ([(missing, running)] if missing else [])


@pytest.mark.parametrize("had", [2, 1])
def test_a_pool_that_became_too_small_ends_nothing(had: int) -> None:
    planned = plan(fleet(WEST, deployment("a", 8)), lock({"a west/l4": 8}, nodes={"west/l4": had}))
    assert (placed(planned), planned.unplaced) == ({"a west/l4": 8}, ())
    assert "is too small for the replicas" in planned.problems[0].what


def test_who_lost_its_cluster_is_placed_before_who_never_ran_whatever_its_priority() -> None:
    documents = fleet(
        _east("abandoned"), WEST, deployment("ran", 3), deployment("new", 3, priority=9), deployment("old", 1)
    )
    planned = plan(documents, lock({"ran east/l4": 2, "old west/l4": 1}))
    assert placed(planned) == {"new west/l4": 1, "old west/l4": 1, "ran west/l4": 2}
    assert [(one.deployment, one.replicas, one.running) for one in planned.unplaced] == [
        ("ml/new", 2, 0),
        ("ml/ran", 1, 0),
    ]


def test_of_those_that_lost_their_cluster_the_highest_priority_is_placed_first() -> None:
    documents = fleet(_east("abandoned"), WEST, deployment("a", 4), deployment("b", 4, priority=1))
    planned = plan(documents, lock({"a east/l4": 4, "b east/l4": 3}))
    assert placed(planned) == {"a west/l4": 1, "b west/l4": 3}
    assert [(one.deployment, one.replicas, one.running) for one in planned.unplaced] == [
        ("ml/a", 3, 3),
        ("ml/b", 1, 0),
    ]
