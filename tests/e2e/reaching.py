"""Ways to pods past their gateway: what listens in a cluster's network, reached from outside of it."""

import asyncio
import os
import socket
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

from project import Project

from sandbox.istio.bootstrap import ADMIN
from sandbox.network import sockets
from sandbox.network.pod_network import has_namespace
from sandbox.network.relay import relay
from sandbox.places import StackPlaces


def pod_url(project: Project, cluster: str, pod: dict[str, Any], port: int = 8000) -> str:
    """The URL of a pod's port on this machine; it leads there until the tests end."""
    folder = StackPlaces(project.root, project.stack).cluster_folder(cluster)
    address = pod["status"]["podIP"]
    return _way(folder, address, port) if has_namespace(folder) else f"http://{address}:{port}"


@cache
def _way(folder: Path, address: str, port: int) -> str:
    async def dial() -> socket.socket:
        made = await asyncio.to_thread(sockets.connect, folder, address, port)
        made.setblocking(False)
        return made

    here = socket.create_server(("127.0.0.1", 0))
    asyncio.run_coroutine_threadsafe(relay(here, dial), _loop()).result()
    return f"http://127.0.0.1:{here.getsockname()[1]}"


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, daemon=True).start()
    return loop


def config_dump(project: Project, cluster: str, proxy: str) -> str:
    """All that the Envoy in a pod (`<namespace>/<name>`) has been told, as its own interface prints it."""
    folder = StackPlaces(project.root, project.stack).cluster_folder(cluster)
    [pod] = (folder / "pods").glob(f"{proxy.replace('/', '_')}_*")
    opened = os.open(pod, os.O_RDONLY | os.O_DIRECTORY)
    try:
        connection = HTTPConnection("envoy", timeout=300)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(f"/proc/self/fd/{opened}/{ADMIN}")
        connection.request("GET", "/config_dump?include_eds")
        return connection.getresponse().read().decode()
    finally:
        connection.close()
        os.close(opened)


def values_of(tree: Any, name: str, *, of: str = "") -> set[Any]:
    """The values of a field, wherever it is; `of` wants it in an object of a name that has this in it."""
    if isinstance(tree, list):
        return set().union(*(values_of(one, name, of=of) for one in tree))
    if not isinstance(tree, dict):
        return set()
    if of and of in str(tree.get("name", "")):
        of = ""
    own = {tree[name]} if name in tree and not of and isinstance(tree[name], str) else set()
    return own.union(*(values_of(one, name, of=of) for one in tree.values()))
