"""The simulated cloud of a stack as a part of its sandbox: made, mended and found again."""

import subprocess
from concurrent.futures import ThreadPoolExecutor

from inferfleet.api.documents import Documents
from sandbox.cluster import ports
from sandbox.cluster.companions import python_environment, python_link
from sandbox.gcp import access
from sandbox.gcp.files import write_file
from sandbox.gcp.kubernetes_engine import KubernetesEngine
from sandbox.gcp.nodes.kwok_kubernetes import KwokKubernetes
from sandbox.gcp.rules.errors import OperationError
from sandbox.gcp.store import Record, Store, clusters, pools_of
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.processes import Process, processes_in
from sandbox.toolchain.parts import GOOGLE_PROVIDER
from sandbox.toolchain.tools import Tools

COMPANION = "cloud"
PLUGIN = "gcp"


def needs_cloud(places: StackPlaces, documents: Documents) -> bool:
    """True when a document wants a cluster of Google's, or such clusters stand from before."""
    made = any(one.spec.cluster.source == "GKE" for one in documents.clusters.values())
    return made or bool(Store(places.cloud).read())


def start_cloud(places: StackPlaces, tools: Tools) -> None:
    """The cloud answers, the engine finds its provider, and what exists in it runs as it should."""
    api = _address(places)
    access.make_access(places, api)
    _install(places)
    if not processes(places):
        _start(places, tools, port=int(api.rpartition(":")[2]))
    store, kube = Store(places.cloud), KwokKubernetes(places, tools)
    with ThreadPoolExecutor(max_workers=4) as threads:
        done = [threads.submit(_mend_cluster, one, store, kube) for one in clusters(store.read())]
    for one in done:
        one.result()


def refuse_busy(places: StackPlaces) -> None:
    """Raises SandboxProblem while an engine works on the cloud: what it makes looks like broken rests."""
    engine = next((one for one in processes_in(places.cloud) if one.program.name == PLUGIN), None)
    if engine is not None:
        raise SandboxProblem(
            f"Pulumi works on the simulated cloud of stack {places.stack} (its plugin is process "
            f"{engine.pid}). Run this again when it has ended."
        )


def processes(places: StackPlaces) -> tuple[Process, ...]:
    """Of the companion that answers the API and scales pools; none when it does not run."""
    return tuple(one for one in processes_in(places.cloud) if one.program.name == COMPANION)


def _mend_cluster(cluster: Record, store: Store, kube: KwokKubernetes) -> None:
    """As after its operations: those whose engine was killed come to their end, as they do at Google."""
    container = KubernetesEngine(store, kube)
    if cluster.status == "STOPPING":
        container.remove(cluster)
        with store.changing() as records:
            for one in [cluster, *pools_of(records, cluster.id)]:
                del records[one.id]
        return
    container.serve(cluster)
    store.change(cluster.id, status="RUNNING", message="")
    for pool in pools_of(store.read(), cluster.id):
        _mend_pool(pool, store, container)


def _mend_pool(pool: Record, store: Store, container: KubernetesEngine) -> None:
    if pool.status == "STOPPING":
        container.remove(pool)
        with store.changing() as records:
            del records[pool.id]
        return
    try:
        container.settle(pool.id)
    except OperationError as why:
        store.change(pool.id, status="ERROR", message=str(why))
    else:
        store.change(pool.id, status="RUNNING")


def _address(places: StackPlaces) -> str:
    """The Container API's, kept: programs that run know it from their environment."""
    file = places.cloud / access.ADDRESS
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # It lasts as long as the folder three levels above this path, the stack's.
        file.write_text(f"http://127.0.0.1:{ports.reserve(places.cloud / 'api' / 'port')}")
    return file.read_text()


def _install(places: StackPlaces) -> None:
    """The plugin in the sandbox's own Pulumi home: a script, for it must say which stack it serves."""
    link = python_link(places.cloud, PLUGIN)
    plugin = places.pulumi_home / "plugins" / f"resource-gcp-v{GOOGLE_PROVIDER}" / "pulumi-resource-gcp"
    path = python_environment()["PYTHONPATH"]
    text = f"#!/bin/sh\nPYTHONPATH='{path}' exec '{link}' -m sandbox.gcp.provider '{places.folder}'\n"
    if not plugin.exists() or plugin.read_text() != text:
        write_file(plugin, text, mode=0o755)


def _start(places: StackPlaces, tools: Tools, *, port: int) -> None:
    with open(places.cloud / f"{COMPANION}.log", "ab") as log:
        subprocess.Popen(
            [
                str(python_link(places.cloud, COMPANION)),
                *("-m", "sandbox.gcp.companion", str(places.folder), str(port)),
            ],
            cwd=places.cloud,
            env=python_environment() | {"PATH": tools.path},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
