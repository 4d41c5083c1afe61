"""The fleets that planning is measured with, and what it is compared with."""

import re

import pytest
from small_fleet import cluster, deployment

from bench.bounds import Bounds
from bench.fleets import CLASSES, Kind, fleet
from bench.greedy import greedy
from bench.planner import by_cluster, measured, price_of
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.settings import Settings
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


def test_a_fleet_is_the_same_for_the_same_seed_and_has_gangs_roles_and_pairs() -> None:
    both = [plan(fleet(20, 60, kind="gangs", seed=3), EMPTY) for _ in range(2)]
    assert both[0].placements == both[1].placements
    demands = both[0].demands.declared
    assert {role for _, role in demands} == {"decode", "encode", "prefill"}
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
    assert (bounds.placed(), bounds.price(by_cluster(planned))) == (placed, price)
    assert (sum(one.replicas for one in planned.placements), price_of(planned)) == (placed, price)
    there, price_of_greedy = greedy(documents)
    assert (sum(counts.total() for counts in there.values()), price_of_greedy) == (placed, price)


@pytest.mark.parametrize("kind", ["gangs", "cores"])
def test_no_plan_exceeds_the_bound(kind: Kind) -> None:
    documents = fleet(4, 30, load=1.3, kind=kind, seed=2)
    planned, bounds = plan(documents, EMPTY), Bounds(documents)
    assert sum(one.replicas for one in planned.placements) <= bounds.placed()
    assert bounds.price(by_cluster(planned)) <= price_of(planned) + 1e-6


def test_no_greedy_exceeds_the_bound() -> None:
    documents = fleet(4, 30, load=1.3, kind="gangs", seed=2)
    bounds, (there, price) = Bounds(documents), greedy(documents)
    assert sum(counts.total() for counts in there.values()) <= bounds.placed()
    assert bounds.price(there) <= price + 1e-6


def test_where_cores_run_out_there_are_gpus_left() -> None:
    documents = fleet(4, 60, load=1.0, kind="cores", seed=2)
    planned = plan(documents, EMPTY)
    assert planned.unplaced
    gpus = sum(
        CLASSES[pool.class_name][0] * pool.size
        for cluster_ in documents.clusters.values()
        for pool in cluster_.spec.node_pools
    )
    asked = planned.demands.declared
    held = sum(one.replicas * asked[one.spot.deployment, "decode"].gpus for one in planned.placements)
    assert held < 0.9 * gpus


def test_a_measurement_says_what_plan_and_greedy_placed_of_the_bound_at_which_price_and_spread() -> None:
    said = measured(5, 5, 0.7, 1, kind="gangs")
    assert said.startswith("5 x 5, load 0.7, seed 1, gangs ")
    held = r"placed (\d+)/\1 = 1\.0000, price \d\.\d{4} of the least, shared \d+"
    assert re.search(f"moves 0; {held}; greedy placed", said)
    assert "greedy" not in measured(5, 5, 0.7, 1, kind="cores")
