"""Moves of what runs that make room for others: they are proposed first, and do what is said of them."""

from collections import Counter
from dataclasses import replace
from random import Random

from small_fleet import cluster, deployment, fleet, lock, placed

from inferfleet.api.documents import Documents
from inferfleet.fleet import plan
from inferfleet.fleet.advice.rebalance import moved, savings
from inferfleet.fleet.advice.short import fix_lines, fix_step
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock

EMPTY = Lock(stack="test")
BIG = deployment("big", 1, gpus=8)
SMALL = deployment("small", 1)
LARGE_AND_SMALL = cluster("east", {"h100": ("h100", 1), "l4": ("l4", 1)})


def test_a_move_that_frees_a_node_is_named_before_a_node_that_is_bought() -> None:
    planned = plan(fleet(LARGE_AND_SMALL, BIG, SMALL), lock({"small east/h100": 1}))
    [missing] = planned.unplaced
    assert fix_step(planned.fixes["ml/big"], missing.reasons, planned.ways["ml/big"]) == (
        "Run inferfleet plan --rebalance --write, which moves ml/small from east/h100 to east/l4, places "
        "1 replica and needs no node, or add 1 node to pool east/h100 (its class has no price)"
    )


def _rebalanced(documents: Documents, planned: Plan, most: int = 1000) -> Plan:
    moves = savings(documents, planned, most)
    return plan(documents, replace(planned.lock, placements=moved(dict(planned.lock.placements), moves)))


def test_a_rebalanced_plan_has_the_move_first_and_places_what_it_makes_room_for() -> None:
    documents = fleet(LARGE_AND_SMALL, BIG, SMALL)
    planned = plan(documents, lock({"small east/h100": 1}))
    [move] = savings(documents, planned, 1)
    assert (move.before.place, move.after.place, move.room_for) == ("east/h100", "east/l4", "ml/big")
    assert placed(_rebalanced(documents, planned)) == {"big east/h100": 1, "small east/l4": 1}


def test_no_move_is_proposed_that_a_more_important_deployment_would_profit_from() -> None:
    """The freed node is for the one that is served first."""
    first = deployment("first", 1, gpus=8, priority=1)
    planned = plan(fleet(LARGE_AND_SMALL, BIG, SMALL, first), lock({"small east/h100": 1}))
    assert {name: bool(ways.moves) for name, ways in planned.ways.items()} == {
        "ml/big": False,
        "ml/first": True,
    }


def _crowded(random: Random) -> tuple[Documents, Lock]:
    """Small replicas run where large ones could, and large ones lack a place."""
    sizes = {"h100": 8, "l4": 4}
    clusters = [
        cluster(name, {pool: (pool, random.randint(1, 3)) for pool in sizes}) for name in ("east", "west")
    ]
    free = {
        (one.metadata.name, pool.name): pool.size * sizes[pool.name]
        for one in clusters
        for pool in one.spec.node_pools
    }
    running: Counter[str] = Counter()
    models = []
    for name in "abcd":
        gpus = random.choice([1, 2, 4])
        for place in random.choices(sorted(free), k=random.randint(1, 4)):
            if free[place] >= gpus:
                free[place] -= gpus
                running[f"{name} {'/'.join(place)}"] += 1
        models.append(deployment(name, sum(running[key] for key in running if key[0] == name), gpus=gpus))
    for name in ("large", "other"):
        models.append(deployment(name, random.randint(0, 3), gpus=8, priority=random.randint(0, 1)))
    return fleet(*clusters, *models), lock(dict(running))


def test_after_the_moves_as_many_have_a_place_as_was_said() -> None:
    random, seen = Random(1), 0
    for _ in range(200):
        documents, locked = _crowded(random)
        first = plan(documents, locked)
        ways = {name: way for name, way in first.ways.items() if way.moves}
        before = {one.deployment: one.replicas for one in first.unplaced}
        then = _rebalanced(documents, first)
        after = {one.deployment: one.replicas for one in then.unplaced}
        assert {name for name in ways if after.get(name, 0) > before[name] - ways[name].placed} == set()
        assert set(after) <= set(before)
        seen += bool(ways)
    assert seen > 50


def test_explain_lists_every_move_and_every_change() -> None:
    planned = plan(fleet(LARGE_AND_SMALL, BIG, SMALL), lock({"small east/h100": 1}))
    [missing] = planned.unplaced
    lines = list(fix_lines(planned.fixes["ml/big"], missing.reasons, planned.ways["ml/big"]))
    assert lines[1:] == [
        "  1 replica of ml/small: east/h100 -> east/l4",
        "  east/h100: 1 -> 2 nodes, its class has no price",
    ]


def test_where_everything_has_a_place_there_are_no_ways() -> None:
    planned = plan(fleet(LARGE_AND_SMALL, BIG), EMPTY)
    assert dict(planned.ways) == {}
