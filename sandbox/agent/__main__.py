"""Runs the agent of one cluster until it is killed: `python -m sandbox.agent <stack folder> <cluster>`."""

import asyncio
import sys

import aiohttp

from sandbox.agent.claims import serve_claims
from sandbox.agent.kubelet import Kubelet
from sandbox.agent.programs.host import ProgramHost
from sandbox.cluster.companions import cluster_of
from sandbox.cluster.watching import Api
from sandbox.devices.compute_domains import serve_compute_domains
from sandbox.hub.server import serve_hub


async def main(stack_folder: str, name: str) -> None:
    cluster = cluster_of(stack_folder, name)
    probes = aiohttp.TCPConnector(force_close=True, limit=0)
    async with (
        Api(cluster.server, cluster.folder / "pki") as api,
        aiohttp.ClientSession(connector=probes) as probe_session,
    ):
        hub = await serve_hub(cluster.places.hub)
        kubelet = Kubelet(ProgramHost(api, cluster.places, cluster.folder), probe_session, hub=hub)
        await asyncio.gather(kubelet.run(), serve_compute_domains(api), serve_claims(api, cluster.folder))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
