"""The Container API answers `clusters.get` from what exists, after a login, as the real one does."""

import asyncio
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestClient, TestServer
from cloud_double import create, with_cluster
from small_cloud import l4

from sandbox.gcp.container_api import application, cluster_json, pool_json
from sandbox.gcp.operations import Cloud

EAST = "/v1/projects/acme/locations/us-east5/clusters/east"


def _ask(cloud: Cloud, path: str, *, login: bool = True) -> tuple[int, dict[str, Any]]:
    async def asked() -> tuple[int, dict[str, Any]]:
        async with TestClient(TestServer(application(cloud.store))) as client:
            token = (await (await client.post("/token")).json())["access_token"]
            headers = {"Authorization": f"Bearer {token}"} if login else {}
            answer = await client.get(path, headers=headers)
            return answer.status, await answer.json()

    # asyncio.run would leave the thread without a loop, and other tests want one.
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(asked())
    finally:
        loop.close()


def test_a_cluster_is_described_with_its_endpoint_and_certificate(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    status, found = _ask(cloud, EAST)
    assert (status, found["status"], found["endpoint"], found["masterAuth"], found["currentNodeCount"]) == (
        200,
        "RUNNING",
        "127.0.0.1:6443",
        {"clusterCaCertificate": "Q0E="},
        1,
    )
    dns = found["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]
    assert dns == {"allowExternalTraffic": False, "endpoint": "localhost:6443"}


def test_a_cluster_that_is_not_there_is_404_and_a_call_without_login_401(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    missing = EAST.replace("east5", "east4")
    assert _ask(cloud, missing) == (
        404,
        {
            "error": {
                "code": 404,
                "message": "Not found: projects/acme/locations/us-east4/clusters/east.",
                "status": "NOT_FOUND",
            }
        },
    )
    assert _ask(cloud, EAST, login=False)[0] == 401


def test_a_pool_says_what_went_wrong_with_it(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    record = create(cloud, l4()).but(status="ERROR", message="out of stock")
    found = pool_json(record)
    assert (found["status"], found["statusMessage"], found["autoscaling"]) == (
        "ERROR",
        "out of stock",
        {"enabled": True, "totalMinNodeCount": 0, "totalMaxNodeCount": 2, "locationPolicy": "ANY"},
    )
    assert found["config"]["accelerators"] == [
        {
            "acceleratorType": "nvidia-l4",
            "acceleratorCount": "4",
            "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
        }
    ]
    records = cloud.store.read()
    cluster = next(one for one in records.values() if one.id.endswith("clusters/east"))
    assert [one["name"] for one in cluster_json(cluster, records)["nodePools"]] == ["system", "l4"]
