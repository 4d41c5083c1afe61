"""What maintenance, upgrades and disks of images become in Google's words."""

from typing import Any

import pytest
from small_clouds import clouds, cluster, made, node_pool, pool, recipe, resources

from inferfleet.cloud.gke.facts.schema import CLUSTER
from inferfleet.fleet.lock.lock import Lock, LockedCluster

KEPT = {
    "name": "kept",
    "scope": "NO_MINOR_OR_NODE_UPGRADES",
    "startTime": "2025-12-01T00:00:00Z",
    "endTimeBehavior": "UNTIL_END_OF_SUPPORT",
}
FREEZE = {
    "name": "freeze",
    "scope": "NO_UPGRADES",
    "startTime": "2026-12-20T00:00:00Z",
    "endTime": "2027-01-03T00:00:00Z",
}
WEEKEND = {
    "startTime": "2026-12-05T01:00:00Z",
    "endTime": "2026-12-05T07:00:00Z",
    "recurrence": "FREQ=WEEKLY;BYDAY=SA,SU",
}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            {"dailyMaintenanceWindow": {"startTime": "09:00"}},
            {"dailyMaintenanceWindow": {"startTime": "09:00"}},
        ),
        ({"recurringWindow": WEEKEND}, {"recurringWindow": WEEKEND}),
        (
            {"recurringWindow": WEEKEND, "maintenanceExclusions": [KEPT, FREEZE]},
            {
                "recurringWindow": WEEKEND,
                "maintenanceExclusions": [
                    {
                        "exclusionName": "freeze",
                        "startTime": "2026-12-20T00:00:00Z",
                        "endTime": "2027-01-03T00:00:00Z",
                        "exclusionOptions": {"scope": "NO_UPGRADES"},
                    },
                    {
                        "exclusionName": "kept",
                        "startTime": "2025-12-01T00:00:00Z",
                        "exclusionOptions": {
                            "scope": "NO_MINOR_OR_NODE_UPGRADES",
                            "endTimeBehavior": "UNTIL_END_OF_SUPPORT",
                        },
                    },
                ],
            },
        ),
    ],
)
def test_a_maintenance_policy_is_that_of_the_cluster(
    written: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = resources(made(clouds(cluster("east", maintenancePolicy=written))))[f"{CLUSTER} east"]
    assert found.inputs["maintenancePolicy"] == expected


def test_without_a_policy_the_cluster_has_none_so_that_one_that_runs_is_what_it_was() -> None:
    found = resources(made(clouds(cluster("east"))))[f"{CLUSTER} east"]
    assert "maintenancePolicy" not in found.inputs


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({}, {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}),
        ({"maxSurge": 2}, {"strategy": "SURGE", "maxSurge": 2, "maxUnavailable": 0}),
        ({"maxUnavailable": 3}, {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 3}),
        (
            {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 1},
            {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 1},
        ),
        (
            {"strategy": "BLUE_GREEN"},
            {
                "strategy": "BLUE_GREEN",
                "blueGreenSettings": {
                    "nodePoolSoakDuration": "3600s",
                    "standardRolloutPolicy": {"batchNodeCount": 1, "batchSoakDuration": "0s"},
                },
            },
        ),
        (
            {
                "strategy": "BLUE_GREEN",
                "blueGreenSettings": {
                    "nodePoolSoakDuration": "30m",
                    "standardRolloutPolicy": {"batchPercentage": 0.25, "batchSoakDuration": "90s"},
                },
            },
            {
                "strategy": "BLUE_GREEN",
                "blueGreenSettings": {
                    "nodePoolSoakDuration": "1800s",
                    "standardRolloutPolicy": {"batchPercentage": 0.25, "batchSoakDuration": "90s"},
                },
            },
        ),
        (
            {"strategy": "BLUE_GREEN", "blueGreenSettings": {"autoscaledRolloutPolicy": {}}},
            {
                "strategy": "BLUE_GREEN",
                "blueGreenSettings": {
                    "nodePoolSoakDuration": "3600s",
                    "autoscaledRolloutPolicy": {"waitForDrainDuration": "259200s"},
                },
            },
        ),
    ],
)
def test_upgrade_settings_are_those_of_the_pool(written: dict[str, Any], expected: dict[str, Any]) -> None:
    found = node_pool("l4", clouds(cluster("east", pool(upgradeSettings=written))))
    assert found.inputs["upgradeSettings"] == expected


def test_other_upgrade_settings_leave_the_pool_its_name() -> None:
    names = {
        node_pool("l4", clouds(cluster("east", pool(upgradeSettings=settings)))).inputs["name"]
        for settings in (None, {"maxSurge": 1}, {"strategy": "BLUE_GREEN"})
    }
    assert len(names) == 1


def test_disks_of_images_are_a_cache_of_containers_and_part_of_the_name() -> None:
    image = "projects/acme-images/global/images/vllm-0-30"
    cached = recipe(
        "l4",
        "g2-standard-48",
        "nvidia-l4",
        4,
        imageStreaming=True,
        secondaryBootDisks=[{"diskImage": image}],
    )
    plain = node_pool("l4", clouds(cluster("east"))).inputs
    found = node_pool("l4", clouds(cluster("east"), classes=(cached,))).inputs
    assert found["nodeConfig"]["secondaryBootDisks"] == [
        {"diskImage": image, "mode": "CONTAINER_IMAGE_CACHE"}
    ]
    assert found["nodeConfig"]["gcfsConfig"] == {"enabled": True}
    assert "secondaryBootDisks" not in plain["nodeConfig"]
    assert found["name"] != plain["name"]


def test_a_cluster_that_is_there_keeps_its_zones_so_that_google_moves_no_pool_of_its_own_zones() -> None:
    documents = clouds(cluster("east", zones=["us-east5-a"]))
    settings = {"location": "us-east5"}
    ignored = {
        where: "nodeLocations" in resources(made(documents, lock))[f"{CLUSTER} east"].ignore
        for where, lock in {
            "new": Lock("prod"),
            "there": Lock("prod", {"east": LockedCluster("GKE", settings=settings)}),
            "elsewhere": Lock("prod", {"east": LockedCluster("GKE", settings={"location": "us-east1"})}),
        }.items()
    }
    assert ignored == {"new": False, "there": True, "elsewhere": False}
