"""The check of inputs finds what the provider would refuse."""

from typing import Any

import pytest
from input_check import mistakes

from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL
from inferfleet.cloud.values import CloudResource

POOL = {"cluster": "east"}


@pytest.mark.parametrize(
    ("token", "inputs", "expected"),
    [
        (NODE_POOL, POOL, []),
        (NODE_POOL, {}, ["cluster: is required"]),
        (NODE_POOL, {**POOL, "nodeCunt": 1}, ["nodeCunt: no such field"]),
        (NODE_POOL, {**POOL, "operation": "x"}, ["operation: is an output"]),
        (NODE_POOL, {**POOL, "nodeCount": "1"}, ["nodeCount: '1' is not of type Int"]),
        (NODE_POOL, {**POOL, "nodeCount": True}, ["nodeCount: True is not of type Int"]),
        (NODE_POOL, {**POOL, "nodeLocations": ["a", "a"]}, ["nodeLocations: says something twice"]),
        (NODE_POOL, {**POOL, "nodeConfig": [{}]}, ["nodeConfig.: [{}] is no block"]),
        (NODE_POOL, {**POOL, "placementPolicy": {}}, ["placementPolicy.type: is required"]),
        (
            NODE_POOL,
            {**POOL, "nodeConfig": {"guestAccelerators": [{"type": "x", "count": 1.5}]}},
            ["nodeConfig.guestAccelerators[0].count: 1.5 is not of type Int"],
        ),
        (
            NODE_POOL,
            {**POOL, "nodeConfig": {"labels": {"a": 1}}},
            ["nodeConfig.labels[0]: 1 is not of type String"],
        ),
        (
            CLUSTER,
            {"name": "east", "clusterIpv4Cidr": "10.0.0.0/14", "ipAllocationPolicy": {}},
            [
                "clusterIpv4Cidr: excludes ipAllocationPolicy",
                "ipAllocationPolicy: excludes clusterIpv4Cidr",
            ],
        ),
        (
            "gcp:compute/firewall:Firewall",
            {"name": "a", "network": "b", "allows": [], "denies": []},
            ["allows: not exactly one of allows, denies", "denies: not exactly one of allows, denies"],
        ),
    ],
)
def test_a_mistake_is_found(token: str, inputs: dict[str, Any], expected: list[str]) -> None:
    assert mistakes(CloudResource(token, "x", inputs)) == [f"{token} x: {said}" for said in expected]


def test_an_ignored_path_that_is_no_field_is_found() -> None:
    one = CloudResource(NODE_POOL, "x", POOL, ignore=("nodeConfig.spot", "nodeConfig.spt"))
    assert mistakes(one) == [f"{NODE_POOL} x: nodeConfig.spt: ignored, and no field"]
