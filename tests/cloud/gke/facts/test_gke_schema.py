"""The table of Google Cloud's fields is read whole, and says what facts the rest rests on."""

import json
from pathlib import Path
from typing import get_args

import pytest

from inferfleet.cloud.gke.facts.schema import Field, Type, at, replacing, resource, walk

CLUSTER, POOL = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"
TABLE = Path(__file__).parents[4] / "inferfleet" / "cloud" / "gke" / "facts" / "schema.json"
TOKENS = sorted(json.loads(TABLE.read_text())["resources"])


def test_the_table_has_the_resource_types_of_a_gke_cluster_and_of_buckets() -> None:
    assert TOKENS == [
        "gcp:compute/firewall:Firewall",
        "gcp:compute/network:Network",
        "gcp:compute/resourcePolicy:ResourcePolicy",
        "gcp:compute/router:Router",
        "gcp:compute/routerNat:RouterNat",
        "gcp:compute/subnetwork:Subnetwork",
        CLUSTER,
        POOL,
        "gcp:projects/iAMMember:IAMMember",
        "gcp:serviceaccount/account:Account",
        "gcp:storage/bucket:Bucket",
        "gcp:storage/bucketIAMMember:BucketIAMMember",
    ]


@pytest.mark.parametrize("token", TOKENS)
def test_every_field_has_a_known_type_and_every_path_in_it_leads_to_a_field(token: str) -> None:
    wrong = [
        path
        for path, one in walk(resource(token))
        if one.type not in get_args(Type)
        or one.element not in (None, *get_args(Type))
        or any(at(token, other) is None for other in (*one.conflicts, *one.exactly_one))
        or (one.output and (one.required or one.computed))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("token", "path", "field"),
    [
        (POOL, "cluster", Field("String", required=True, force_new=True)),
        (POOL, "initialNodeCount", Field("Int", force_new=True, computed=True)),
        (POOL, "nodeConfig.machineType", Field("String", computed=True)),
        (POOL, "nodeConfig.labels", Field("Map", computed=True, element="String")),
        (POOL, "nodeConfig.labels.any/key", Field("Map", computed=True, element="String")),
        (POOL, "nodeConfig.taints[0].key", Field("String", required=True)),
        (CLUSTER, "nodeConfig.spot", Field("Bool", force_new=True)),
        (CLUSTER, "deletionProtection", Field("Bool", default=True)),
        (
            CLUSTER,
            "ipAllocationPolicy.clusterSecondaryRangeName",
            Field(
                "String",
                force_new=True,
                computed=True,
                conflicts=(
                    "ipAllocationPolicy.clusterIpv4CidrBlock",
                    "ipAllocationPolicy.servicesIpv4CidrBlock",
                ),
            ),
        ),
        (POOL, "nodeConfig.nothing", None),
    ],
)
def test_a_field_is_found_by_its_path(token: str, path: str, field: Field | None) -> None:
    assert at(token, path) == field


def test_a_list_of_at_most_one_item_is_single() -> None:
    fields = resource(POOL)
    assert (fields["nodeConfig"].single, fields["nodeLocations"].single) == (True, False)


def test_the_paths_that_replace_are_named() -> None:
    assert replacing("gcp:compute/subnetwork:Subnetwork") == (
        "description",
        "externalIpv6Prefix",
        "internalIpv6Prefix",
        "name",
        "network",
        "params",
        "params.resourceManagerTags",
        "project",
        "region",
        "reservedInternalRange",
        "resolveSubnetMask",
    )
