"""Where new replicas go: what is cheap and what is scarce, who waits, and what makes room for whom."""

from typing import Any

import pytest
from small_fleet import Document, class_, cluster, deployment, fleet, lock, placed

from inferfleet.fleet.placement.space import RoleReplicas, Space
from inferfleet.fleet.planning import plan

EMPTY = lock({})


def _priced(
    name: str, gpus: int, price: str | None, *, memory: str = "80Gi", currency: str = "USD"
) -> Document:
    known = {"onDemand": price, "currency": currency, "asOf": "2026-04-14", "source": "a list"}
    return class_(name, gpus, memory=memory, **({"price": known} if price else {}))


def _at_least(memory: str) -> str:
    return f"capacity['gpu.nvidia.com/memory'].compareTo(quantity('{memory}')) >= 0"


def _placed(*documents: Document, locked: dict[str, int] | None = None) -> dict[str, int]:
    return placed(plan(fleet(*documents), lock(locked or {})))


def test_clusters_are_spread_over_before_prices_are_compared() -> None:
    cheap, dear = _priced("cheap", 8, "8"), _priced("dear", 8, "80")
    east, west = cluster("east", {"p": ("dear", 1)}), cluster("west", {"p": ("cheap", 1)})
    assert _placed(cheap, dear, east, west, deployment("a", 3)) == {"a east/p": 1, "a west/p": 2}


def test_what_may_run_on_few_nodes_chooses_before_what_may_run_on_many() -> None:
    b200, h100 = class_("b200", 8, memory="180Gi"), class_("h100", 8)
    east = cluster("east", {"b": ("b200", 1), "h": ("h100", 1)})
    wanted = [
        deployment("a", 1, gpus=8, cel=_at_least("75Gi")),
        deployment("b", 1, gpus=8, cel=_at_least("141Gi")),
    ]
    assert _placed(b200, h100, east, *wanted) == {"a east/h": 1, "b east/b": 1}


def test_a_new_replica_makes_room_for_one_that_finds_none() -> None:
    """The larger one chooses first and takes the cheap class, which is the only one of the smaller."""
    cheap, dear = _priced("cheap", 8, "8", memory="180Gi"), _priced("dear", 8, "80")
    east = cluster("east", {"c": ("cheap", 1), "d": ("dear", 1)})
    wanted = [deployment("a", 1, gpus=8), deployment("b", 1, gpus=4, cel=_at_least("141Gi"))]
    assert _placed(cheap, dear, east, *wanted) == {"a east/d": 1, "b east/c": 1}


def test_new_replicas_move_one_after_another_to_make_room() -> None:
    classes = [_priced(f"k{n}", 8, str(8 * n), memory=f"{100 - 10 * n}Gi") for n in (1, 2, 3)]
    east = cluster("east", {f"p{n}": (f"k{n}", 1) for n in (1, 2, 3)})
    wanted = [
        deployment("x", 1, gpus=8),
        deployment("y", 1, gpus=7, cel=_at_least("80Gi")),
        deployment("z", 1, gpus=6, cel=_at_least("90Gi")),
    ]
    assert _placed(*classes, east, *wanted) == {"x east/p3": 1, "y east/p2": 1, "z east/p1": 1}


def test_a_replica_that_runs_makes_no_room() -> None:
    cheap, dear = _priced("cheap", 8, "8", memory="180Gi"), _priced("dear", 8, "80")
    east = cluster("east", {"c": ("cheap", 1), "d": ("dear", 1)})
    wanted = [deployment("a", 1, gpus=8), deployment("b", 1, gpus=4, cel=_at_least("141Gi"))]
    assert _placed(cheap, dear, east, *wanted, locked={"a east/c": 1}) == {"a east/c": 1}


def test_where_not_all_have_room_deployments_take_turns() -> None:
    east = cluster("east", {"h100": ("h100", 4)})
    wanted = [deployment("a-scratch", 6, gpus=8), deployment("prod-chat", 2, gpus=8)]
    assert _placed(east, *wanted) == {"a-scratch east/h100": 2, "prod-chat east/h100": 2}


