"""A replica finds a place by long chains of moves of others that are new, wherever there is a way."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_fleet import Document, class_, cluster, deployment, fleet, lock, placed

from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.fleet.placement import exchange
from inferfleet.fleet.planning import plan

EMPTY = lock({})


def _by_clusters(names: list[str]) -> list[Document]:
    """Each may run on a cluster and the one before, the first on its own alone; so do those below."""
    return [
        document
        for index, name in enumerate(names)
        for document in (
            cluster(f"c{index}", {"p": ("h100", 1)}, labels={f"k{index}": "x", f"k{index + 1}": "x"}),
            deployment(name, 1, gpus=8, selector={f"k{index}": "x"}),
        )
    ]


def _by_pools(names: list[str]) -> list[Document]:
    east = cluster("east", {f"p{index}": ("h100", 1) for index in range(len(names))})
    raw = east.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)
    for index, pool in enumerate(raw["spec"]["nodePools"]):
        pool["nodeSelector"] = {f"k{index}": "x", f"k{index + 1}": "x"}
    selected = [
        deployment(name, 1, gpus=8, poolSelector={"matchLabels": {f"k{index}": "x"}})
        for index, name in enumerate(names)
    ]
    return [InferenceCluster.model_validate(raw), *selected]


def _by_classes(names: list[str]) -> list[Document]:
    """The classes have 10Gi, 11Gi, ... of memory."""
    memory = "capacity['gpu.nvidia.com/memory']"
    east = cluster("east", {f"p{index}": (f"k{index}", 1) for index in range(len(names))})
    own = [
        document
        for index, name in enumerate(names)
        for document in (
            class_(f"k{index}", 8, memory=f"{10 + index}Gi"),
            deployment(
                name,
                1,
                gpus=8,
                cel=f"{memory}.compareTo(quantity('{9 + index}Gi')) >= 0 && "
                f"{memory}.compareTo(quantity('{10 + index}Gi')) <= 0",
            ),
        )
    ]
    return [east, *own]


@pytest.mark.parametrize("order", ["by name", "against names", "mixed"])
@pytest.mark.parametrize("made", [_by_clusters, _by_pools, _by_classes])
def test_a_chain_of_twenty_nodes_with_one_way_to_use_them_all_is_full(
    made: Callable[[list[str]], list[Document]], order: str
) -> None:
    names = [f"d{number:02}" for number in range(20)]
    if order == "against names":
        names.reverse()
    if order == "mixed":
        Random(1).shuffle(names)
    assert plan(fleet(*made(names)), EMPTY).unplaced == ()


def test_who_may_run_on_few_of_the_nodes_that_it_selects_chooses_first() -> None:
    """Of the whole fleet the class of both has as many nodes."""
    here, there = cluster("a", {"p": ("h100", 1)}, labels={"tier": "x"}), cluster("b", {"p": ("h100", 1)})
    wanted = deployment("a", 1, gpus=8), deployment("b", 1, gpus=8, selector={"tier": "x"})
    assert placed(plan(fleet(here, there, *wanted), EMPTY)) == {"a b/p": 1, "b a/p": 1}


def _matched(ways: list[set[int]]) -> int:
    """Return how many of these can each have one of their nodes, by augmenting paths (Kuhn 1955)."""
    taken: dict[int, int] = {}

    def found(which: int, passed: set[int]) -> bool:
        for node in sorted(ways[which] - passed):
            passed.add(node)
            if node not in taken or found(taken[node], passed):
                taken[node] = which
                return True
        return False

    return sum(found(which, set()) for which in range(len(ways)))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=3), min_size=1, max_size=14))
def test_of_replicas_that_take_whole_nodes_as_many_as_possible_have_a_place(ways: list[set[int]]) -> None:
    clusters = [
        cluster(
            f"c{node}",
            {"p": ("h100", 1)},
            labels={f"k{which}": "x" for which, nodes in enumerate(ways) if node in nodes},
        )
        for node in range(12)
    ]
    wanted = [deployment(f"d{which}", 1, gpus=8, selector={f"k{which}": "x"}) for which in range(len(ways))]
    planned = plan(fleet(*clusters, *wanted), EMPTY)
    assert sum(placed(planned).values()) == _matched(ways)


def test_a_plan_says_when_moves_among_new_replicas_were_tried_as_often_as_it_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    documents = fleet(*_by_clusters(["a", "c", "b"]))
    ended = "moves among new replicas were tried as often as one plan may"

    def told() -> list[str]:
        return [problem.severity for problem in plan(documents, EMPTY).problems if ended in problem.what]

    assert told() == []
    monkeypatch.setattr(exchange, "_TRIES", 0)
    monkeypatch.setattr(exchange, "_CHAIN_STEPS", 0)
    assert told() == ["notice"]
