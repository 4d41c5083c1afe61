"""The process that belongs to a cloud: `python -m sandbox.gcp.companion <stack folder> <port>`.

It answers Google's APIs and scales pools. One process does both, to save memory.
"""

import asyncio
import sys
from pathlib import Path

from aiohttp import web

from sandbox.gcp.container_api import application
from sandbox.gcp.kubernetes_engine import KubernetesEngine
from sandbox.gcp.nodes.autoscaler import autoscale
from sandbox.gcp.nodes.kwok_kubernetes import KwokKubernetes
from sandbox.gcp.store import Store
from sandbox.places import StackPlaces
from sandbox.toolchain.tools import present_tools


async def main(stack_folder: str, port: int) -> None:
    folder = Path(stack_folder)
    places = StackPlaces(folder.parent.parent, folder.name)
    tools = present_tools()
    if tools is None:
        sys.exit("the toolchain is not complete. Run `inferfleet sandbox up`.")
    store = Store(places.cloud)
    kubernetes = KwokKubernetes(places, tools)
    runner = web.AppRunner(application(store, kubernetes.outlasting), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await autoscale(places, KubernetesEngine(store, kubernetes))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
