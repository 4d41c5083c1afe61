"""The simulated cloud of a stack as a part of its sandbox: when it is needed, started, repaired and busy."""

import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from inferfleet.documents.documents import Documents
from sandbox.cluster import ports
from sandbox.cluster.companions import python_environment, python_link, wait_until_reached
from sandbox.gcp import access
from sandbox.gcp.kubernetes_engine import KubernetesEngine
from sandbox.gcp.nodes.kwok_kubernetes import KwokKubernetes
from sandbox.gcp.rules.errors import OperationError
from sandbox.gcp.store import Record, Store, clusters, pools_of
from sandbox.places import StackPlaces
from sandbox.private import write_file
from sandbox.problem import SandboxProblem
from sandbox.processes import Process, processes_in
from sandbox.toolchain.parts import GOOGLE_PROVIDER
from sandbox.toolchain.tools import Tools

# The names under which the programs run, by which they are found again.
COMPANION = "cloud"
PLUGIN = "gcp"


def needs_cloud(places: StackPlaces, documents: Documents) -> bool:
    """Return True when a document wants a GKE cluster, or something exists in the cloud from before."""
    wants_gke = any(document.spec.cluster.source == "GKE" for document in documents.clusters.values())
    return wants_gke or bool(Store(places.cloud).read())


def start_cloud(places: StackPlaces, tools: Tools) -> None:
    """Start the cloud or repair it.

    After that the APIs answer, the Pulumi engine finds the plugin, and operations that were killed have
    ended.
    """
    api = _api_address(places)
    access.make_access(places, api)
    _install_plugin(places)
    port = int(api.rpartition(":")[2])
    companion = None if processes(places) else _start_companion(places, tools, port=port)
    engine = KubernetesEngine(Store(places.cloud), KwokKubernetes(places, tools))
    with ThreadPoolExecutor(max_workers=4) as threads:
        finished = [
            threads.submit(_finish_cluster, cluster, engine) for cluster in clusters(engine.store.read())
        ]
    for future in finished:
        future.result()
    wait_until_reached(
        lambda: socket.create_connection(("127.0.0.1", port), timeout=1),
        companion,
        log=_log(places),
        problem=f"the simulated cloud of stack {places.stack} does not answer at port {port}",
        next_step="Run the same command again, or `inferfleet sandbox down` first.",
    )


def refuse_busy(places: StackPlaces) -> None:
    """Raise SandboxProblem while Pulumi works on the cloud: what it is making would look broken."""
    plugins = (process for process in processes_in(places.cloud) if process.program.name == PLUGIN)
    plugin = next(plugins, None)
    if plugin is not None:
        raise SandboxProblem(
            f"Pulumi works on the simulated cloud of stack {places.stack} (its plugin is process "
            f"{plugin.pid}). Run this again when it has ended."
        )


def processes(places: StackPlaces) -> tuple[Process, ...]:
    """Return the process that answers the APIs and scales pools; nothing when it does not run."""
    return tuple(process for process in processes_in(places.cloud) if process.program.name == COMPANION)


def _finish_cluster(cluster: Record, engine: KubernetesEngine) -> None:
    """Finish the operations on a cluster and its pools, as Google does when their caller was killed."""
    store = engine.store
    if cluster.status == "STOPPING":
        stays = engine.remove(cluster)
        with store.changing() as records:
            records.update({one.id: one for one in stays})
            for record in [cluster, *pools_of(records, cluster.id)]:
                del records[record.id]
        return
    engine.apply_cluster(cluster)
    store.change(cluster.id, status="RUNNING", message="")
    for pool in pools_of(store.read(), cluster.id):
        _finish_pool(pool, engine)


def _finish_pool(pool: Record, engine: KubernetesEngine) -> None:
    store = engine.store
    if pool.status == "STOPPING":
        engine.remove(pool)
        with store.changing() as records:
            del records[pool.id]
        return
    try:
        engine.apply_pool(pool.id)
    except OperationError as error:
        store.change(pool.id, status="ERROR", message=str(error))
    else:
        store.change(pool.id, status="RUNNING")


def _api_address(places: StackPlaces) -> str:
    """Return the address of the Container API, which never changes: programs have it in their environment."""
    file = places.cloud / access.ADDRESS
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A port is reserved for as long as the folder three levels above this path exists, here the stack's.
        file.write_text(f"http://127.0.0.1:{ports.reserve(places.cloud / 'api' / 'port')}")
    return file.read_text()


def _install_plugin(places: StackPlaces) -> None:
    """Put the plugin into the sandbox's own Pulumi home, as a script that says which stack it serves.

    The engine starts it in the project's folder, which may have a package of this name: -P leaves that out.
    """
    link = python_link(places.cloud, PLUGIN)
    plugin = places.pulumi_home / "plugins" / f"resource-gcp-v{GOOGLE_PROVIDER}" / "pulumi-resource-gcp"
    path = python_environment()["PYTHONPATH"]
    script = f"#!/bin/sh\nPYTHONPATH='{path}' exec '{link}' -P -m sandbox.gcp.provider '{places.folder}'\n"
    if not plugin.exists() or plugin.read_text() != script:
        write_file(plugin, script, mode=0o700)


def _start_companion(places: StackPlaces, tools: Tools, *, port: int) -> "subprocess.Popen[bytes]":
    with open(_log(places), "ab") as log:
        return subprocess.Popen(
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


def _log(places: StackPlaces) -> Path:
    return places.cloud / f"{COMPANION}.log"
