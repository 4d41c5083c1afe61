"""Packing: pods of one pool on alike nodes."""

from hypothesis import given
from hypothesis import strategies as st

from inferfleet.fleet.placement.packing import Packing, pack
from inferfleet.fleet.shapes import Node, Pod

EIGHT = Node(gpus=8, cpu=0, memory=0, pods=110)


def _gpus(number: int) -> Pod:
    return Pod(number, 0, 0)


def _left(gpus: int, pods: int) -> Node:
    return Node(gpus, 0, 0, pods)


def test_small_pods_share_a_node_and_whole_nodes_stay_whole() -> None:
    assert pack(EIGHT, 2, {_gpus(1): 2, _gpus(8): 1}) == Packing(((_left(0, 109), 1), (_left(6, 108), 1)), 0)


def test_pods_without_a_node_are_counted() -> None:
    assert pack(EIGHT, 2, {_gpus(8): 1, _gpus(5): 3}).left == 2


def test_a_pool_without_nodes_holds_nothing() -> None:
    assert pack(EIGHT, 0, {_gpus(1): 1}) == Packing((), 1)
    assert pack(EIGHT, 0, {}).holds


def test_cores_memory_and_pods_limit_a_node_too() -> None:
    node = Node(gpus=8, cpu=16_000, memory=64, pods=3)
    assert [pack(node, 1, {pod: 4}).left for pod in (Pod(1, 8_000, 0), Pod(1, 0, 32), Pod(1, 0, 0))] == [
        2,
        2,
        1,
    ]


def test_room_is_what_more_pods_find_beside_those_that_stand() -> None:
    assert pack(EIGHT, 2, {_gpus(3): 1}).room(_gpus(4)) == 3


def test_a_large_pool_costs_what_a_small_one_does() -> None:
    assert pack(EIGHT, 15_000, {_gpus(1): 100_000, _gpus(8): 2_500}).holds


@given(st.integers(0, 6), st.dictionaries(st.sampled_from([1, 2, 4, 8]), st.integers(1, 20), max_size=4))
def test_sizes_that_divide_each_other_pack_perfectly(nodes: int, pods: dict[int, int]) -> None:
    packing = pack(EIGHT, nodes, {_gpus(size): number for size, number in pods.items()})
    asked = sum(size * number for size, number in pods.items())
    assert packing.holds == (asked <= nodes * 8)
    assert sum(count for _, count in packing.free) == nodes
    assert all(node.gpus >= 0 and node.pods >= 0 for node, _ in packing.free)
