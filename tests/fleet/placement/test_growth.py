"""The work of a plan grows with the fleet, not with its square: counted in calls, alike on every machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from small_fleet import cluster, deployment, fleet, lock, service

from inferfleet.fleet.names import DEPLOYMENT
from inferfleet.fleet.planning import plan


def _calls(size: int, spec: dict[str, Any]) -> int:
    """Return the calls of Python functions in a plan of so many clusters, and as many deployments with a
    service each.
    """
    clusters = [
        cluster(
            f"c{number:03}",
            {"a": ("h100", 1), "b": ("l4", 1)},
            labels={"site": f"s{number}", "tier": f"t{number % 3}"},
        )
        for number in range(size)
    ]
    wanted = [deployment(f"d{number:03}", 2, gpus=1 + number % 4, **spec) for number in range(size)]
    services = [service(f"s{number:03}", (1, {DEPLOYMENT: f"d{number:03}"})) for number in range(size)]
    documents = fleet(*clusters, *wanted, *services)

    def planned() -> None:
        assert plan(documents, lock({})).unplaced == ()

    return _counted(planned)


def _counted(work: Callable[[], object]) -> int:
    """Return the calls of Python functions that some work makes."""
    calls = 0

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
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


def test_twice_the_deployments_without_a_place_on_twice_the_clusters_take_twice_the_calls() -> None:
    """They ask the same, so that room for them is looked for once, and nodes for them are priced once."""

    def of_full(size: int) -> int:
        clusters = [cluster(f"c{number:03}", {"a": ("h100", 1)}) for number in range(size)]
        documents = fleet(*clusters, *(deployment(f"d{number:03}", 3, gpus=8) for number in range(size)))

        def told() -> None:
            planned = plan(documents, lock({}))
            assert all(planned.fixes[missing.deployment] for missing in planned.unplaced[:20])

        return _counted(told)

    small, large = of_full(60), of_full(120)
    assert large < 3 * small
