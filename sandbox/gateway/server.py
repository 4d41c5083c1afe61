"""Keeps a cluster's Envoys as its Gateways, routes, pools and pods say, and writes back how that goes."""

import asyncio
import errno
import hashlib
import shutil
import socket
from datetime import UTC, datetime
from ipaddress import IPv4Network

from sandbox.cluster.kwok import KwokCluster
from sandbox.cluster.objects import key
from sandbox.cluster.watching import UNREACHABLE, Api, ApiError, Copies, follow
from sandbox.gateway import envoy, statuses
from sandbox.gateway.config import Config, config
from sandbox.gateway.envoy_process import EnvoyProcess
from sandbox.gateway.snapshot import GATEWAY_GROUP, POOL_GROUP, Snapshot

PATHS = {
    "classes": f"/apis/{GATEWAY_GROUP}/v1/gatewayclasses",
    "gateways": f"/apis/{GATEWAY_GROUP}/v1/gateways",
    "routes": f"/apis/{GATEWAY_GROUP}/v1/httproutes",
    "pools": f"/apis/{POOL_GROUP}/v1/inferencepools",
    "services": "/api/v1/services",
    "pods": "/api/v1/pods",
}
# Changes come in bursts; what comes within this time after the first is looked at once.
GATHER_SECONDS = 0.02
# Between looks at what is not as it should be yet.
AGAIN_SECONDS = 0.25


async def serve(cluster: KwokCluster, network: IPv4Network) -> None:
    """For ever. Gateways get addresses of the network."""
    folder = cluster.folder / "gateway"
    shutil.rmtree(folder, ignore_errors=True)  # of a controller that was killed; its Envoys died with it
    copies = {name: Copies(path) for name, path in PATHS.items()}
    changed = asyncio.Event()
    async with Api(cluster.server, cluster.folder / "pki") as api, asyncio.TaskGroup() as tasks:
        for one in copies.values():
            tasks.create_task(follow(api, one, lambda _: changed.set()))
        proxies: dict[str, EnvoyProcess] = {}
        while True:
            await changed.wait()
            await asyncio.sleep(GATHER_SECONDS)
            changed.clear()
            if all(one.complete for one in copies.values()):
                snapshot = Snapshot(**{name: one.objects for name, one in copies.items()})
                decided = config(snapshot, network)
                for name in (key(told.gateway) for told in decided.proxies):
                    proxies.setdefault(name, EnvoyProcess(folder / _folder_name(name), changed.set))
                if not await _bring_about(api, decided, snapshot, proxies):
                    asyncio.get_running_loop().call_later(AGAIN_SECONDS, changed.set)


async def _bring_about(
    api: Api, decided: Config, snapshot: Snapshot, proxies: dict[str, EnvoyProcess]
) -> bool:
    """Envoys and statuses are as decided; False when that is not all true yet."""
    ports: dict[tuple[str, int], str] = {}
    for one in decided.proxies:
        if one.address is None:
            continue
        refused = {port: await _refusal(one.address, port) for port in one.hosts}
        hosts = {port: one.hosts[port] for port, why in refused.items() if not why}
        proxy = proxies[key(one.gateway)]
        files = envoy.files(proxy.folder, one.address, hosts=hosts, backends=one.backends)
        proxy.tell(files, bootstrap=envoy.bootstrap(proxy.folder, key(one.gateway)))
        for port, why in refused.items():
            answers = not why and await _answers(one.address, port)
            ports[one.address, port] = "" if answers else why or "Envoy does not answer there yet"
    for gone in proxies.keys() - {key(one.gateway) for one in decided.proxies}:
        await proxies.pop(gone).end()
    written = await _write(api, decided, snapshot, ports)
    return written and not any(ports.values())


async def _write(api: Api, decided: Config, snapshot: Snapshot, ports: statuses.Ports) -> bool:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    well = True
    for path, status in statuses.changes(decided, snapshot, ports=ports, now=now).items():
        try:
            await api.patch(path, {"status": status})
        except ApiError as error:
            if error.status != 404:  # gone meanwhile
                print(f"{path}: {error}", flush=True)
                well = False
        except UNREACHABLE:
            well = False
    return well


async def _refusal(address: str, port: int) -> str:
    """Why this user's programs cannot listen there, "" when they can, or do."""
    if await _answers(address, port):
        return ""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # As Envoy does: its own listener is no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            if error.errno == errno.EACCES:
                return (
                    "ports below 1024 are not for your user. Set serving.gateway.port of the cluster to 8080 "
                    f"or run `sudo sysctl net.ipv4.ip_unprivileged_port_start={port}`."
                )
            return f"{error.strerror}. Another program has the port; end it."
    return ""


async def _answers(address: str, port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(address, port)
    except OSError:
        return False
    writer.close()
    return True


def _folder_name(gateway: str) -> str:
    """Short enough for a file system, whatever the Gateway is called."""
    digest = hashlib.sha256(gateway.encode()).hexdigest()[:6]
    return f"{gateway.rpartition('/')[2][:40]}-{digest}"
