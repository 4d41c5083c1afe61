"""Moves that save something are proposed, and nothing is made worse by them."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from random import Random

import pytest
from small_fleet import Document, class_, cluster, deployment, fleet, gke, lock, placed, quota, role, spot

from inferfleet.api.documents import Documents
from inferfleet.fleet import plan
from inferfleet.fleet.advice.rebalance import Saving, moved, savings
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.capacity import Seen
from inferfleet.fleet.lock.lock import Lock


def _class(name: str, gpus: int, price: str) -> Document:
    known = {"onDemand": price, "currency": "USD", "asOf": "2026-01-01", "source": "a list"}
    return class_(name, gpus, price=known)


CHEAP, DEAR = _class("cheap", 4, "4"), _class("dear", 8, "80")
EAST = cluster("east", {"cheap": ("cheap", 2), "dear": ("dear", 2)})
WEST = cluster("west", {"cheap": ("cheap", 2)})


def _rebalanced(documents: Documents, planned: Plan, most: int = 100) -> tuple[tuple[Saving, ...], Plan]:
    moves = savings(documents, planned, most)
    placements = moved(dict(planned.lock.placements), moves)
    return moves, plan(documents, replace(planned.lock, placements=placements))


def test_a_replica_moves_to_where_it_costs_less() -> None:
    documents = fleet(CHEAP, DEAR, EAST, deployment("a", 1, gpus=2))
    planned = plan(documents, lock({"a east/dear": 1}))
    moves, after = _rebalanced(documents, planned)
    assert moves == (Saving(spot("a east/dear"), spot("a east/cheap"), Decimal("18.00"), "USD", 8 - 4),)
    assert (placed(planned), placed(after)) == ({"a east/dear": 1}, {"a east/cheap": 1})


def test_a_replica_without_gpus_moves_to_where_its_cores_cost_less() -> None:
    def cores(name: str, price: str) -> Document:
        known = {"onDemand": price, "currency": "USD", "asOf": "2026-01-01", "source": "a list"}
        return class_(name, 0, cpu="16", devices=[], price=known)

    east = cluster("east", {"p": ("j", 1), "q": ("k", 1)})
    wanted = deployment("a", 1, accelerator="None", resources={"requests": {"cpu": "12"}})
    documents = fleet(cores("j", "9"), cores("k", "1"), east, wanted)
    planned = plan(documents, lock({"a east/p": 1}))
    moves, after = _rebalanced(documents, planned)
    assert moves == (Saving(spot("a east/p"), spot("a east/q"), Decimal("6.00"), "USD", 0),)
    assert placed(after) == {"a east/q": 1}


def test_replicas_that_cost_the_same_move_together_so_that_nodes_are_empty() -> None:
    documents = fleet(
        CHEAP, cluster("east", {"p": ("cheap", 1), "q": ("cheap", 1)}), deployment("a", 2), deployment("b", 1)
    )
    planned = plan(documents, lock({"a east/p": 2, "b east/q": 1}))
    moves, after = _rebalanced(documents, planned)
    assert moves == (Saving(spot("b east/q"), spot("b east/p"), Decimal("0.00"), "USD", 4),)
    assert placed(after) == {"a east/p": 2, "b east/p": 1}


def test_no_move_makes_the_spread_worse() -> None:
    west = cluster("west", {"dear": ("dear", 2)})
    documents = fleet(CHEAP, DEAR, EAST, west, deployment("a", 2))
    assert savings(documents, plan(documents, lock({"a east/cheap": 1, "a west/dear": 1})), 9) == ()


def test_what_saves_most_comes_first_and_the_number_is_bounded() -> None:
    wanted = [deployment("a", 1, gpus=1), deployment("b", 1, gpus=4)]
    documents = fleet(CHEAP, DEAR, EAST, WEST, *wanted)
    planned = plan(documents, lock({"a east/dear": 1, "b east/dear": 1}))
    assert [move.before.name for move in savings(documents, planned, 1)] == ["b"]
    assert [move.before.name for move in savings(documents, planned, 9)] == ["b", "a"]


@pytest.mark.parametrize("seed", range(25))
def test_after_the_moves_a_plan_moves_nothing_and_loses_no_replica(seed: int) -> None:
    random = Random(seed)
    clusters = [
        cluster(
            f"c{number}", {"cheap": ("cheap", random.randint(1, 3)), "dear": ("dear", random.randint(1, 3))}
        )
        for number in range(4)
    ]
    wanted = [
        deployment(
            f"d{number}",
            random.randint(1, 4),
            gpus=random.choice([1, 2, 4]),
            roles={"encode": role(1)} if random.random() < 0.2 else {},
        )
        for number in range(14)
    ]
    full = plan(fleet(CHEAP, DEAR, *clusters, *wanted), Lock(stack="test"))
    documents = fleet(CHEAP, DEAR, *clusters, *random.sample(wanted, 6))
    planned = plan(documents, full.lock)
    moves, after = _rebalanced(documents, planned)
    assert moves == savings(
        fleet(CHEAP, DEAR, *clusters, *reversed(list(documents.deployments.values()))), planned, 100
    )
    assert all(move.per_hour is not None and move.per_hour >= 0 for move in moves)
    assert all(move.per_hour or move.gpus > 0 for move in moves)
    assert dict(after.lock.placements) == moved(dict(planned.lock.placements), moves)
    assert savings(documents, after, 100) == ()


def test_a_move_to_spot_capacity_saves_what_that_costs_less_where_the_deployment_is_open_to_it() -> None:
    price = {"onDemand": "8", "spot": "2", "currency": "USD", "asOf": "2026-01-01", "source": "a list"}
    both = gke("east", {"d": ("x", 1), "s": ("x", 1)}, models={"s": "Spot"})

    def told(*models: str, **more: object) -> list[tuple[str, Decimal | None]]:
        wanted = deployment("a", 1, gpus=4, capacityModels=models, **more)
        documents = fleet(class_("x", 4, price=price), both, wanted)
        moves = savings(documents, plan(documents, lock({"a east/d": 1})), 9)
        return [(move.after.place, move.per_hour) for move in moves]

    assert told("OnDemand", "Spot") == [("east/s", Decimal("6.00"))]
    assert told("OnDemand") == []
    assert told("OnDemand", "Spot", onDemandReplicas=1) == []
    assert told("OnDemand", "Spot", prefer=[{"pools": ["d"]}]) == []


def test_no_move_takes_more_of_a_quota_than_is_left() -> None:
    def told(running: dict[str, int], **limits: object) -> list[str]:
        wanted = [deployment("a", 1, gpus=2), deployment("b", 1, gpus=2)]
        documents = fleet(CHEAP, DEAR, EAST, *wanted, *([quota(**limits)] if limits else []))
        return [str(move.before) for move in savings(documents, plan(documents, lock(running)), 9)]

    both, one = {"a east/dear": 1, "b east/dear": 1}, {"a east/dear": 1, "b east/cheap": 1}
    assert told(both) == ["ml/a east decode=dear", "ml/b east decode=dear"]
    assert told(both, gpusByClass={"cheap": 2}) == ["ml/a east decode=dear"]
    assert told(one, gpusByClass={"cheap": 2}) == []
    # What a move takes no more of is allowed, also of a quota that is exceeded.
    assert told(one, gpus=1, cost={"perHour": "1", "currency": "USD"}) == ["ml/a east decode=dear"]


def test_no_move_goes_to_nodes_that_were_seen_to_be_cordoned() -> None:
    documents = fleet(CHEAP, DEAR, EAST, deployment("a", 1, gpus=2))
    seen = {("east", "cheap"): Seen(date(2026, 1, 1), 0, held=(4, 4))}
    assert savings(documents, plan(documents, lock({"a east/dear": 1})), 9, seen) == ()
