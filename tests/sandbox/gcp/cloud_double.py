"""A simulated cloud without API servers, which records what it would do with them."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from small_cloud import cluster, network, pool

from inferfleet.cloud.gke.facts.schema import resource
from sandbox.gcp.container_api import application
from sandbox.gcp.operations import Cloud
from sandbox.gcp.provider.check import check
from sandbox.gcp.provider.inputs import with_defaults
from sandbox.gcp.rules.outlasting import outlasting
from sandbox.gcp.store import Record, Store

IDS = {
    "net": "projects/acme/global/networks/net",
    "sub": "projects/acme/regions/us-east5/subnetworks/sub",
    "east": "projects/acme/locations/us-east5/clusters/east",
    "l4": "projects/acme/locations/us-east5/clusters/east/nodePools/l4",
    "system": "projects/acme/locations/us-east5/clusters/east/nodePools/system",
}


@dataclass
class RecordedKubernetes:
    """The Kubernetes side: it remembers the nodes of each pool, and its calls in their order.

    `objects` are on every cluster.
    """

    objects: list[dict[str, Any]] = field(default_factory=list)
    nodes: dict[str, dict[str, int]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def ensure_cluster(self, cluster: Record) -> tuple[str, str]:
        self.calls.append(f"ensure {cluster.name}")
        return "127.0.0.1:6443", "Q0E="

    def tell_gateways(self, cluster: Record) -> None:
        self.calls.append(f"proxies {cluster.name}")

    def outlasting(self, cluster: Record) -> list[Record]:
        return list(outlasting(cluster, self.objects))

    def remove_cluster(self, cluster: Record) -> None:
        self.calls.append(f"remove {cluster.name}")

    def node_counts(self, pool: Record) -> dict[str, int]:
        return self.nodes.get(pool.name, {})

    def set_nodes(self, pool: Record, *, leaving: tuple[str, ...] = ()) -> None:
        self.nodes[pool.name] = dict(pool.zones)
        self.calls.append(f"nodes {pool.name} {sum(pool.zones.values())}")


def empty_cloud(folder: Path) -> tuple[Cloud, RecordedKubernetes]:
    kubernetes = RecordedKubernetes()
    return Cloud(Store(folder), kubernetes), kubernetes


def create(cloud: Cloud, declared: dict[str, Any]) -> Record:
    """Create a resource like the engine does: checked, and with defaults."""
    return cloud.create(declared["token"], inputs(declared))


def inputs(declared: dict[str, Any]) -> dict[str, Any]:
    """Return the checked inputs of a resource, with defaults."""
    assert check(declared["token"], declared["inputs"]) == ()
    return with_defaults(resource(declared["token"]), declared["inputs"])


def with_cluster(folder: Path, **changes: Any) -> tuple[Cloud, RecordedKubernetes]:
    """Return a cloud with a network, a cluster, and a pool of one CPU node."""
    cloud, kubernetes = empty_cloud(folder)
    for declared in (*network(), cluster(**changes), pool("system", nodeCount=1)):
        create(cloud, declared)
    return cloud, kubernetes


def ask(cloud: Cloud, path: str, *, login: bool = True) -> tuple[int, dict[str, Any]]:
    """Return the status and the content that the cloud's APIs answer, after a login or without one."""

    async def status_and_content() -> tuple[int, dict[str, Any]]:
        async with TestClient(TestServer(application(cloud.store))) as client:
            token = (await (await client.post("/token")).json())["access_token"]
            headers = {"Authorization": f"Bearer {token}"} if login else {}
            response = await client.get(path, headers=headers)
            return response.status, await response.json()

    # asyncio.run would leave the thread without a loop, and other tests want one.
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(status_and_content())
    finally:
        loop.close()


@contextmanager
def served(cloud: Cloud) -> Iterator[str]:
    """The address of the cloud's APIs, which a thread of its own answers."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = web.AppRunner(application(cloud.store, cloud.kubernetes.outlasting))

    async def start() -> str:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        return f"http://{host}:{port}"

    yield asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
