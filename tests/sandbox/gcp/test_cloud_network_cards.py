"""Network cards of nodes in the simulated cloud: which pools GKE makes networks for, and what claims see."""

from pathlib import Path
from typing import Any

import pytest
from cloud_double import create, with_cluster
from small_cloud import pool

from sandbox.devices.published import MADE_FROM
from sandbox.gcp.nodes.network_cards import cards_of, device_classes
from sandbox.gcp.nodes.pool_nodes import labels_of
from sandbox.gcp.rules.cluster import offers_network_cards
from sandbox.gcp.rules.errors import ApiError

DATAPLANE = {"datapathProvider": "ADVANCED_DATAPATH"}
A4 = {
    "machineType": "a4-highgpu-8g",
    "guestAccelerators": [{"type": "nvidia-b200", "count": 8}],
    "labels": {"cloud.google.com/gke-networking-dra-driver": "true"},
}
AUTO = {"networkConfig": {"acceleratorNetworkProfile": "auto"}, "nodeLocations": ["us-east5-a"]}
L4 = {"machineType": "g2-standard-8", "guestAccelerators": [{"type": "nvidia-l4", "count": 1}]}


@pytest.mark.parametrize(
    ("settings", "config", "fields", "words"),
    [
        (DATAPLANE, A4, {"networkConfig": {"acceleratorNetworkProfile": "fast"}}, "It must be 'auto'"),
        (DATAPLANE, L4, {}, "is not supported for machine type g2-standard-8"),
        ({}, A4, {}, "needs a cluster with datapathProvider ADVANCED_DATAPATH"),
        (DATAPLANE, A4, {"nodeLocations": ["us-east5-a", "us-east5-b"]}, "exactly one zone, not 2"),
        (
            DATAPLANE,
            A4,
            {"networkConfig": {**AUTO["networkConfig"], "additionalNodeNetworkConfigs": [{"network": "n"}]}},
            "cannot be combined with additionalNodeNetworkConfigs",
        ),
    ],
)
def test_the_profile_is_taken_where_gke_has_it(
    tmp_path: Path, settings: dict[str, Any], config: dict[str, Any], fields: dict[str, Any], words: str
) -> None:
    cloud, _ = with_cluster(tmp_path, **settings)
    with pytest.raises(ApiError, match=words):
        create(cloud, pool("p", config, **{**AUTO, **fields}))


def test_nodes_of_the_profile_have_its_label_and_offer_a_card_per_gpu(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path, **DATAPLANE)
    record = create(cloud, pool("p", A4, **AUTO))
    labels = labels_of(record, "us-east5-a")
    assert labels["gke.networks.io/accelerator-network-profile"] == "auto"
    (offered,) = cards_of({"metadata": {"name": "node-1", "labels": labels}})
    assert offered["metadata"].pop("annotations").keys() == {MADE_FROM}
    assert offered == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "node-1-cards"},
        "spec": {
            "driver": "dra.net",
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": f"gpu{number}rdma0",
                    "attributes": {"ifName": {"string": f"gpu{number}rdma0"}, "rdma": {"bool": True}},
                }
                for number in range(8)
            ],
        },
    }


def test_gke_makes_device_classes_of_cards_for_rdma_and_of_others() -> None:
    assert [
        (one["metadata"]["name"], one["spec"]["selectors"][0]["cel"]["expression"])
        for one in device_classes()
    ] == [
        ("mrdma.google.com", "device.driver == 'dra.net' && device.attributes['dra.net'].rdma"),
        ("netdev.google.com", "device.driver == 'dra.net' && !device.attributes['dra.net'].rdma"),
    ]


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        ({"masterVersion": "1.34.1-gke.1829001", **DATAPLANE}, True),
        ({"masterVersion": "1.34.1-gke.1829000", **DATAPLANE}, False),
        ({"masterVersion": "1.35.0-gke.1000000"}, False),
    ],
)
def test_cards_are_offered_from_a_version_on_with_dataplane_v2(state: dict[str, Any], offered: bool) -> None:
    assert offers_network_cards(state) is offered
