"""The Container API answers `clusters.get` from what exists, after a login, as the real one does."""

from pathlib import Path

from cloud_double import IDS, ask, create, with_cluster
from small_cloud import l4

from sandbox.gcp.container_api import cluster_json, pool_json

EAST = "/v1/projects/acme/locations/us-east5/clusters/east"


def test_a_cluster_is_described_with_its_endpoint_and_certificate(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    status, answer = ask(cloud, EAST)
    assert (
        status,
        answer["status"],
        answer["endpoint"],
        answer["masterAuth"],
        answer["currentNodeCount"],
    ) == (
        200,
        "RUNNING",
        "127.0.0.1:6443",
        {"clusterCaCertificate": "Q0E="},
        1,
    )
    dns = answer["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]
    assert dns == {"allowExternalTraffic": False, "endpoint": "localhost:6443"}


def test_a_cluster_says_which_range_its_pods_have(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    assert ask(cloud, EAST)[1]["clusterIpv4Cidr"] == "10.4.0.0/14"


def test_a_cluster_that_is_not_there_is_404_and_a_call_without_login_401(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    missing = EAST.replace("east5", "east4")
    assert ask(cloud, missing) == (
        404,
        {
            "error": {
                "code": 404,
                "message": "Not found: projects/acme/locations/us-east4/clusters/east.",
                "status": "NOT_FOUND",
            }
        },
    )
    assert ask(cloud, EAST, login=False)[0] == 401


def test_versions_are_those_that_a_new_cluster_may_begin_with(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    status, answer = ask(cloud, "/v1/projects/acme/locations/us-east5/serverConfig")
    offered = {known["channel"]: known["validVersions"] for known in answer["channels"]}
    assert (status, answer["defaultClusterVersion"], offered["STABLE"]) == (
        200,
        "1.36.3-gke.1000000",
        ["1.36.3-gke.1000000", "1.35.9-gke.1000000", "1.34.9-gke.1000000", "1.33.9-gke.1000000"],
    )
    assert ask(cloud, "/v1/projects/acme/locations/us-east9/serverConfig")[0] == 400


def test_a_pool_says_what_went_wrong_with_it(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    record = create(cloud, l4()).but(status="ERROR", message="out of stock")
    answer = pool_json(record)
    assert (answer["status"], answer["statusMessage"], answer["autoscaling"]) == (
        "ERROR",
        "out of stock",
        {"enabled": True, "totalMinNodeCount": 0, "totalMaxNodeCount": 2, "locationPolicy": "ANY"},
    )
    assert answer["config"]["accelerators"] == [
        {
            "acceleratorType": "nvidia-l4",
            "acceleratorCount": "4",
            "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
        }
    ]
    records = cloud.store.read()
    cluster = records[IDS["east"]]
    assert [pool["name"] for pool in cluster_json(cluster, records)["nodePools"]] == ["system", "l4"]