def test_a_higher_priority_is_served_first() -> None:
    east = cluster("east", {"h100": ("h100", 4)})
    wanted = [
        deployment("a-scratch", 6, gpus=4, priority=-1),
        deployment("b", 1, gpus=8),
        deployment("prod-chat", 3, gpus=8, priority=5),
    ]
    assert _placed(east, *wanted) == {"b east/h100": 1, "prod-chat east/h100": 3}


def test_where_all_have_room_the_priority_changes_nothing() -> None:
    """The scarce shape chooses first, though another one has the priority."""
    east = cluster("east", {"h100": ("h100", 1), "l4": ("l4", 1)})
    wanted = [deployment("a", 4, priority=9), deployment("big", 1, gpus=8)]
    assert _placed(east, *wanted) == {"a east/l4": 4, "big east/h100": 1}


def test_a_higher_priority_ends_and_moves_no_replica_that_runs() -> None:
    east = cluster("east", {"h100": ("h100", 1), "l4": ("l4", 1)})
    wanted = [deployment("low", 1), deployment("high", 1, gpus=8, priority=100)]
    running = {"low east/h100": 1}
    assert _placed(east, *wanted, locked=running) == running


def test_a_new_replica_of_low_priority_makes_room_where_it_has_another_place() -> None:
    cheap, dear = _priced("cheap", 8, "8", memory="180Gi"), _priced("dear", 8, "80")
    east = cluster("east", {"c": ("cheap", 1), "d": ("dear", 1)})
    wanted = [
        deployment("first", 1, gpus=8, priority=1),
        deployment("second", 1, gpus=4, cel=_at_least("141Gi")),
        deployment("third", 2, gpus=4, priority=-1),
    ]
    assert _placed(cheap, dear, east, *wanted) == {"first east/d": 1, "second east/c": 1, "third east/c": 1}


def test_as_many_replicas_as_possible_have_a_place() -> None:
    east = cluster("east", {"h100": ("h100", 1)})
    wanted = [deployment("large", 1, gpus=8), deployment("medium", 2, gpus=2), deployment("small", 4)]
    assert _placed(east, *wanted) == {"medium east/h100": 2, "small east/h100": 4}


def test_a_model_that_needs_little_memory_takes_no_large_gpu() -> None:
    l4, h200 = _priced("small", 4, "4", memory="24Gi"), _priced("large", 8, "80", memory="141Gi")
    east = cluster("east", {"a": ("large", 1), "b": ("small", 1)})
    assert _placed(l4, h200, east, deployment("x", 1, cel=_at_least("20Gi"))) == {"x east/b": 1}


def _three_prices() -> list[Document]:
    """The larger of two deployments chooses first: the cheap class, which the smaller one needs more."""
    return [
        _priced("cheap", 8, "8"),
        _priced("medium", 8, "16", memory="40Gi"),
        _priced("dear", 8, "80"),
        cluster("east", {"c": ("cheap", 1), "d": ("dear", 1), "m": ("medium", 1)}),
        deployment("x", 1, gpus=8),
        deployment("y", 1, gpus=4, cel=_at_least("80Gi")),
    ]


def test_new_replicas_change_places_where_both_cost_less() -> None:
    assert _placed(*_three_prices()) == {"x east/m": 1, "y east/c": 1}


def test_a_replica_that_runs_changes_no_place_to_save_cost() -> None:
    assert _placed(*_three_prices(), locked={"x east/c": 1}) == {"x east/c": 1, "y east/d": 1}


def test_no_deployment_is_spread_over_fewer_clusters_to_save_cost() -> None:
    cheap, dear = _priced("cheap", 8, "8"), _priced("dear", 8, "80")
    east, west = cluster("east", {"p": ("dear", 2)}), cluster("west", {"p": ("cheap", 2)})
    placements = _placed(cheap, dear, east, west, deployment("a", 2, gpus=4), deployment("b", 2, gpus=4))
    assert placements == {"a east/p": 1, "a west/p": 1, "b east/p": 1, "b west/p": 1}


