"""Maintenance and upgrades in the simulated cloud: what it refuses, and what it answers."""

from pathlib import Path
from typing import Any

import pytest
from cloud_double import IDS, ask, create, empty_cloud, inputs, with_cluster
from small_cloud import CLUSTER, cluster, l4, network, pool

from inferfleet.cloud.gke.facts.schema import resource
from sandbox.gcp.provider.check import check
from sandbox.gcp.provider.diff import resource_changes
from sandbox.gcp.rules.errors import ApiError

DAILY = {"dailyMaintenanceWindow": {"startTime": "09:00"}}
NO_RESERVATION = {"reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}}


def _excluded(**changes: Any) -> dict[str, Any]:
    exclusion = {
        "exclusionName": "kept",
        "startTime": "2025-12-01T00:00:00Z",
        "exclusionOptions": {"scope": "NO_UPGRADES"},
        **changes,
    }
    return {**DAILY, "maintenanceExclusions": [exclusion]}


def _recurring(end: str, recurrence: str) -> dict[str, Any]:
    window = {"startTime": "2026-12-05T01:00:00Z", "endTime": end, "recurrence": recurrence}
    return {"recurringWindow": window}


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"dailyMaintenanceWindow": {"startTime": "9:00"}}, "is not of the form HH:MM"),
        (_recurring("2026-12-05T04:00:00Z", "FREQ=DAILY"), "must last at least 4 hours"),
        (_recurring("2026-12-05T07:00:00Z", "FREQ=HOURLY"), "is not supported"),
        (_excluded(endTime="2026-12-01T00:00:00Z"), "of scope NO_UPGRADES lasts longer than 90 days"),
        (_excluded(), "must have exactly one of endTime and endTimeBehavior"),
        (_excluded(endTime="2025-11-01T00:00:00Z"), "must end after it starts"),
        (_excluded(endTime="never"), "is not a moment as RFC 3339 has it"),
        (
            _excluded(endTime="2026-01-01T00:00:00Z", exclusionOptions={"scope": "SOME"}),
            "expected scope to be one of",
        ),
    ],
)
def test_a_policy_that_google_would_refuse_is_refused(
    tmp_path: Path, policy: dict[str, Any], words: str
) -> None:
    cloud, _ = empty_cloud(tmp_path)
    for declared in network():
        create(cloud, declared)
    with pytest.raises(ApiError, match=words):
        create(cloud, cluster(maintenancePolicy=policy))


def test_exclusions_without_a_window_are_no_inputs() -> None:
    policy = {"maintenanceExclusions": _excluded(endTime="2026-01-01T00:00:00Z")["maintenanceExclusions"]}
    assert "exactly one of" in str(check(CLUSTER, cluster(maintenancePolicy=policy)["inputs"])[0].reason)


def test_the_api_answers_exclusions_by_name_and_windows_in_two_parts(tmp_path: Path) -> None:
    policy = _excluded(
        exclusionOptions={"scope": "NO_MINOR_OR_NODE_UPGRADES", "endTimeBehavior": "UNTIL_END_OF_SUPPORT"}
    )
    cloud, _ = with_cluster(
        tmp_path,
        maintenancePolicy={
            **_recurring("2026-12-05T07:00:00Z", "FREQ=DAILY"),
            "maintenanceExclusions": policy["maintenanceExclusions"],
        },
        privateClusterConfig={"enablePrivateNodes": True},
        masterAuthorizedNetworksConfig={"cidrBlocks": [{"cidrBlock": "10.0.0.0/8"}]},
    )
    _, found = ask(cloud, f"/v1/{IDS['east']}")
    assert found["maintenancePolicy"]["window"] == {
        "recurringWindow": {
            "window": {"startTime": "2026-12-05T01:00:00Z", "endTime": "2026-12-05T07:00:00Z"},
            "recurrence": "FREQ=DAILY",
        },
        "maintenanceExclusions": {
            "kept": {
                "startTime": "2025-12-01T00:00:00Z",
                "maintenanceExclusionOptions": {
                    "scope": "NO_MINOR_OR_NODE_UPGRADES",
                    "endTimeBehavior": "UNTIL_END_OF_SUPPORT",
                },
            }
        },
    }
    assert found["networkConfig"]["defaultEnablePrivateNodes"] is True
    endpoints = found["controlPlaneEndpointsConfig"]["ipEndpointsConfig"]
    assert endpoints["authorizedNetworksConfig"] == {"cidrBlocks": [{"cidrBlock": "10.0.0.0/8"}]}


