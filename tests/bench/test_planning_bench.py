"""The fleets that planning is measured with."""

from bench.fleets import fleet
from bench.planning import measured
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan


def test_a_fleet_is_the_same_for_the_same_seed_and_has_gangs_and_roles() -> None:
    both = [plan(fleet(20, 60, gangs=True, seed=3), Lock(stack="bench")) for _ in range(2)]
    assert both[0].placements == both[1].placements
    demands = both[0].demands.written
    assert {role for _, role in demands} == {"decode", "encode"}
    assert {needs.gang for needs in demands.values()} == {1, 2, 4}


def test_a_measurement_says_what_was_placed() -> None:
    said = measured(5, 5, 0.7, True)
    assert said.startswith("5 x 5, load 0.7, gangs and roles ")
    assert "placed" in said
    assert "moves" not in said
