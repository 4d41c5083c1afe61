"""Nodes of a pool carry what GKE puts on them, and offer pods what GKE leaves of a machine."""

from pathlib import Path
from typing import Any

import pytest
from cloud_double import create, with_cluster
from small_cloud import l4, pool

from sandbox.gcp.nodes.kwok_kubernetes import kwok_name
from sandbox.gcp.nodes.pool_nodes import capacity_of, labels_of, node_name, taints_of
from sandbox.gcp.rules.machines import allocatable, fills_in_ssds, known_machine
from sandbox.gcp.store import Record

ZONE = "us-east5-a"


def _created(folder: Path, declared: dict[str, Any]) -> Record:
    return create(with_cluster(folder)[0], declared)


def test_a_node_with_gpus_has_the_labels_taints_and_devices_of_gke(tmp_path: Path) -> None:
    record = _created(tmp_path, l4(config={"taints": [{"key": "a", "value": "b", "effect": "NO_EXECUTE"}]}))
    assert labels_of(record, ZONE) == {
        "cloud.google.com/gke-nodepool": "l4",
        "topology.kubernetes.io/zone": "us-east5-a",
        "topology.kubernetes.io/region": "us-east5",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "g2-standard-48",
        "cloud.google.com/machine-family": "g2",
        "cloud.google.com/gke-os-distribution": "cos",
        "cloud.google.com/gke-boot-disk": "pd-balanced",
        "cloud.google.com/gke-max-pods-per-node": "110",
        "cloud.google.com/gke-provisioning": "standard",
        "cloud.google.com/gke-accelerator": "nvidia-l4",
        "cloud.google.com/gke-accelerator-count": "4",
        "cloud.google.com/gke-gpu-driver-version": "latest",
        "inferfleet.dev/pool": "l4",
    }
    assert taints_of(record) == [
        {"key": "a", "value": "b", "effect": "NoExecute"},
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
    ]
    assert capacity_of(record) == {
        "cpu": "47810m",
        "memory": "185654Mi",
        "pods": "110",
        "ephemeral-storage": "100Gi",
        "nvidia.com/gpu": "4",
    }


@pytest.mark.parametrize(
    ("more", "devices"),
    [
        ({}, "4"),
        ({"gpuDriverInstallationConfig": {"gpuDriverVersion": "INSTALLATION_DISABLED"}}, None),
        ({"gpuSharingConfig": {"gpuSharingStrategy": "MPS", "maxSharedClientsPerGpu": 3}}, "12"),
        ({"gpuPartitionSize": "1g.5gb"}, "28"),
    ],
)
def test_devices_of_a_node_depend_on_driver_sharing_and_partition(
    tmp_path: Path, more: dict[str, Any], devices: str | None
) -> None:
    gpus = [{"type": "nvidia-tesla-a100", "count": 4, **more}]
    record = _created(tmp_path, pool("p", {"machineType": "a2-highgpu-4g", "guestAccelerators": gpus}))
    assert capacity_of(record).get("nvidia.com/gpu") == devices


def test_spot_and_queued_nodes_say_so(tmp_path: Path) -> None:
    none = {"reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}}
    spot = labels_of(_created(tmp_path / "a", pool("p", {"spot": True, **none})), ZONE)
    assert (spot["cloud.google.com/gke-spot"], spot["cloud.google.com/gke-provisioning"]) == ("true", "spot")
    queued = pool("p", none, queuedProvisioning={"enabled": True}, autoscaling={"totalMaxNodeCount": 1})
    record = _created(tmp_path / "b", queued)
    assert labels_of(record, ZONE)["cloud.google.com/gke-queued"] == "true"
    assert taints_of(record) == [
        {"key": "cloud.google.com/gke-queued", "value": "true", "effect": "NoSchedule"}
    ]


@pytest.mark.parametrize(
    ("machine", "cpu", "memory"),
    [
        # docs.cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes, by its rules.
        ("e2-standard-4", 3920, 13622),
        ("e2-medium", 940, 2972),
        ("a3-highgpu-8g", 207410, 1871567),
    ],
)
def test_gke_keeps_a_part_of_every_node(machine: str, cpu: int, memory: int) -> None:
    assert allocatable(known_machine(machine)) == (cpu, memory)


@pytest.mark.parametrize(
    ("machine", "vcpu", "memory", "filled"),
    [
        ("a4x-highgpu-4g-nolssd", 140, 884, False),
        ("a4x-highgpu-4g", 140, 884, True),
        ("n4-highcpu-8", 8, 16, False),
        ("n1-custom-4-8192", 4, 8, False),
        ("e2-medium", 2, 4, False),
    ],
)
def test_every_machine_type_of_the_table_can_be_had(
    machine: str, vcpu: int, memory: float, filled: bool
) -> None:
    has = known_machine(machine)
    assert (has.vcpu, has.memory, fills_in_ssds(machine)) == (vcpu, memory, filled)


def test_names_of_nodes_and_clusters_stay_names(tmp_path: Path) -> None:
    long = _created(tmp_path, pool("p" * 40))
    first, second = node_name(long, ZONE), node_name(long, ZONE)
    assert first != second
    assert len(first) <= 63
    assert kwok_name(long.id) == "east.us-east5.acme"
