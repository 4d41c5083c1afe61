"""`python -m sandbox.agent <stack folder> <cluster>`: runs until it is killed, and its children with it."""

import asyncio
import shutil
import sys
from pathlib import Path

import aiohttp

from sandbox.agent.kubelet import Kubelet
from sandbox.agent.picker import Machine
from sandbox.cluster.companions import cluster_of
from sandbox.cluster.watching import Api


async def main(stack_folder: str, name: str) -> None:
    cluster = cluster_of(stack_folder, name)
    program = shutil.which("epp")
    if program is None:
        sys.exit("the program epp is missing. Run `inferfleet sandbox up`.")
    probes = aiohttp.TCPConnector(force_close=True, limit=0)
    async with (
        Api(cluster.server, cluster.folder / "pki") as api,
        aiohttp.ClientSession(connector=probes) as probing,
    ):
        await Kubelet(Machine(api, cluster.folder, Path(program)), probing).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
