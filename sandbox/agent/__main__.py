"""Runs the agent of one cluster until it is killed: `python -m sandbox.agent <stack folder> <cluster>`."""

import asyncio
import shutil
import sys
from pathlib import Path

import aiohttp

from sandbox.agent.kubelet import Kubelet
from sandbox.agent.programs.images import PROGRAMS, SUITES
from sandbox.agent.programs.real_program import ProgramHost
from sandbox.cluster.companions import cluster_of
from sandbox.cluster.watching import Api
from sandbox.devices.compute_domains import serve_compute_domains


async def main(stack_folder: str, name: str) -> None:
    cluster = cluster_of(stack_folder, name)
    found = {name: shutil.which(name) for name in PROGRAMS}
    if missing := [name for name, path in found.items() if path is None]:
        sys.exit(f"missing programs: {', '.join(missing)}. Run `inferfleet sandbox up`.")
    found |= {name: shutil.which(name) for name in SUITES.values()}
    programs = {name: Path(path) for name, path in found.items() if path}
    probes = aiohttp.TCPConnector(force_close=True, limit=0)
    async with (
        Api(cluster.server, cluster.folder / "pki") as api,
        aiohttp.ClientSession(connector=probes) as probe_session,
    ):
        kubelet = Kubelet(ProgramHost(api, cluster.folder, programs), probe_session)
        await asyncio.gather(kubelet.run(), serve_compute_domains(api))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
