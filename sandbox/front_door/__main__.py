"""Runs Envoy Gateway beside one cluster: `python -m sandbox.front_door <stack folder> <cluster>`.

It runs in the network of the cluster's pods, as the agent does. Envoy Gateway has a network of its own in it,
because it listens at all addresses; where the stack installs it, it is a pod like others, and is not run
here. So has the Redis that documents name. For pods with such networks this process is the cluster's DNS
server, and relays the API server to an address that they reach.
"""

import asyncio
import shutil
import socket
import sys
from functools import partial
from pathlib import Path

from inferfleet.serving.envoy_gateway import NAMESPACE
from sandbox.agent.names import address_of
from sandbox.child import linked, spawn
from sandbox.cluster import podnet
from sandbox.cluster.companions import cluster_of
from sandbox.cluster.kwok import KwokCluster
from sandbox.cluster.watching import Api, Copies, follow
from sandbox.front_door import installation
from sandbox.front_door.names import Resolver
from sandbox.network.own_pod import command
from sandbox.network.relay import dialled, relay

# Names by which proxies, and the rate limit service, ask for Envoy Gateway.
_XDS = (f"envoy-gateway.{NAMESPACE}.svc.cluster.local", "envoy-gateway")
_RESTART_SECONDS = 1.0


async def main(stack_folder: str, name: str) -> None:
    """Run until killed."""
    cluster = cluster_of(stack_folder, name)
    pods, services = Copies("/api/v1/pods"), Copies("/api/v1/services")
    folder = cluster.folder / installation.FOLDER
    (folder / "resolv.conf").write_text(f"nameserver {installation.RESOLVER}\noptions ndots:5\n")
    beside = installation.beside(cluster.folder)
    reachable = podnet.network(cluster.folder).reachable

    def addresses(asked: str) -> list[str]:
        if asked in _XDS and beside:
            return [installation.CONTROL_PLANE]
        if (redis := installation.redis(cluster.folder)) and redis[0] == asked:
            return [installation.REDIS]
        for way in installation.ways(cluster.folder):
            if way.host == asked:
                return [way.inside]
        found = address_of(
            asked,
            NAMESPACE,
            pods=pods.objects.values(),
            services=services.objects.values(),
            reachable=reachable,
        )
        return [found] if found else []

    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: Resolver(addresses), local_addr=(installation.RESOLVER, 53))
    async with Api(cluster.server, cluster.folder / "pki") as api, asyncio.TaskGroup() as tasks:
        tasks.create_task(_serve_api(cluster))
        tasks.create_task(_count(cluster))
        if beside:
            mounts = {"/certs": str(folder / "certs"), "/etc/resolv.conf": str(folder / "resolv.conf")}
            begin = command(installation.CONTROL_PLANE, folder / "root", mounts)
            arguments = ("server", "--config-path", str(folder / "config.yaml"))
            tasks.create_task(_keep_running(cluster, "envoy-gateway", begin, arguments))
        for copies in (pods, services):
            tasks.create_task(follow(api, copies, lambda _: None))


async def _serve_api(cluster: KwokCluster) -> None:
    """Make the API server answer at an address that pods with networks of their own reach."""
    host, _, port = cluster.server.removeprefix("https://").partition(":")
    listening = socket.create_server((installation.API_SERVER, installation.API_PORT), backlog=1024)
    server = await relay(listening, partial(dialled, host, int(port)))
    await server.serve_forever()


async def _count(cluster: KwokCluster) -> None:
    """Run the Redis, once documents name one."""
    while not (redis := installation.redis(cluster.folder)):
        await asyncio.sleep(_RESTART_SECONDS)
    begin = command(installation.REDIS, cluster.folder / installation.FOLDER / "root-of-redis", {})
    await _keep_running(cluster, "memory-redis", begin, (f"0.0.0.0:{redis[1]}",))


async def _keep_running(
    cluster: KwokCluster, name: str, begin: list[str], arguments: tuple[str, ...]
) -> None:
    """Keep a program running in a network of its own, in which `begin` starts it."""
    program = shutil.which(name)
    if program is None:
        sys.exit(f"{name} is not built. `inferfleet sandbox up` builds it.")
    folder = cluster.folder / installation.FOLDER
    own = linked(cluster.folder, name, Path(program).resolve())
    with open(cluster.folder / "logs" / f"{name}.log", "ab") as log:
        while True:
            process = await spawn(
                Path(begin[0]),
                *begin[1:],
                *(str(own), *arguments),
                env={
                    **installation.environment(folder / "kubeconfig"),
                    "GOMAXPROCS": "1",
                    "PATH": "/usr/bin:/bin",
                    "HOME": str(folder),
                },
                cwd=folder,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            await process.wait()
            await asyncio.sleep(_RESTART_SECONDS)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
