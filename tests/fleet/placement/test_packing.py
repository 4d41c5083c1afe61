"""Packing: pods of one pool on alike nodes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from inferfleet.fleet.placement.packing import Gang, Packing, pack
from inferfleet.fleet.shapes import Node, Pod

EIGHT = Node(gpus=8, cpu=0, memory=0, pods=110)


def _gpus(number: int) -> Pod:
    return Pod(number, 0, 0)


def _left(gpus: int, pods: int) -> Node:
    return Node(gpus, 0, 0, pods)


def test_small_pods_share_a_node_and_whole_nodes_stay_whole() -> None:
    assert pack(EIGHT, 2, {_gpus(1): 2, _gpus(8): 1}) == Packing(((_left(0, 109), 1), (_left(6, 108), 1)), 0)


def test_pods_without_a_node_are_counted() -> None:
    assert pack(EIGHT, 2, {_gpus(8): 1, _gpus(5): 3}).unplaced_pods == 2


def test_a_pool_without_nodes_holds_nothing() -> None:
    assert pack(EIGHT, 0, {_gpus(1): 1}) == Packing((), 1)
    assert pack(EIGHT, 0, {}).holds


def test_cores_memory_and_pods_limit_a_node_too() -> None:
    node = Node(gpus=8, cpu=16_000, memory=64, pods=3)
    assert [
        pack(node, 1, {pod: 4}).unplaced_pods for pod in (Pod(1, 8_000, 0), Pod(1, 0, 32), Pod(1, 0, 0))
    ] == [
        2,
        2,
        1,
    ]


def test_huge_pages_limit_a_node_beside_its_memory() -> None:
    node = Node(gpus=8, cpu=0, memory=64, pods=110, huge_2mi=8, huge_1gi=4)
    asking = (Pod(1, 0, 0, huge_2mi=4), Pod(1, 0, 0, huge_1gi=4), Pod(1, 0, 0, huge_2mi=16))
    assert [pack(node, 1, {pod: 4}).unplaced_pods for pod in asking] == [2, 3, 4]
    assert pack(node, 1, {Pod(1, 0, 8, 4, 1): 2}).free == ((Node(6, 0, 48, 108, 0, 2), 1),)


def test_a_large_pool_costs_what_a_small_one_does() -> None:
    assert pack(EIGHT, 15_000, {_gpus(1): 100_000, _gpus(8): 2_500}).holds


@given(st.integers(0, 6), st.dictionaries(st.sampled_from([1, 2, 4, 8]), st.integers(1, 20), max_size=4))
def test_sizes_that_divide_each_other_pack_perfectly(nodes: int, pods: dict[int, int]) -> None:
    packing = pack(EIGHT, nodes, {_gpus(size): number for size, number in pods.items()})
    asked = sum(size * number for size, number in pods.items())
    assert packing.holds == (asked <= nodes * 8)
    assert sum(count for _, count in packing.free) == nodes
    assert all(node.gpus >= 0 and node.pods >= 0 for node, _ in packing.free)


def _possible(nodes: list[int], left: list[int]) -> bool:
    """Whether pods of these sizes fit on the nodes, by trying everything."""
    if not left:
        return True
    tried = set()
    for index, free in enumerate(nodes):
        if free >= left[0] and free not in tried:
            tried.add(free)
            if _possible([*nodes[:index], free - left[0], *nodes[index + 1 :]], left[1:]):
                return True
    return False


@given(st.integers(1, 3), st.lists(st.integers(1, 9), max_size=9))
def test_whatever_fits_in_any_way_is_found(nodes: int, sizes: list[int]) -> None:
    ten = Node(gpus=10, cpu=0, memory=0, pods=110)
    pods = {_gpus(size): sizes.count(size) for size in sizes}
    packing = pack(ten, nodes, pods)
    assert packing.certain
    assert packing.holds == _possible([10] * nodes, sorted(sizes, reverse=True))
    if packing.holds:
        assert sum(node.gpus * count for node, count in packing.free) == 10 * nodes - sum(sizes)


def _gang(entry: int, follower: int, size: int, workers: int) -> Gang:
    return Gang(_gpus(entry), _gpus(follower), size, workers)


def test_pods_of_one_worker_share_no_node_and_those_of_two_do() -> None:
    assert [pack(EIGHT, nodes, {}, [_gang(2, 2, 3, 1)]).unplaced_pods for nodes in (2, 3)] == [1, 0]
    assert [pack(EIGHT, nodes, {}, [_gang(4, 4, 2, 2)]).unplaced_pods for nodes in (1, 2)] == [2, 0]
    assert pack(EIGHT, 3, {_gpus(8): 1}, [_gang(2, 2, 3, 1)]).unplaced_pods > 0


def test_a_gang_stands_beside_other_pods() -> None:
    packing = pack(EIGHT, 2, {_gpus(4): 2}, [_gang(4, 2, 2, 1)])
    assert packing.free == ((_left(0, 108), 1), (_left(2, 108), 1))


def _apart(nodes: list[int], workers: list[list[int]]) -> bool:
    """Whether workers fit, each pod on another node than its siblings, by trying everything."""
    if not workers:
        return True
    first, *others = workers

    def put(rest: list[int], free: list[int], used: frozenset[int]) -> bool:
        if not rest:
            return _apart(free, others)
        return any(
            put(rest[1:], [*free[:index], has - rest[0], *free[index + 1 :]], used | {index})
            for index, has in enumerate(free)
            if index not in used and has >= rest[0]
        )

    return put(first, nodes, frozenset())


@settings(deadline=None)
@given(
    st.integers(1, 4),
    st.lists(st.integers(1, 8), max_size=3),
    st.tuples(st.integers(1, 8), st.integers(1, 8), st.integers(2, 3), st.integers(1, 2)),
)
def test_gangs_fit_where_any_way_puts_each_pod_on_a_node_of_its_own(
    nodes: int, singles: list[int], gang: tuple[int, int, int, int]
) -> None:
    entry, follower, size, workers = gang
    packing = pack(EIGHT, nodes, {_gpus(one): singles.count(one) for one in singles}, [_gang(*gang)])
    wanted = [[entry, *[follower] * (size - 1)] for _ in range(workers)] + [[one] for one in singles]
    assert (packing.certain, packing.holds) == (True, _apart([8] * nodes, wanted))
