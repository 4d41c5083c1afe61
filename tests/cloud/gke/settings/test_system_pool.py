"""The system pool: its machine is told, and its most nodes follow the endpoint pickers on the cluster."""

from decimal import Decimal
from typing import Any

import pytest
from small_clouds import clouds, cluster, made, node_pool, with_pickers

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.facts.machines import machine
from inferfleet.cloud.gke.settings.system_pool import nodes_for, system_problems
from inferfleet.cloud.values import SYSTEM_POOL
from inferfleet.documents.documents import Documents
from inferfleet.fleet.decisions import Plan


def asking(cpu: str, memory: str = "1Gi", **picker: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu, "memory": memory}}, **picker}


def most(documents: Documents, planned: Plan) -> int:
    found: int = node_pool(SYSTEM_POOL, documents, planned).inputs["autoscaling"]["totalMaxNodeCount"]
    return found


@pytest.mark.parametrize(
    ("pickers", "expected"),
    [
        ((), 4),
        (({},) * 20, 5),
        ((asking("4"),) * 3, 5),  # 3 pickers of 4 cores on one node of 16
        ((asking("4"),) * 4, 6),
        ((asking("4", replicas=4),), 6),
        ((asking("500m"),) * 20, 5),
        ((asking("1", "30Gi"),) * 2, 6),  # memory decides
        (({"resources": {"limits": {"cpu": "15"}}},) * 3, 7),  # a limit alone is the request
    ],
)
def test_the_most_nodes_follow_what_pickers_request(
    pickers: tuple[dict[str, Any], ...], expected: int
) -> None:
    assert most(*with_pickers(clouds(cluster("east")), "east", *pickers)) == expected


def test_pickers_on_other_clusters_and_of_the_lost_do_not_count() -> None:
    documents, planned = with_pickers(clouds(cluster("east")), "west", {}, {})
    assert most(documents, planned) == 4
    gone = with_pickers(clouds(cluster("east")), "east", {})[1]
    assert most(clouds(cluster("east")), gone) == 4


def test_more_pickers_change_nothing_but_the_most_nodes() -> None:
    one, few = with_pickers(clouds(cluster("east")), "east", {})
    other, many = with_pickers(clouds(cluster("east")), "east", *(asking("4"),) * 9)
    before, after = (node_pool(SYSTEM_POOL, *found) for found in ((one, few), (other, many)))
    autoscaling = before.inputs["autoscaling"] | {"totalMaxNodeCount": 7}
    assert before.inputs | {"autoscaling": autoscaling} == after.inputs
    assert made(one, planned=few).pool_names == made(other, planned=many).pool_names


def test_its_machine_and_disk_are_the_documents() -> None:
    documents = clouds(cluster("east", systemPool={"machineType": "n2-standard-8", "diskSizeGb": 50}))
    nodes = node_pool(SYSTEM_POOL, documents).inputs["nodeConfig"]
    assert (nodes["machineType"], nodes["bootDisk"]) == ("n2-standard-8", {"sizeGb": 50})


@pytest.mark.parametrize("machine_type", ["n4-standard-8", "c4-standard-8", "n4d-standard-8"])
def test_machines_without_persistent_disk_boot_from_hyperdisk(machine_type: str) -> None:
    documents = clouds(cluster("east", systemPool={"machineType": machine_type}))
    nodes = node_pool(SYSTEM_POOL, documents).inputs["nodeConfig"]
    assert nodes["bootDisk"] == {"sizeGb": 100, "diskType": "hyperdisk-balanced"}


def test_a_machine_nobody_knows_holds_one_picker() -> None:
    assert nodes_for(((Decimal(1), Decimal(1)),) * 3, machine("x9-standard-8")) == 3


def test_a_picker_that_fits_on_no_node_is_a_problem() -> None:
    small = clouds(cluster("east", systemPool={"machineType": "e2-standard-4"}))
    documents, planned = with_pickers(small, "east", asking("4", "8Gi"), asking("2"))
    (problem,) = system_problems(documents, described_clusters(documents), planned)
    assert (problem.kind, problem.key, problem.what, problem.path) == (
        "InferenceCluster",
        "east",
        "the endpoint picker of 'ml/m0' requests 4 cores and 8.0 GiB; a node of the system pool of cluster "
        "'east' (e2-standard-4) has 3 cores and 13.6 GiB for it",
        "spec.cluster.gke.systemPool.machineType",
    )
    documents, planned = with_pickers(clouds(cluster("east")), "east", asking("4"), asking("15"))
    assert list(system_problems(documents, described_clusters(documents), planned)) == []
