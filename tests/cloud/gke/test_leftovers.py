"""What of a project is the stack's: by names of clusters, their networks and labels, and nothing else."""

from dataclasses import replace

import pytest

from inferfleet.cloud.gke.leftovers import (
    Footprint,
    Leftover,
    clusters_left,
    footprints,
    networks_left,
    resources_left,
)
from inferfleet.cloud.values import CloudCluster, CloudComponent, CloudResource

NETWORK, ROUTER = "gcp:compute/network:Network", "gcp:compute/router:Router"
EAST = CloudCluster(
    "east",
    "acme",
    "us-east5",
    "east-1a2b3c",
    "DNS",
    (
        CloudComponent(
            "GkeNetwork",
            "east",
            (
                CloudResource(NETWORK, "east/network", {"name": "east-1a2b3c-network"}),
                CloudResource(ROUTER, "east/nat", {"name": "east-1a2b3c-nat"}),
            ),
        ),
    ),
    {},
    source="GKE",
)
MARK = Footprint(
    "acme",
    frozenset({"east-1a2b3c"}),
    frozenset({"east-1a2b3c-network"}),
    frozenset({"east-1a2b3c-nat"}),
    {"managed-by": "inferfleet", "inferfleet-stack": "prod"},
)
COMPUTE = "https://www.googleapis.com/compute/v1/projects/acme"
OURS = f"{COMPUTE}/global/networks/east-1a2b3c-network"
THEIRS = f"{COMPUTE}/global/networks/default"


def test_a_stack_is_known_by_the_names_and_labels_that_it_makes_in_each_project() -> None:
    other = replace(EAST, cluster="far", project="beta", cloud_name="far-4d5e6f", components=())
    assert footprints("prod", [EAST, other]) == (
        MARK,
        Footprint("beta", frozenset({"far-4d5e6f"}), frozenset(), frozenset(), MARK.labels, ("far",)),
    )


def test_clusters_are_the_stacks_by_name_or_by_labels_also_of_documents_that_are_gone() -> None:
    clusters = [
        {"name": "east-1a2b3c", "location": "us-east5"},
        {"name": "west-0f0f0f", "location": "us-west1", "resourceLabels": {**MARK.labels, "team": "a"}},
        {"name": "theirs", "location": "us-west1", "resourceLabels": {"managed-by": "inferfleet"}},
    ]
    delete = "gcloud container clusters delete"
    assert list(clusters_left(MARK, clusters)) == [
        Leftover("east-1a2b3c", "us-east5", f"{delete} east-1a2b3c --project acme --location us-east5"),
        Leftover("west-0f0f0f", "us-west1", f"{delete} west-0f0f0f --project acme --location us-west1"),
    ]


def test_networks_are_the_stacks_by_name() -> None:
    assert list(networks_left(MARK, [{"name": "default"}, {"name": "east-1a2b3c-network"}])) == [
        Leftover(
            "east-1a2b3c-network",
            "global",
            "gcloud compute networks delete east-1a2b3c-network --project acme",
        )
    ]


@pytest.mark.parametrize(
    ("collection", "scope", "ours", "theirs", "command"),
    [
        (
            "forwardingRules",
            "regions/us-east5",
            {"network": OURS},
            {"network": THEIRS},
            "forwarding-rules delete x --project acme --region us-east5",
        ),
        (
            "forwardingRules",
            "global",
            {"network": OURS},
            {},
            "forwarding-rules delete x --project acme --global",
        ),
        (
            "disks",
            "zones/us-east5-a",
            {"labels": {"goog-k8s-cluster-name": "east-1a2b3c"}},
            {"labels": {"goog-k8s-cluster-name": "east-ffffff"}},
            "disks delete x --project acme --zone us-east5-a",
        ),
        (
            "instances",
            "zones/us-east5-a",
            {"networkInterfaces": [{"network": OURS}]},
            {"networkInterfaces": [{"network": THEIRS}]},
            "instances delete x --project acme --zone us-east5-a",
        ),
        (
            "networkEndpointGroups",
            "zones/us-east5-a",
            {"network": OURS},
            {"network": THEIRS},
            "network-endpoint-groups delete x --project acme --zone us-east5-a",
        ),
        (
            "firewalls",
            "global",
            {"network": OURS},
            {"network": THEIRS},
            "firewall-rules delete x --project acme",
        ),
        (
            "subnetworks",
            "regions/us-east5",
            {"network": OURS},
            {"network": THEIRS},
            "networks subnets delete x --project acme --region us-east5",
        ),
        (
            "addresses",
            "regions/us-east5",
            {"subnetwork": f"{COMPUTE}/regions/us-east5/subnetworks/east-1a2b3c-nodes"},
            {"subnetwork": f"{COMPUTE}/regions/us-east5/subnetworks/default"},
            "addresses delete x --project acme --region us-east5",
        ),
    ],
)
def test_what_clusters_made_is_theirs_by_network_or_label(
    collection: str, scope: str, ours: dict[str, object], theirs: dict[str, object], command: str
) -> None:
    found = [(scope, {"name": "y", **theirs}), (scope, {"name": "x", **ours})]
    place = scope.partition("/")[2] or "global"
    assert list(resources_left(MARK, collection, found)) == [
        Leftover("x", place, f"gcloud compute {command}")
    ]


def test_routers_are_the_stacks_by_name() -> None:
    found = [("regions/us-east5", {"name": name}) for name in ("east-1a2b3c-nat", "nat")]
    assert [one.name for one in resources_left(MARK, "routers", found)] == ["east-1a2b3c-nat"]