def test_an_exclusion_until_the_end_of_a_support_that_is_over_is_refused(tmp_path: Path) -> None:
    options = {"scope": "NO_MINOR_OR_NODE_UPGRADES", "endTimeBehavior": "UNTIL_END_OF_SUPPORT"}
    policy = _excluded(exclusionOptions=options)
    cloud, _ = empty_cloud(tmp_path)
    for declared in network():
        create(cloud, declared)
    words = r"maintenanceExclusions\[kept\] must have the end time take place after start time"
    with pytest.raises(ApiError, match=words):
        create(cloud, cluster(maintenancePolicy=policy, minMasterVersion="1.33"))
    extended = {"releaseChannel": {"channel": "EXTENDED"}}
    create(cloud, cluster(maintenancePolicy=policy, minMasterVersion="1.33", **extended))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"strategy": "SHORT_LIVED"}, "expected strategy to be one of"),
        ({"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 0}, "between 1 and 20"),
        ({"strategy": "SURGE", "maxSurge": 20, "maxUnavailable": 1}, "between 1 and 20"),
        (
            {
                "strategy": "BLUE_GREEN",
                "blueGreenSettings": {
                    "standardRolloutPolicy": {"batchNodeCount": 1},
                    "autoscaledRolloutPolicy": {"waitForDrainDuration": "0s"},
                },
            },
            "cannot be set at the same time",
        ),
        (
            {
                "strategy": "BLUE_GREEN",
                "blueGreenSettings": {"autoscaledRolloutPolicy": {"waitForDrainDuration": "0s"}},
            },
            "need a node pool with autoscaling",
        ),
    ],
)
def test_upgrades_that_google_would_refuse_are_refused(
    tmp_path: Path, settings: dict[str, Any], words: str
) -> None:
    cloud, _ = with_cluster(tmp_path)
    with pytest.raises(ApiError, match=words):
        create(cloud, pool("p", nodeCount=1, upgradeSettings=settings))


def test_flex_start_nodes_are_upgraded_by_a_strategy_of_their_own_which_is_no_change(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    declared = pool(
        "flex",
        {"flexStart": True, **NO_RESERVATION},
        management={"autoRepair": False, "autoUpgrade": True},
        autoscaling={"totalMinNodeCount": 0, "totalMaxNodeCount": 2},
    )
    made = create(cloud, declared)
    assert made.state["upgradeSettings"] == {"strategy": "SHORT_LIVED"}
    assert resource_changes(declared["token"], made.state, inputs(declared)) == ()
    assert cloud.update(declared["token"], made.id, inputs(declared)).state["upgradeSettings"] == {
        "strategy": "SHORT_LIVED"
    }


def test_other_zones_of_a_cluster_are_those_of_all_its_pools(tmp_path: Path) -> None:
    cloud, kubernetes = with_cluster(tmp_path, nodeLocations=["us-east5-a"])
    create(cloud, l4(nodeLocations=["us-east5-b"]))
    changed = cluster(nodeLocations=["us-east5-a", "us-east5-c"])
    cloud.update(changed["token"], IDS["east"], inputs(changed))
    pools = {name: cloud.store.read()[IDS[name]].state["nodeLocations"] for name in ("l4", "system")}
    assert pools == {name: ["us-east5-a", "us-east5-c"] for name in ("l4", "system")}
    assert kubernetes.nodes["system"] == {"us-east5-a": 1, "us-east5-c": 1}


def test_a_cluster_that_keeps_its_zones_moves_no_pool(tmp_path: Path) -> None:
    cloud, kubernetes = with_cluster(tmp_path, nodeLocations=["us-east5-a"])
    create(cloud, l4(nodeLocations=["us-east5-b"]))
    calls = len(kubernetes.calls)
    changed = cluster(nodeLocations=["us-east5-a"], maintenancePolicy=DAILY)
    cloud.update(changed["token"], IDS["east"], inputs(changed))
    assert kubernetes.calls[calls:] == ["ensure east"]
    assert cloud.store.read()[IDS["l4"]].state["nodeLocations"] == ["us-east5-b"]
    assert resource(CLUSTER)["maintenancePolicy"].force_new is False