def test_classes_without_a_price_save_nothing() -> None:
    """Nor does the larger replica leave the pool that it chose first."""
    classes = [_priced("j", 4, None), _priced("k", 8, None)]
    east = cluster("east", {"j": ("j", 1), "k": ("k", 1)})
    assert _placed(*classes, east, deployment("x", 1, gpus=4), deployment("y", 1)) == {
        "x east/j": 1,
        "y east/k": 1,
    }


def test_a_small_replica_leaves_the_only_large_node_to_a_large_one() -> None:
    east = cluster("east", {"h100": ("h100", 1), "l4": ("l4", 1)})
    wanted = [deployment("a", 4), deployment("big", 1, gpus=8)]
    assert _placed(east, *wanted) == {"a east/l4": 4, "big east/h100": 1}


def test_pods_that_the_largest_first_rule_would_leave_over_are_placed() -> None:
    """Largest first has 5 4 and 3 3 3 on two nodes of ten, and no room for 2; 5 3 2 and 4 3 3 fill them."""
    ten = class_("ten", 10)
    east = cluster("east", {"p": ("ten", 2)})
    sizes = {"a": (5, 1), "b": (4, 1), "c": (3, 3), "d": (2, 1)}
    wanted = [deployment(name, number, gpus=size) for name, (size, number) in sizes.items()]
    assert sum(_placed(ten, east, *wanted).values()) == 6


def test_fewer_replicas_of_one_move_no_other_and_are_no_problem() -> None:
    """Six pods that fill two nodes of ten exactly, as 5 3 2 and 4 3 3."""
    ten = class_("ten", 10)
    east = cluster("east", {"p": ("ten", 2)})
    sizes = {"a": (5, 1), "b": (4, 1), "c": (3, 3), "d": (2, 1)}
    running = {f"{name} east/p": number for name, (_, number) in sizes.items()}
    for fewer in sizes:
        wanted = [
            deployment(name, number - (name == fewer), gpus=size) for name, (size, number) in sizes.items()
        ]
        planned = plan(fleet(ten, east, *wanted), lock(running))
        left = {spot: number - spot.startswith(f"{fewer} ") for spot, number in running.items()}
        assert (placed(planned), planned.problems) == ({s: n for s, n in left.items() if n}, ())


def test_a_larger_fleet_is_not_looked_at_pool_by_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    original = Space.fits

    def counted(self: Space, *added: RoleReplicas) -> bool:
        looks.append(self.key[0])
        return original(self, *added)

    monkeypatch.setattr(Space, "fits", counted)
    wanted = [deployment(f"d{number}", 3, gpus=1 + number % 8) for number in range(40)]
    for clusters in (60, 600):
        looks.clear()
        pools = [cluster(f"c{number}", {"a": ("h100", 2), "b": ("l4", 1)}) for number in range(clusters)]
        assert plan(fleet(*pools, *wanted), EMPTY).unplaced == ()
        assert len(looks) < 2 * 3 * len(wanted)


@pytest.mark.parametrize("clusters", [2, 16, 17])
def test_cores_are_filled_up_first_however_many_clusters_there_are(clusters: int) -> None:
    names = [f"c{number:02}" for number in range(clusters)]
    all_ = [cluster(name, {"cpu": ("cores", 1)}, labels={"name": name}) for name in names]
    cores = class_("cores", 0, cpu="60", devices=[])
    big = _on_cores("a-big", "40", selector={"name": names[-1]})
    assert _placed(cores, *all_, big, _on_cores("b-small", "20")) == {
        f"a-big {names[-1]}/cpu": 1,
        f"b-small {names[-1]}/cpu": 1,
    }


def _on_cores(name: str, cpu: str, **spec: Any) -> Document:
    return deployment(name, 1, accelerator="None", resources={"requests": {"cpu": cpu}}, **spec)
