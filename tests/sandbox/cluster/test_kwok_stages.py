"""kwok makes pods ready that nobody runs, and leaves the others to the agent."""

from typing import Any

import pytest

from sandbox.cluster.kwok_stages import CONTROLLERS, FRONT_DOOR_PROGRAMS, SUITE_SERVERS, kwok_stages

CONTAINERS = '.spec.containers.[] | .name, .image, (.image | sub(":[^:/]*$"; ""))'
AGENT_CONTAINERS = [
    "engine",
    "fill",
    "epp",
    "istio-proxy",
    *SUITE_SERVERS,
    *CONTROLLERS,
    *FRONT_DOOR_PROGRAMS,
]


def _of(kind: str) -> dict[str, dict[str, Any]]:
    stages = [stage for stage in kwok_stages() if stage["spec"]["resourceRef"]["kind"] == kind]
    return {stage["metadata"]["name"]: stage["spec"] for stage in stages}


@pytest.mark.parametrize("name", ["pod-ready", "pod-complete", "pod-delete"])
def test_readiness_and_deletion_of_pods_that_really_run_are_not_kwok_s(name: str) -> None:
    requirements = _of("Pod")[name]["selector"]["matchExpressions"]
    assert {"key": CONTAINERS, "operator": "NotIn", "values": AGENT_CONTAINERS} in requirements


def test_of_pods_that_really_run_kwok_sets_the_address_and_nothing_else() -> None:
    spec = _of("Pod")["pod-address"]
    assert {"key": CONTAINERS, "operator": "In", "values": AGENT_CONTAINERS} in spec["selector"][
        "matchExpressions"
    ]
    said = spec["next"]["statusTemplate"]
    assert "podIP:" in said
    assert not any(word in said for word in ("phase", "conditions", "containerStatuses"))


@pytest.mark.parametrize("name", ["pod-address-kept", "pod-ready-kept"])
def test_a_kwok_that_was_started_again_sees_addresses_in_use_and_changes_nothing(name: str) -> None:
    spec = _of("Pod")[name]
    assert {"key": ".status.podIP", "operator": "Exists"} in spec["selector"]["matchExpressions"]
    assert spec["next"]["statusTemplate"].split() == ["podIP:", "{{", ".status.podIP", "|", "Quote", "}}"]


def test_nodes_are_heard_of_before_the_controller_manager_gives_them_up() -> None:
    delay = _of("Node")["node-heartbeat"]["delay"]
    assert delay["durationMilliseconds"] <= delay["jitterDurationMilliseconds"] < 40_000
