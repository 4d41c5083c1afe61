"""Operations of the simulated cloud: what exists after each, also after one that failed half-way."""

from pathlib import Path
from typing import Any

import pytest
from cloud_double import IDS, create, empty_cloud, inputs, with_cluster
from small_cloud import POOL, cluster, l4, network, pool

from inferfleet.cloud.gke.facts.schema import resource
from sandbox.gcp import faults
from sandbox.gcp.provider.inputs import imported_inputs, refreshed_inputs
from sandbox.gcp.provider.settings import Settings
from sandbox.gcp.rules.errors import ApiError, OperationError


def _some(count: int, **changes: Any) -> dict[str, Any]:
    """The pool l4 with a fixed number of nodes."""
    declared = l4(**changes)
    kept = {name: value for name, value in declared["inputs"].items() if name != "autoscaling"}
    return {**declared, "inputs": {**kept, "nodeCount": count}}


def test_ids_are_those_of_the_real_provider(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    assert sorted(cloud.store.read()) == [
        "acme/roles/container.defaultNodeServiceAccount/serviceAccount:if-nodes@acme.iam.gserviceaccount.com",
        "projects/acme/global/networks/net",
        "projects/acme/locations/us-east5/clusters/east",
        "projects/acme/locations/us-east5/clusters/east/nodePools/system",
        "projects/acme/regions/us-east5/subnetworks/sub",
        "projects/acme/serviceAccounts/if-nodes@acme.iam.gserviceaccount.com",
    ]


def test_an_iam_member_is_also_read_by_the_words_it_is_imported_with(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    member = "serviceAccount:if-nodes@acme.iam.gserviceaccount.com"
    record = cloud.read(f"acme roles/container.defaultNodeServiceAccount {member}")
    assert record is not None
    assert record.id == f"acme/roles/container.defaultNodeServiceAccount/{member}"


def test_a_cluster_has_the_outputs_that_a_kubeconfig_needs(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    state = cloud.store.read()[IDS["east"]].state
    endpoints = state["controlPlaneEndpointsConfig"]
    assert (
        state["endpoint"],
        state["masterAuth"]["clusterCaCertificate"],
        endpoints["dnsEndpointConfig"]["endpoint"],
    ) == ("127.0.0.1:6443", "Q0E=", "localhost:6443")
    assert state["effectiveLabels"] == {"goog-pulumi-provisioned": "true"}


def test_a_changed_cluster_keeps_its_address_and_its_pools_their_nodes(tmp_path: Path) -> None:
    cloud, kubernetes = with_cluster(tmp_path)
    changed = cluster(resourceLabels={"team": "a"})
    state = cloud.update(changed["token"], IDS["east"], inputs(changed)).state
    assert (state["endpoint"], state["resourceLabels"]) == ("127.0.0.1:6443", {"team": "a"})
    assert kubernetes.nodes == {"system": {"us-east5-a": 1}}


def test_a_cluster_that_keeps_its_default_pool_has_one(tmp_path: Path) -> None:
    cloud, kubernetes = with_cluster(tmp_path, removeDefaultNodePool=None, nodeLocations=["us-east5-b"])
    assert f"{IDS['east']}/nodePools/default-pool" in cloud.store.read()
    assert kubernetes.nodes["default-pool"] == {"us-east5-b": 1}


def test_node_counts_are_per_zone_and_the_whole_pool_s_limits_are_kept(tmp_path: Path) -> None:
    cloud, kubernetes = with_cluster(tmp_path)
    zones = ["us-east5-a", "us-east5-b"]
    create(cloud, pool("two", nodeCount=2, nodeLocations=zones))
    scaling = {"totalMinNodeCount": 3, "totalMaxNodeCount": 5}
    create(cloud, pool("auto", autoscaling=scaling, nodeLocations=zones))
    assert kubernetes.nodes["two"] == {"us-east5-a": 2, "us-east5-b": 2}
    assert kubernetes.nodes["auto"] == {"us-east5-a": 2, "us-east5-b": 1}


def test_a_pool_out_of_stock_stands_half_made_and_is_finished_by_the_next_update(tmp_path: Path) -> None:
    cloud, kubernetes = with_cluster(tmp_path)
    faults.change(tmp_path, faults.with_stockout("us-east5-a", "nvidia-l4"))
    with pytest.raises(OperationError, match=r"GCE_STOCKOUT.*ZONE_RESOURCE_POOL_EXHAUSTED"):
        create(cloud, _some(1))
    record = cloud.store.read()[IDS["l4"]]
    assert (record.status, "does not have enough resources" in record.message) == ("ERROR", True)
    assert "l4" not in kubernetes.nodes
    faults.change(tmp_path, lambda old: old.cleared)
    done = cloud.update(POOL, IDS["l4"], inputs(_some(1)))
    assert (done.status, done.message, kubernetes.nodes["l4"]) == ("RUNNING", "", {"us-east5-a": 1})


def test_a_quota_counts_the_gpus_of_the_region_and_refuses_before_anything_is_made(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    faults.change(tmp_path, faults.with_quota("us-east5", "nvidia-l4", 8))
    create(cloud, _some(1))
    with pytest.raises(ApiError, match=r"Error 403: .*request requires '8.0' and is short '4.0'"):
        cloud.update(POOL, IDS["l4"], inputs(_some(3)))
    assert cloud.store.read()[IDS["l4"]].zones == {"us-east5-a": 1}
    assert cloud.update(POOL, IDS["l4"], inputs(_some(2))).zones == {"us-east5-a": 2}


def test_a_busy_cluster_takes_no_operation(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    faults.change(tmp_path, faults.with_conflict("east"))
    for operation in (
        lambda: create(cloud, _some(1)),
        lambda: cloud.update(cluster()["token"], IDS["east"], inputs(cluster())),
        lambda: cloud.delete(IDS["system"]),
    ):
        with pytest.raises(ApiError, match="Cluster is running incompatible operation"):
            operation()


def test_an_operation_longer_than_its_timeout_leaves_the_object(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    faults.change(tmp_path, faults.with_delay(0.05))
    declared = _some(1)
    with pytest.raises(OperationError, match="timeout while waiting for state to become 'DONE'"):
        cloud.create(declared["token"], inputs(declared), timeout=0.01)
    assert cloud.store.read()[IDS["l4"]].status == "ERROR"


def test_a_change_by_hand_shows_in_the_inputs_that_a_refresh_reads(tmp_path: Path) -> None:
    cloud, kubernetes = with_cluster(tmp_path)
    written = inputs(pool("system", nodeCount=1))
    state = cloud.store.read()[IDS["system"]].state
    cloud.edit(IDS["system"], {**state, "nodeCount": 3})
    now = cloud.store.read()[IDS["system"]]
    assert kubernetes.nodes["system"] == {"us-east5-a": 3}
    assert refreshed_inputs(resource(POOL), written, now.state) == {**written, "nodeCount": 3}


def test_an_import_finds_inputs_that_lead_to_what_exists(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    record = create(cloud, l4())
    imported = imported_inputs(resource(POOL), record.state)
    assert (imported["cluster"], imported["autoscaling"]) == (
        "east",
        {"totalMinNodeCount": 0, "totalMaxNodeCount": 2},
    )
    assert "nodeCount" not in imported


def test_deleting_a_cluster_takes_its_pools_and_what_is_gone_stays_gone(tmp_path: Path) -> None:
    cloud, kubernetes = with_cluster(tmp_path)
    cloud.delete(IDS["east"])
    cloud.delete(IDS["system"])
    assert [resource_id for resource_id in cloud.store.read() if "/clusters/" in resource_id] == []
    assert kubernetes.calls[-1] == "remove east"


def test_a_deletion_policy_prevents_or_abandons(tmp_path: Path) -> None:
    cloud, kubernetes = empty_cloud(tmp_path)
    net = network()[0]
    for name, policy in (("kept", "PREVENT"), ("left", "ABANDON")):
        create(cloud, {**net, "inputs": {**net["inputs"], "name": name, "deletionPolicy": policy}})
    with pytest.raises(ApiError, match="deletionPolicy is set to PREVENT"):
        cloud.delete("projects/acme/global/networks/kept")
    cloud.delete("projects/acme/global/networks/left")
    assert len(cloud.store.read()) == 2
    assert kubernetes.calls == []


def test_a_refused_operation_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    before = (tmp_path / "resources.json").read_text()
    with pytest.raises(ApiError):
        create(cloud, pool("p", {"machineType": "z9"}))
    assert (tmp_path / "resources.json").read_text() == before


def test_settings_of_the_provider_fill_in_project_and_place() -> None:
    settings = Settings("acme", "us-east5")
    by_id = {"name": "p", "cluster": "projects/other/locations/us-east4/clusters/c"}
    assert settings.completed(POOL, {"name": "p", "cluster": "c"}) == {
        "name": "p", "cluster": "c", "project": "acme", "location": "us-east5"
    }  # fmt: skip
    assert settings.completed(POOL, by_id) == {**by_id, "project": "other", "location": "us-east4"}
    with pytest.raises(ApiError, match="project: required field is not set"):
        Settings().completed("gcp:compute/network:Network", {"name": "n"})
