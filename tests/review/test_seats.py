"""How the nodes of a pool seem filled: as the planner's first attempt fills them, with names."""

from inferfleet.fleet.decisions import Placement
from inferfleet.fleet.demands import Demand, Demands
from inferfleet.fleet.shapes import Node, Pod
from inferfleet.fleet.spot import Spot
from inferfleet.review.picture import AlikeNodes, Seat, roles_on_pools, seated

NODE = Node(4, 48_000, 1_000, 110)
POOL = ("east", "l4")


def _demands(**of: Demand) -> Demands:
    return Demands({(f"ml/{name}", "decode"): demand for name, demand in of.items()})


def _pod(gpus: int) -> Pod:
    return Pod(gpus, 1_000, 10)


def test_large_pods_come_first_and_small_ones_onto_the_fullest_node() -> None:
    demands = _demands(large=Demand(_pod(3), 1, 0), small=Demand(_pod(1), 1, 0))
    made = seated(POOL, NODE, 4, {("ml/small", "decode"): 2, ("ml/large", "decode"): 2}, demands)
    both = (Seat("ml/large", "decode", 3, False, 1), Seat("ml/small", "decode", 1, False, 1))
    assert made == ((AlikeNodes(2, both, 0), AlikeNodes(2, (), 4)), 0)


def test_room_for_a_rollout_is_no_pod() -> None:
    made = seated(POOL, NODE, 1, {("ml/x", "decode"): 1}, _demands(x=Demand(_pod(2), 1, 1)))
    seats = (Seat("ml/x", "decode", 2, False, 1), Seat("ml/x", "decode", 2, True, 1))
    assert made == ((AlikeNodes(1, seats, 0),), 0)


def test_no_two_pods_of_a_worker_share_a_node() -> None:
    made = seated(POOL, NODE, 2, {("ml/x", "decode"): 1}, _demands(x=Demand(_pod(2), 2, 0, gang=2)))
    assert made == ((AlikeNodes(2, (Seat("ml/x", "decode", 2, False, 1),), 2),), 0)


def test_pods_that_find_no_node_are_counted() -> None:
    made = seated(POOL, NODE, 1, {("ml/x", "decode"): 3}, _demands(x=Demand(_pod(3), 1, 0)))
    assert made == ((AlikeNodes(1, (Seat("ml/x", "decode", 3, False, 1),), 1),), 2)


def test_a_pool_without_nodes_has_none() -> None:
    assert seated(POOL, NODE, 0, {}, Demands()) == ((), 0)


def test_replicas_that_no_document_asks_for_are_left_out() -> None:
    known, gone = (Placement(Spot(f"ml/{name}", "east", (("decode", "l4"),)), 2) for name in ("x", "gone"))
    demands = _demands(x=Demand(_pod(1), 1, 0))
    assert roles_on_pools([known, gone], demands) == {POOL: {("ml/x", "decode"): 2}}
