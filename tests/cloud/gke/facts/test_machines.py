"""Facts about machine types."""

import pytest

from inferfleet.cloud.gke.facts.machines import (
    ALL,
    Accelerator,
    Fabric,
    LocalSsds,
    Machine,
    machine,
    machine_of,
    machines,
    with_gpus,
)
from inferfleet.documents.kinds.inference_class import InferenceClass


def test_a_machine_type_is_known_whole() -> None:
    assert machine("a3-megagpu-8g") == Machine(
        "a3-megagpu-8g",
        "A3 Mega",
        208,
        1872,
        capacity=ALL,
        accelerators=(Accelerator("nvidia-h100-mega-80gb", (8,), 80),),
        ssds=LocalSsds((16,), attached=True),
        fabric=Fabric("TCPXO", networks=8, interfaces=8, mtu=8244),
    )


def test_every_gpu_machine_says_how_it_can_be_had() -> None:
    ways = {(one.family, verdict) for one in machines() for verdict in one.capacity.values()}
    assert {family for family, verdict in ways if verdict == "yes"} == {
        one.family for one in machines() if one.family != "A3 Edge"
    }


def test_no_machine_type_stands_in_the_table_twice() -> None:
    names = [one.type for one in machines()]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize(
    ("machine_type", "vcpus", "memory", "gpus"),
    [
        ("n1-standard-8", 8, 30, True),
        ("n1-highmem-96", 96, 624, True),
        ("custom-12-79872", 12, 78, True),
        ("e2-standard-4", 4, 16, False),
        ("n2-standard-32", 32, 128, False),
        ("n2-highmem-96", 96, 768, False),
        ("n2-highmem-128", 128, 864, False),
        ("n4-standard-8", 8, 32, False),
        ("n4-highcpu-80", 80, 160, False),
        ("e2-highcpu-32", 32, 32, False),
    ],
)
def test_general_machines_are_read_from_their_names(
    machine_type: str, vcpus: int, memory: float, gpus: bool
) -> None:
    found = machine(machine_type)
    assert found is not None
    assert (found.vcpus, found.memory_gib, bool(found.accelerators)) == (vcpus, memory, gpus)


@pytest.mark.parametrize(
    "machine_type",
    [
        "a9-hypergpu-8g",
        "n1-standard-6",
        "n1-highmem-1",
        "e2-standard-64",
        "e2-highmem-32",
        "n2-highcpu-128",
        "n2-standard-08",
        "c9-standard-8",
    ],
)
def test_a_machine_that_is_not_known_has_no_facts(machine_type: str) -> None:
    assert machine(machine_type) is None


def test_a_class_tells_the_facts_of_a_machine_that_is_not_known() -> None:
    told = InferenceClass.model_validate(
        {
            "metadata": {"name": "new"},
            "spec": {
                "node": {"cpu": "254500m", "memory": "3000Gi"},
                "resources": {"gpu": {"count": 8, "memory": "288Gi"}},
                "provisioning": {
                    "provider": "GKE",
                    "gke": {
                        "machineType": "a9-hypergpu-8g",
                        "accelerator": {"type": "nvidia-r100", "count": 8},
                        "localSsd": {"count": 32},
                        "networking": {"gpuDirect": "RDMA"},
                    },
                },
            },
        }
    )
    assert machine_of(told) == Machine(
        "a9-hypergpu-8g",
        "unknown",
        255,
        3000,
        capacity=ALL,
        accelerators=(Accelerator("nvidia-r100", (8,), 288),),
        ssds=LocalSsds((32,)),
        fabric=Fabric("RDMA", networks=2, interfaces=9),
        known=False,
    )


def test_machines_are_found_by_their_gpus() -> None:
    assert with_gpus("nvidia-h100-80gb", 4) == ("a3-highgpu-4g",)
    assert with_gpus("nvidia-rtx-pro-6000", 1) == ("g4-standard-48",)
