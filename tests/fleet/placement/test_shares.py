"""Shares of the fewest replicas: as large as the placement beside the others, one at least."""

import pytest

from inferfleet.fleet.decisions import Placement, shared
from inferfleet.fleet.spot import Spot


def _placements(*sizes: int, deployment: str = "ml/a") -> list[Placement]:
    return [
        Placement(Spot(deployment, f"c{place}", (("decode", "l4"),)), size)
        for place, size in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    ("sizes", "least", "shares"),
    [
        ((4,), 2, [2]),
        ((3, 3), 2, [1, 1]),
        ((3, 3), 3, [2, 1]),
        ((6, 3), 3, [2, 1]),
        # A gateway of each cluster leads to its own pods.
        ((6, 1, 1), 1, [1, 1, 1]),
        ((98, 1, 1), 3, [1, 1, 1]),
        ((98, 1, 1), 10, [8, 1, 1]),
        # Some have no place: those that have one are all that there are.
        ((2, 1), 5, [2, 1]),
        ((2, 2), 4, [2, 2]),
    ],
)
def test_shares_are_as_large_as_placements(sizes: tuple[int, ...], least: int, shares: list[int]) -> None:
    made = list(shared(_placements(*sizes), {"ml/a": least}))
    assert made == [
        Placement(before.spot, before.replicas, share)
        for before, share in zip(_placements(*sizes), shares, strict=True)
    ]


def test_only_what_is_scaled_has_shares() -> None:
    fixed, scaled = _placements(2, deployment="ml/fixed"), _placements(3, deployment="ml/scaled")
    assert list(shared([*fixed, *scaled], {"ml/scaled": 1})) == [*fixed, Placement(scaled[0].spot, 3, 1)]


def test_a_placement_says_how_many_it_has() -> None:
    [fixed] = _placements(3)
    [scaled] = shared([fixed], {"ml/a": 1})
    assert [str(fixed), str(scaled)] == ["3", "1-3"]
