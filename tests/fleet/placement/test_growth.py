"""The work of a plan grows with the fleet, not with its square: counted in calls, alike on every machine."""

import sys
from types import FrameType
from typing import Any

import pytest
from small_fleet import cluster, deployment, fleet, lock

from inferfleet.fleet import plan


def _calls(size: int, spec: dict[str, Any]) -> int:
    """Return the calls of Python functions in a plan of so many clusters and as many deployments."""
    clusters = [
        cluster(
            f"c{number:03}",
            {"a": ("h100", 1), "b": ("l4", 1)},
            labels={"site": f"s{number}", "tier": f"t{number % 3}"},
        )
        for number in range(size)
    ]
    wanted = [deployment(f"d{number:03}", 2, gpus=1 + number % 4, **spec) for number in range(size)]
    documents, calls = fleet(*clusters, *wanted), 0

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        planned = plan(documents, lock({}))
    finally:
        sys.setprofile(before)
    assert planned.unplaced == ()
    return calls


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"spread": {"over": "cluster", "mode": "Prefer"}}, id="preferred spread over clusters"),
        pytest.param(
            {"spread": {"over": "site", "mode": "Require"}}, id="required spread over as many labels"
        ),
        pytest.param({"spread": {"over": "tier", "mode": "Require"}}, id="required spread over three labels"),
        pytest.param({"prefer": [{"pools": ["b"]}]}, id="preferred pools"),
        pytest.param(
            {"prefer": [{"clusterSelector": {"matchLabels": {"site": "s7"}}}]}, id="preferred cluster"
        ),
        pytest.param({"onDemandReplicas": 1, "capacityModels": ["OnDemand", "Spot"]}, id="steady replicas"),
    ],
)
def test_twice_the_clusters_and_deployments_take_twice_the_calls(spec: dict[str, Any]) -> None:
    small, large = _calls(60, spec), _calls(120, spec)
    assert large < 2.5 * small
