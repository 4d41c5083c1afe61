"""The fleets that planning is measured with, and what it is compared with."""

import pytest
from small_fleet import cluster, deployment

from bench.bounds import Bounds
from bench.fleets import CLASSES, fleet
from bench.greedy import greedy
from bench.planner import measured, price_of
from inferfleet.api.documents import Documents
from inferfleet.api.kinds.settings import Settings
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

EMPTY = Lock(stack="bench")


def _two_classes(*replicas: int) -> Documents:
    """Deployments of 4 GPUs, where the cheap class has room for one replica on each of two clusters."""
    clusters = [
        cluster("east", {"a100-8": ("a100-8", 1), "l4-4": ("l4-4", 1)}),
        cluster("west", {"a100-8": ("a100-8", 1), "l4-4": ("l4-4", 1)}),
    ]
    wanted = [deployment(f"d{index}", number, gpus=4) for index, number in enumerate(replicas)]
    return Documents(
        Settings(stack="bench"),
        classes={name: document for name, document in fleet(1, 0).classes.items() if name in CLASSES},
        clusters={document.metadata.name: document for document in clusters},
        deployments={document.metadata.key: document for document in wanted},
    )


def test_a_fleet_is_the_same_for_the_same_seed_and_has_gangs_and_roles() -> None:
    both = [plan(fleet(20, 60, gangs=True, seed=3), EMPTY) for _ in range(2)]
    assert both[0].placements == both[1].placements
    demands = both[0].demands.written
    assert {role for _, role in demands} == {"decode", "encode"}
    assert {needs.gang for needs in demands.values()} == {1, 2, 4}


@pytest.mark.parametrize(
    ("replicas", "placed", "price"),
    [
        ((1,), 1, 4),
        ((1, 1), 2, 8),
        # Two on each cluster: one of them on the dear class, at 15 for four GPUs.
        ((4,), 4, 2 * 4 + 2 * 15),
        ((4, 4), 6, 2 * 4 + 4 * 15),
    ],
)
def test_bound_and_plan_agree_where_the_best_is_known(
    replicas: tuple[int, ...], placed: int, price: float
) -> None:
    documents = _two_classes(*replicas)
    planned = plan(documents, EMPTY)
    bounds = Bounds(documents)
    assert (bounds.placed(), bounds.price(planned)) == (placed, price)
    assert (sum(one.replicas for one in planned.placements), price_of(planned)) == (placed, price)
    assert greedy(documents) == (placed, price)


def test_no_plan_and_no_greedy_exceeds_the_bound() -> None:
    documents = fleet(4, 30, load=1.3, gangs=True, seed=2)
    planned, bounds = plan(documents, EMPTY), Bounds(documents)
    placed = sum(one.replicas for one in planned.placements)
    assert max(placed, greedy(documents)[0]) <= bounds.placed()
    assert bounds.price(planned) <= price_of(planned) + 1e-6


def test_a_measurement_says_what_was_placed_of_the_bound() -> None:
    said = measured(5, 5, 0.7, 1, gangs=True)
    assert said.startswith("5 x 5, load 0.7, seed 1, gangs and roles ")
    assert "moves 0, placed " in said
    assert "= 1.0000 (greedy " in said
