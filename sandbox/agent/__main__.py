"""Runs the agent of one cluster until it is killed: `python -m sandbox.agent <stack folder> <cluster>`."""

import asyncio
import shutil
import sys
from pathlib import Path

import aiohttp

from sandbox.agent.kubelet import Kubelet
from sandbox.agent.picker import PickerHost
from sandbox.cluster.companions import cluster_of
from sandbox.cluster.watching import Api
from sandbox.devices.compute_domains import serve_compute_domains


async def main(stack_folder: str, name: str) -> None:
    cluster = cluster_of(stack_folder, name)
    program = shutil.which("epp")
    if program is None:
        sys.exit("the program epp is missing. Run `inferfleet sandbox up`.")
    probes = aiohttp.TCPConnector(force_close=True, limit=0)
    async with (
        Api(cluster.server, cluster.folder / "pki") as api,
        aiohttp.ClientSession(connector=probes) as probe_session,
    ):
        kubelet = Kubelet(PickerHost(api, cluster.folder, Path(program)), probe_session)
        await asyncio.gather(kubelet.run(), serve_compute_domains(api))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
