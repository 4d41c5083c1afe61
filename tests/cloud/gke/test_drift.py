"""What somebody changed by hand in Google Cloud, field by field; and what is nobody's change."""

from collections.abc import Callable
from typing import Any

import pytest
from recorded_cluster import L4, MEGA, PLAN, answer

from inferfleet.cloud.gke.drift import api_path, cloud_drift
from inferfleet.cloud.gke.facts.schema import NODE_POOL
from inferfleet.cloud.values import Drift

Change = Callable[[dict[str, Any]], object]


def told(change: Change = lambda _: None, **sizes: int) -> list[str]:
    found = answer()
    change(found)
    return [str(one) for one in cloud_drift(PLAN, found, {MEGA: 2} | sizes)]


def pool(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in found["nodePools"] if one["name"] == name)


def node(found: dict[str, Any], name: str = L4) -> dict[str, Any]:
    config: dict[str, Any] = pool(found, name)["config"]
    return config


def test_a_cluster_that_is_as_the_documents_say_has_not_drifted() -> None:
    assert told() == []


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.update(currentMasterVersion="1.36.0-gke.1", locations=["us-east5-a"]),
        lambda found: pool(found, L4).update(version="1.36.0-gke.1", initialNodeCount=3),
        lambda found: node(found)["labels"].update(theirs="x"),
        lambda found: node(found)["taints"].append({"key": "theirs", "effect": "NO_EXECUTE"}),
        lambda found: found["resourceLabels"].update(theirs="x"),
        lambda found: node(found).update(ephemeralStorageLocalSsdConfig={"localSsdCount": 4}),
        lambda found: found["nodePools"].append({"name": "by-hand"}),
        lambda found: found["maintenancePolicy"]["window"]["maintenanceExclusions"].update(
            freeze={"startTime": "2026-12-20T00:00:00Z", "endTime": "2027-01-03T00:00:00Z"}
        ),
    ],
    ids=["versions", "of pools", "labels", "taints", "cloud labels", "SSDs", "pools", "exclusions"],
)
def test_what_no_document_sets_is_not_compared(change: Change) -> None:
    assert told(change) == []


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            lambda found: found["releaseChannel"].update(channel="RAPID"),
            "cluster east: releaseChannel.channel is RAPID, documents say REGULAR",
        ),
        (
            lambda found: found["resourceLabels"].pop("cost"),
            "cluster east: resourceLabels.cost is unset, documents say ai",
        ),
        (
            lambda found: found["networkConfig"]["gatewayApiConfig"].clear(),
            "cluster east: gatewayApiConfig.channel is unset, documents say CHANNEL_STANDARD",
        ),
        (
            lambda found: found["monitoringConfig"]["managedPrometheusConfig"].clear(),
            "cluster east: monitoringConfig.managedPrometheus.enabled is unset, documents say true",
        ),
        (
            lambda found: found["controlPlaneEndpointsConfig"]["ipEndpointsConfig"][
                "authorizedNetworksConfig"
            ].pop("cidrBlocks"),
            "cluster east: masterAuthorizedNetworksConfig.cidrBlocks is unset, documents say "
            '[{"cidrBlock": "10.0.0.0/8"}]',
        ),
        (
            lambda found: found["networkConfig"].pop("defaultEnablePrivateNodes"),
            "cluster east: privateClusterConfig.enablePrivateNodes is unset, documents say true",
        ),
        (
            lambda found: found["maintenancePolicy"]["window"]["recurringWindow"].update(
                recurrence="FREQ=DAILY"
            ),
            "cluster east: maintenancePolicy.recurringWindow.recurrence is FREQ=DAILY, documents say "
            "FREQ=WEEKLY;BYDAY=SA,SU",
        ),
        (
            lambda found: found["maintenancePolicy"]["window"]["recurringWindow"]["window"].update(
                endTime="2026-12-05T06:00:00Z"
            ),
            "cluster east: maintenancePolicy.recurringWindow.endTime is 2026-12-05T06:00:00Z, documents say "
            "2026-12-05T07:00:00Z",
        ),
        (
            lambda found: found["maintenancePolicy"]["window"]["maintenanceExclusions"].pop("kept"),
            "cluster east: maintenancePolicy.maintenanceExclusions.kept.startTime is unset, documents say "
            "2026-12-01T00:00:00Z",
        ),
        (
            lambda found: found["addonsConfig"]["httpLoadBalancing"].update(disabled=True),
            "cluster east: addonsConfig.httpLoadBalancing.disabled is true, documents say false",
        ),
        (
            lambda found: pool(found, L4)["autoscaling"].update(totalMaxNodeCount=9),
            "pool east/l4: autoscaling.totalMaxNodeCount is 9, documents say 4",
        ),
        (
            lambda found: pool(found, L4).update(autoscaling={}),
            "pool east/l4: autoscaling.totalMinNodeCount is unset, documents say 1",
        ),
        (
            lambda found: pool(found, L4).update(locations=["us-east5-b"]),
            'pool east/l4: nodeLocations is ["us-east5-b"], documents say ["us-east5-a"]',
        ),
        (
            lambda found: node(found)["labels"].update({"inferfleet.dev/pool": "a"}),
            f"pool east/l4: nodeConfig.labels.inferfleet.dev/pool is a, documents say {L4}",
        ),
        (
            lambda found: node(found)["taints"].pop(),
            "pool east/l4: nodeConfig.taints.team:NO_SCHEDULE is unset, documents say ml",
        ),
        (
            lambda found: node(found).update(diskSizeGb=200),
            "pool east/l4: nodeConfig.bootDisk.sizeGb is 200, documents say 100",
        ),
        (
            lambda found: node(found)["accelerators"][0].update(acceleratorCount="8"),
            "pool east/l4: nodeConfig.guestAccelerators.count is 8, documents say 4",
        ),
        (
            lambda found: node(found, MEGA).pop("spot"),
            "pool east/mega: nodeConfig.spot is unset, documents say true",
        ),
    ],
)
def test_a_setting_that_was_changed_is_named_with_both_values(change: Change, what: str) -> None:
    assert told(change)[0] == what


def test_the_size_of_a_fixed_pool_is_compared_where_it_is_known() -> None:
    assert told(**{MEGA: 3}) == ["pool east/mega: size is 3, documents say 2"]
    assert told(**{L4: 7}) == []
    assert cloud_drift(PLAN, answer(), {}) == ()


def test_a_pool_that_is_gone_is_one_change() -> None:
    gone = cloud_drift(PLAN, {**answer(), "nodePools": answer()["nodePools"][:2]}, {})
    assert gone == (Drift("east", "pool east/mega", "node pool", "not there", MEGA),)


def test_huge_pages_have_another_name_in_the_answer() -> None:
    path = ("nodeConfig", "linuxNodeConfig", "hugepagesConfig", "hugepageSize2m")
    assert api_path(NODE_POOL, path) == ("config", "linuxNodeConfig", "hugepages", "hugepageSize2m")
