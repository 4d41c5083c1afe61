"""`inferfleet doctor --leftovers`, by its own requests, against the simulated cloud."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cloud_double import IDS, create, empty_cloud, served
from fake_google import service_account
from small_cloud import Resource, cluster, network, pool

from inferfleet.cloud.values import CloudCluster, CloudComponent, CloudResource
from inferfleet.clusters.connections.google import addresses
from inferfleet.clusters.preflight.check import Check
from inferfleet.clusters.preflight.projects import leftovers
from inferfleet.desired.values import Connection, Desired, DesiredCluster
from inferfleet.fleet.decisions import Plan
from sandbox.gcp.operations import Cloud

WHAT = [
    "clusters",
    "instances",
    "disks",
    "load balancers",
    "addresses",
    "routers with NAT",
    "endpoint groups",
    "firewalls",
    "subnetworks",
    "networks",
]
GATEWAY: dict[str, Any] = {
    "kind": "Gateway",
    "metadata": {"name": "inferfleet", "namespace": "inferfleet-system"},
    "spec": {"gatewayClassName": "gke-l7-rilb"},
    "status": {"addresses": [{"value": "10.4.0.9"}]},
}
VOLUME: dict[str, Any] = {
    "kind": "PersistentVolume",
    "metadata": {"name": "pvc-1"},
    "spec": {
        "csi": {
            "driver": "pd.csi.storage.gke.io",
            "volumeHandle": "projects/acme/zones/us-east5-a/disks/pvc-1",
        }
    },
}
MADE: tuple[Resource, ...] = (*network(), cluster(), pool("system", nodeCount=1))


def desired() -> Desired:
    """The stack whose documents have the small cloud's cluster."""
    inside = CloudResource("gcp:compute/network:Network", "east/network", {"name": "net"})
    router = CloudResource("gcp:compute/router:Router", "east/nat", {"name": "nat"})
    plan = CloudCluster(
        "east",
        "acme",
        "us-east5",
        "east",
        "DNS",
        (CloudComponent("GkeNetwork", "east", (inside, router)),),
        {},
        source="GKE",
    )
    one = DesiredCluster(Connection("east", "gke/acme/us-east5/east", "active", cloud=plan), ())
    return Desired("prod", (one,), Plan(), frozenset(), ())


@pytest.fixture
def looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Cloud], tuple[Check, ...]]:
    def look(cloud: Cloud) -> tuple[Check, ...]:
        with served(cloud) as address:
            account = service_account(tmp_path / "account.json", f"{address}/token")
            monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(account))
            google = addresses(
                {
                    "CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER": f"{address}/",
                    "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": f"{address}/compute/v1/",
                }
            )
            return leftovers(desired(), google, seconds=300)

    return look


def test_of_an_empty_cloud_all_is_fine(tmp_path: Path, looked: Callable[[Cloud], tuple[Check, ...]]) -> None:
    cloud, _ = empty_cloud(tmp_path / "cloud")
    assert looked(cloud) == tuple(Check("project acme", what) for what in WHAT)


def test_of_a_cluster_that_stands_all_is_told(
    tmp_path: Path, looked: Callable[[Cloud], tuple[Check, ...]]
) -> None:
    cloud, kubernetes = empty_cloud(tmp_path / "cloud")
    kubernetes.objects = [GATEWAY, VOLUME]
    for declared in MADE:
        create(cloud, declared)
    assert [(check.what, check.verdict) for check in looked(cloud)] == [
        ("clusters", "wrong"),
        ("instances", "wrong"),
        ("disks", "wrong"),
        ("load balancers", "wrong"),
        ("addresses", "fine"),
        ("routers with NAT", "fine"),
        ("endpoint groups", "wrong"),
        ("firewalls", "wrong"),
        ("subnetworks", "wrong"),
        ("networks", "wrong"),
    ]


def test_a_cluster_that_is_deleted_before_its_gateways_and_volumes_leaves_what_costs(
    tmp_path: Path, looked: Callable[[Cloud], tuple[Check, ...]]
) -> None:
    cloud, kubernetes = empty_cloud(tmp_path / "cloud")
    kubernetes.objects = [GATEWAY, VOLUME]
    for declared in MADE:
        create(cloud, declared)
    for name in ("system", "east", "sub", "net"):
        cloud.delete(IDS[name])
    problems = [check.problem for check in looked(cloud) if check.problem]
    assert [problem.next_step.partition("run `gcloud ")[2].split(" --")[0] for problem in problems] == [
        "compute disks delete pvc-1",
        "compute forwarding-rules delete gkegw1-d2db-inferfleet-s-inferfleet-5ee737581c8b",
        "compute network-endpoint-groups delete k8s1-d2db5ee7-inferfleet-s-inferfleet-31a9ced1",
        "compute firewall-rules delete gkegw1-d2db-l7-ccfda59447ad",
    ]
    assert problems[0].what == "pvc-1 is there, of the stack's disks (project acme, us-east5-a)"
