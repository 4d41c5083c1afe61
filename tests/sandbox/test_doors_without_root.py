"""Where pods of InferenceGateways cannot have networks of their own, `up` says what will not start."""

from pathlib import Path

import pytest

from sandbox.clusters import without_own_networks
from sandbox.plans import ClusterPlan

HUB = ClusterPlan("hub", Path("hub"), "hub", (), (), front_doors=("eg",))
EAST = ClusterPlan("east", Path("east"), "east", (), ())


@pytest.mark.parametrize(
    ("plans", "allowed", "named"),
    [((HUB, EAST), False, "those on hub do not start"), ((HUB, EAST), True, ""), ((EAST,), False, "")],
)
def test_gateways_that_cannot_start_are_named(
    plans: tuple[ClusterPlan, ...], allowed: bool, named: str
) -> None:
    told = without_own_networks(plans, allowed=allowed)
    assert named in told
    assert bool(told) == bool(named)
