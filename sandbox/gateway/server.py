"""Watches a cluster, keeps its Envoys as its Gateways and routes say, and writes their statuses back."""

import asyncio
import hashlib
import shutil
import socket
from ipaddress import IPv4Network

from sandbox.cluster.kwok import KwokCluster
from sandbox.cluster.objects import key, now
from sandbox.cluster.watching import UNREACHABLE, Api, ApiError, Copies, follow
from sandbox.gateway import envoy, statuses
from sandbox.gateway.config import Config, config
from sandbox.gateway.envoy_process import EnvoyProcess
from sandbox.gateway.snapshot import GATEWAY_GROUP, POOL_GROUP, Snapshot
from sandbox.network.open_doors import obstacle, told
from sandbox.network.pod_network import has_namespace

PATHS = {
    "namespaces": "/api/v1/namespaces",
    "classes": f"/apis/{GATEWAY_GROUP}/v1/gatewayclasses",
    "gateways": f"/apis/{GATEWAY_GROUP}/v1/gateways",
    "routes": f"/apis/{GATEWAY_GROUP}/v1/httproutes",
    "pools": f"/apis/{POOL_GROUP}/v1/inferencepools",
    "services": "/api/v1/services",
    "pods": "/api/v1/pods",
}
# Seconds to wait after a change, because changes come in bursts.
GATHER_SECONDS = 0.02
# Seconds until the next attempt when something is not as it should be yet.
RETRY_SECONDS = 0.25


async def serve(cluster: KwokCluster, network: IPv4Network) -> None:
    """Run until cancelled. Gateways get addresses from the network."""
    folder = cluster.folder / "gateway"
    shutil.rmtree(folder, ignore_errors=True)  # left by a killed controller, whose Envoys ended with it
    copies = {name: Copies(path) for name, path in PATHS.items()}
    changed = asyncio.Event()
    async with Api(cluster.server, cluster.folder / "pki") as api, asyncio.TaskGroup() as tasks:
        for collection in copies.values():
            tasks.create_task(follow(api, collection, lambda _: changed.set()))
        processes: dict[str, EnvoyProcess] = {}
        while True:
            await changed.wait()
            await asyncio.sleep(GATHER_SECONDS)
            changed.clear()
            if all(collection.complete for collection in copies.values()):
                snapshot = Snapshot(**{name: collection.objects for name, collection in copies.items()})
                decided = config(snapshot, network)
                for name in (key(proxy.gateway) for proxy in decided.proxies):
                    processes.setdefault(name, EnvoyProcess(folder / _folder_name(name), changed.set))
                outside = told(cluster.folder) if has_namespace(cluster.folder) else None
                if not await _apply(api, decided, snapshot, processes, outside):
                    asyncio.get_running_loop().call_later(RETRY_SECONDS, changed.set)


async def _apply(
    api: Api,
    decided: Config,
    snapshot: Snapshot,
    processes: dict[str, EnvoyProcess],
    outside: statuses.Ports | None,
) -> bool:
    """Bring Envoys and statuses to what was decided. Return False when some of that is still to come.

    With `outside` this runs in a network of its own, and those are the ways into it.
    """
    ports: dict[tuple[str, int], str] = {}
    for proxy in decided.proxies:
        if proxy.address is None:
            continue
        obstacles = {port: await _obstacle(proxy.address, port) for port in proxy.hosts}
        hosts = {port: proxy.hosts[port] for port, why in obstacles.items() if not why}
        process = processes[key(proxy.gateway)]
        configuration = envoy.configuration(
            process.folder, proxy.address, hosts=hosts, backends=proxy.backends
        )
        process.configure(configuration, bootstrap=envoy.bootstrap(process.folder, key(proxy.gateway)))
        for port, why in obstacles.items():
            answers = not why and await _answers(proxy.address, port)
            ports[proxy.address, port] = "" if answers else why or statuses.SILENT
            if answers and outside is not None:
                ports[proxy.address, port] = outside.get((proxy.address, port), statuses.SILENT)
    for removed in processes.keys() - {key(proxy.gateway) for proxy in decided.proxies}:
        await processes.pop(removed).end()
    written = await _write(api, decided, snapshot, ports)
    return written and not any(ports.values())


async def _write(api: Api, decided: Config, snapshot: Snapshot, ports: statuses.Ports) -> bool:
    complete = True
    for path, status in statuses.changes(decided, snapshot, ports=ports, now=now()).items():
        try:
            await api.patch(path, {"status": status})
        except ApiError as error:
            if error.status != 404:  # the object was deleted meanwhile
                print(f"{path}: {error}", flush=True)
                complete = False
        except UNREACHABLE:
            complete = False
    return complete


async def _obstacle(address: str, port: int) -> str:
    """Return why this user's programs cannot listen there, or "" when they can or do."""
    if await _answers(address, port):
        return ""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Envoy sets this option too, so its own listener is no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            return obstacle(error, port)
    return ""


async def _answers(address: str, port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(address, port)
    except OSError:
        return False
    writer.close()
    return True


def _folder_name(gateway: str) -> str:
    """Return a folder name that is short enough for a file system, whatever the Gateway's name."""
    digest = hashlib.sha256(gateway.encode()).hexdigest()[:6]
    return f"{gateway.rpartition('/')[2][:40]}-{digest}"
