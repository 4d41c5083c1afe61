"""Addresses of pods: how many nodes a block has room for, and what is said where pools can have more."""

import pytest
from small_clouds import clouds, cluster, pool, recipe, remembering

from inferfleet.cloud.gke.settings.addresses import node_range
from inferfleet.cloud.provider import decide
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.problems import Problem
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock

SMALL = {"block": "10.4.0.0/16"}
NEW = Lock(stack="prod")


def told(documents: Documents, lock: Lock = NEW) -> list[Problem]:
    return [
        one for one in decide(documents, lock, Plan()).problems if one.what.endswith("flexible-pod-cidr)")
    ]


def of_pods(pods: int) -> InferenceClass:
    return recipe("thin", "g2-standard-48", "nvidia-l4", 4, pods=pods)


@pytest.mark.parametrize(
    ("pods", "prefix"),
    [
        (1, 28),
        (8, 28),
        (9, 27),
        (16, 27),
        (17, 26),
        (32, 26),
        (33, 25),
        (64, 25),
        (65, 24),
        (110, 24),
        (128, 24),
        (129, 23),
        (256, 23),
    ],
)
def test_a_node_has_a_range_twice_as_large_as_its_pods(pods: int, prefix: int) -> None:
    assert node_range(pods) == prefix


def test_pools_that_can_have_more_nodes_than_addresses_are_a_warning_with_the_number() -> None:
    (problem,) = told(clouds(cluster("east", pool(maxNodeCount=15_000), network=SMALL)))
    assert problem == Problem(
        "cluster 'east' has 10.4.0.0/17 of block 10.4.0.0/16 for pods, which is 128 nodes of 110 pods (a /24 "
        "each); its pools at their maxima are 15004: l4 15000, system 4 (GKE, maximum Pods per node, "
        "2026-11-24: https://cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr)",
        "Write fewer nodes, or node.pods: 64 or less in the class, or make another cluster; no block is "
        "large enough",
        "spec.cluster.gke.network.block",
        kind="InferenceCluster",
        key="east",
        severity="warning",
    )


def test_a_block_of_14_has_room_for_512_nodes_of_all_pools_and_the_system_pool() -> None:
    documents = [
        clouds(cluster("east", pool(maxNodeCount=size), pool("b", maxNodeCount=200))) for size in (308, 309)
    ]
    assert [[one.next_step for one in told(each)] for each in documents] == [
        [],
        [
            "Write fewer nodes, or node.pods: 64 or less in the class, or make another cluster; a new "
            "cluster can have a block of /13"
        ],
    ]


def test_nodes_of_few_pods_take_less() -> None:
    thin = pool("l4", "thin", maxNodeCount=248)
    assert told(clouds(cluster("east", thin, network=SMALL), classes=(of_pods(64),))) == []
    assert len(told(clouds(cluster("east", thin, network=SMALL), classes=(of_pods(65),)))) == 1


def test_nodes_of_fixed_number_without_addresses_are_an_error_of_a_new_cluster() -> None:
    documents = clouds(cluster("east", pool(nodeCount=129, zones=["us-east5-a"]), network=SMALL))
    (problem,) = told(documents)
    assert (problem.severity, "it has at least 132: l4 129, system 3" in problem.what) == ("error", True)
    (problem,) = told(documents, remembering(east="10.4.0.0/16"))
    assert problem.severity == "warning"


def test_ranges_of_somebody_elses_network_are_not_known() -> None:
    host = {"name": "shared", "subnetwork": "nodes", "podsRange": "pods", "servicesRange": "services"}
    assert told(clouds(cluster("east", pool(maxNodeCount=15_000), network={"existing": host}))) == []
