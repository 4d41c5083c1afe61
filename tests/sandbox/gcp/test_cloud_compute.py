"""The Compute API and the Cloud Quotas API answer from what exists and from faults."""

from pathlib import Path
from typing import Any

from cloud_double import ask, create, with_cluster
from small_cloud import l4

from sandbox.gcp import faults
from sandbox.gcp.operations import Cloud
from sandbox.gcp.rules.networking import SUBNETWORK

COMPUTE = "/compute/v1/projects/acme"


def proxies() -> dict[str, Any]:
    inputs = {
        "name": "proxies",
        "project": "acme",
        "region": "us-east5",
        "network": "projects/acme/global/networks/net",
        "ipCidrRange": "10.99.0.0/26",
        "purpose": "REGIONAL_MANAGED_PROXY",
        "role": "ACTIVE",
    }
    return {"token": SUBNETWORK, "inputs": inputs}


def _quotas(answer: dict[str, Any]) -> dict[str, tuple[float, float]]:
    return {quota["metric"]: (quota["limit"], quota["usage"]) for quota in answer["quotas"]}


def _cloud(folder: Path) -> Cloud:
    """Return a cloud with a pool of two nodes of four GPUs, and a quota of ten."""
    cloud, _ = with_cluster(folder)
    record = create(cloud, l4())
    cloud.store.change(record.id, zones={"us-east5-a": 2})
    faults.change(cloud.store.folder, faults.with_quota("us-east5", "nvidia-l4", 10))
    faults.change(cloud.store.folder, faults.with_quota("us-east5", "nvidia-h100-80gb", 0))
    return cloud


def test_quotas_tell_the_limit_of_a_fault_and_what_nodes_use(tmp_path: Path) -> None:
    cloud = _cloud(tmp_path)
    quotas = _quotas(ask(cloud, f"{COMPUTE}/regions/us-east5")[1])
    assert (quotas["NVIDIA_L4_GPUS"], quotas["PREEMPTIBLE_NVIDIA_L4_GPUS"]) == ((10, 8), (10, 8))
    assert (quotas["PREEMPTIBLE_NVIDIA_H100_GPUS"], "NVIDIA_H100_GPUS" in quotas) == ((0, 0), False)
    assert _quotas(ask(cloud, f"{COMPUTE}/regions/us-east4")[1])["NVIDIA_L4_GPUS"] == (10_000, 0)
    assert _quotas(ask(cloud, COMPUTE)[1])["GPUS_ALL_REGIONS"] == (10_000, 8)
    assert _quotas(ask(cloud, COMPUTE)[1])["NETWORKS"] == (10_000, 2)
    assert ask(cloud, f"{COMPUTE}/regions/nowhere")[0] == 404


def test_disks_of_nodes_are_in_use_by_region(tmp_path: Path) -> None:
    """Two nodes of 150 GB, balanced by default."""
    cloud = _cloud(tmp_path)
    faults.change(cloud.store.folder, faults.with_quota("us-east5", "SSD_TOTAL_GB", 250))
    assert _quotas(ask(cloud, f"{COMPUTE}/regions/us-east5")[1])["SSD_TOTAL_GB"] == (250, 300)
    assert _quotas(ask(cloud, f"{COMPUTE}/regions/us-east4")[1])["SSD_TOTAL_GB"] == (10_000, 0)


def test_newer_gpus_have_a_limit_by_family_and_region(tmp_path: Path) -> None:
    families = (
        "locations/global/services/compute.googleapis.com/quotaInfos/GPUS-PER-GPU-FAMILY-per-project-region"
    )
    _, answer = ask(_cloud(tmp_path), f"/v1/projects/acme/{families}")
    values = {
        (limit["dimensions"]["gpu_family"], limit["dimensions"]["region"]): limit["details"]["value"]
        for limit in answer["dimensionsInfos"]
    }
    assert values["NVIDIA_H100", "us-east5"] == "0"
    assert values["NVIDIA_H100", "us-east4"] == "10000"


def test_a_group_has_the_machines_of_its_pool_in_a_zone(tmp_path: Path) -> None:
    cloud = _cloud(tmp_path)
    groups = f"{COMPUTE}/zones/us-east5-a/instanceGroupManagers"
    assert ask(cloud, f"{groups}/gke-east-l4-grp") == (200, {"targetSize": 2})
    assert ask(cloud, f"{groups}/theirs")[0] == 404


def test_every_named_reservation_is_there(tmp_path: Path) -> None:
    status, answer = ask(_cloud(tmp_path), f"{COMPUTE}/zones/us-east5-a/reservations/big")
    assert (status, answer["status"]) == (200, "READY")


def test_nobody_is_answered_without_a_login(tmp_path: Path) -> None:
    assert ask(_cloud(tmp_path), COMPUTE, login=False)[0] == 401


def test_subnetworks_are_listed_by_region_and_purpose(tmp_path: Path) -> None:
    cloud = _cloud(tmp_path)
    network = "https://www.googleapis.com/compute/v1/projects/acme/global/networks/net"
    listed = f"{COMPUTE}/regions/us-east5/subnetworks"
    wanted = f"{listed}?filter=purpose%3DREGIONAL_MANAGED_PROXY"
    assert [one["name"] for one in ask(cloud, listed)[1]["items"]] == ["sub"]
    assert ask(cloud, wanted)[1]["items"] == []
    create(cloud, proxies())
    assert ask(cloud, wanted)[1]["items"] == [
        {
            "name": "proxies",
            "network": network,
            "purpose": "REGIONAL_MANAGED_PROXY",
            "role": "ACTIVE",
            "ipCidrRange": "10.99.0.0/26",
        }
    ]


def test_clusters_hear_of_a_subnetwork_for_proxies_that_comes_later(tmp_path: Path) -> None:
    cloud, kubernetes = with_cluster(tmp_path)
    made = create(cloud, proxies())
    cloud.delete(made.id)
    assert [call for call in kubernetes.calls if "proxies" in call] == ["proxies east", "proxies east"]


def test_zones_of_a_region_have_machines_of_every_type_that_exists(tmp_path: Path) -> None:
    cloud = _cloud(tmp_path)
    zones = [url.rpartition("/")[2] for url in ask(cloud, f"{COMPUTE}/regions/us-east5")[1]["zones"]]
    assert zones == ["us-east5-a", "us-east5-b", "us-east5-c"]
    status, machine = ask(cloud, f"{COMPUTE}/zones/us-east5-a/machineTypes/g2-standard-48")
    assert (status, machine["guestCpus"], machine["memoryMb"]) == (200, 48, 192 * 1024)
    for path in ("us-east5-a/machineTypes/x9-foo-3", "us-east5-z/machineTypes/g2-standard-48"):
        assert ask(cloud, f"{COMPUTE}/zones/{path}")[0] == 404
