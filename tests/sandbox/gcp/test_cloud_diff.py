"""A change of inputs updates or replaces as with the real provider; what Google fills in is no change."""

from pathlib import Path
from typing import Any

import pytest
from cloud_double import create, empty_cloud, inputs, with_cluster
from small_cloud import CLUSTER, POOL, SUBNET, cluster, l4, network, pool

from inferfleet.cloud.gke.facts.schema import resource
from sandbox.gcp.provider.diff import Change, diff, resource_changes
from sandbox.gcp.provider.replies import diff_response
from sandbox.gcp.provider.wire import UNKNOWN


def _changes(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    """Return the changes between an existing pool and its new inputs."""
    cloud, _ = with_cluster(folder)
    return list(diff(resource(POOL), create(cloud, old).state, inputs(new)))


def test_what_google_fills_in_is_no_change(tmp_path: Path) -> None:
    cloud, _ = empty_cloud(tmp_path)
    for declared in (*network(), cluster(), pool("system", nodeCount=1), l4()):
        record = create(cloud, declared)
        assert diff(resource(declared["token"]), record.state, inputs(declared)) == ()


@pytest.mark.parametrize(
    ("config", "change"),
    [
        ({"labels": {"team": "b"}}, Change("nodeConfig.labels.team", "add", False)),
        ({"machineType": "e2-standard-8"}, Change("nodeConfig.machineType", "update", False)),
        ({"diskSizeGb": 200}, Change("nodeConfig.diskSizeGb", "update", False)),
        ({"taints": [{"key": "a", "value": "b", "effect": "NO_SCHEDULE"}]},
         Change("nodeConfig.taints[0]", "add", False)),
        ({"spot": True, "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}},
         Change("nodeConfig.reservationAffinity", "add", True)),
        ({"serviceAccount": UNKNOWN}, Change("nodeConfig.serviceAccount", "update", True)),
        ({"bootDisk": {"sizeGb": 50}}, Change("nodeConfig.bootDisk", "add", False)),
        ({"localNvmeSsdBlockConfig": {"localSsdCount": 1}},
         Change("nodeConfig.localNvmeSsdBlockConfig", "add", True)),
    ],
)  # fmt: skip
def test_fields_of_a_node_change_in_place_or_replace_the_pool(
    tmp_path: Path, config: dict[str, Any], change: Change
) -> None:
    assert _changes(tmp_path, pool("p"), pool("p", config))[0] == change


@pytest.mark.parametrize(
    ("changed", "changes"),
    [
        ({"nodeCount": 3}, [Change("nodeCount", "update", False)]),
        ({"initialNodeCount": 3}, [Change("initialNodeCount", "update", True)]),
        ({"maxPodsPerNode": 32}, [Change("maxPodsPerNode", "update", True)]),
        ({"nodeLocations": ["us-east5-b", "us-east5-a"]}, [Change("nodeLocations[0]", "add", False)]),
        ({"nodeLocations": ["us-east5-a"]}, []),
        ({"cluster": "projects/acme/locations/us-east5/clusters/east"}, []),
        ({"queuedProvisioning": {"enabled": False}}, []),
        ({"placementPolicy": {"type": "COMPACT"}}, [Change("placementPolicy", "add", True)]),
    ],
)
def test_fields_of_a_pool_change_in_place_or_replace_it(
    tmp_path: Path, changed: dict[str, Any], changes: list[Change]
) -> None:
    old = pool("p", nodeCount=1)
    assert _changes(tmp_path, old, {**old, "inputs": {**old["inputs"], **changed}}) == changes


def test_a_field_that_is_taken_away_is_a_change_only_where_google_does_not_keep_it(tmp_path: Path) -> None:
    old = pool("p", {"spot": True, "imageType": "UBUNTU_CONTAINERD", "labels": {"a": "b"},
                     "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}})  # fmt: skip
    assert _changes(tmp_path, old, pool("p")) == [
        Change("nodeConfig.reservationAffinity", "delete", True),
        Change("nodeConfig.spot", "delete", True),
    ]


def test_local_ssds_that_gke_attaches_to_an_a3_replace_the_pool_unless_they_are_ignored(
    tmp_path: Path,
) -> None:
    gpus = [{"type": "nvidia-h100-80gb", "count": 8}]
    h100 = pool("p", {"machineType": "a3-highgpu-8g", "guestAccelerators": gpus}, nodeCount=1)
    cloud, _ = with_cluster(tmp_path)
    state, field = create(cloud, h100).state, "nodeConfig.ephemeralStorageLocalSsdConfig"
    assert diff(resource(POOL), state, inputs(h100)) == (Change(field, "delete", True),)
    assert diff(resource(POOL), state, inputs(h100), ignore=[field]) == ()


@pytest.mark.parametrize(
    ("token", "old", "new", "replace"),
    [
        (SUBNET, {"ipCidrRange": "10.0.0.0/20"}, {"ipCidrRange": "10.0.0.0/19"}, False),
        (SUBNET, {"ipCidrRange": "10.0.0.0/20"}, {"ipCidrRange": "10.0.0.0/21"}, True),
        (CLUSTER, {"enableL4IlbSubsetting": False}, {"enableL4IlbSubsetting": True}, False),
        (CLUSTER, {"enableL4IlbSubsetting": True}, {"enableL4IlbSubsetting": False}, True),
        (CLUSTER, {"deletionProtection": True}, {"deletionProtection": False}, False),
        (CLUSTER, {"location": "us-east5"}, {"location": "us-east4"}, True),
    ],
)
def test_some_changes_replace_in_one_direction_only(
    token: str, old: dict[str, Any], new: dict[str, Any], replace: bool
) -> None:
    changes = resource_changes(token, old, new)
    assert [change.replace for change in changes if change.path in new] == [replace]


def test_a_replacement_under_the_same_name_deletes_first() -> None:
    change = Change("nodeConfig.spot", "add", True)
    responses = [diff_response([change], same_name=same) for same in (True, False)]
    assert [response.deleteBeforeReplace for response in responses] == [True, False]
    assert list(diff_response([change], same_name=True).replaces) == ["nodeConfig"]
