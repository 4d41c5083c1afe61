"""Runs all pods of a cluster that have containers for the agent."""

import asyncio
import contextlib
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import aiohttp

from inferfleet.documents.pods.template import ENGINE
from inferfleet.serving.adapters import FETCHER, SIDECAR
from inferfleet.serving.weights import FILLER, GATE
from sandbox.agent import vllm
from sandbox.agent.checks import Checks
from sandbox.agent.container import Container
from sandbox.agent.engines import ENGINE_TYPE, Engine, Engines
from sandbox.agent.logs import PREVIOUS, ContainerLog, pod_folder, trim
from sandbox.agent.names import address_of
from sandbox.agent.pod import Pod, PodContainers
from sandbox.agent.program import ContainerProgram, Idle
from sandbox.agent.programs.controllers import IMAGES, Controller, is_controller
from sandbox.agent.programs.host import ProgramHost
from sandbox.agent.programs.images import PICKERS, SIDECARS, SUITES, is_routing_sidecar, program_of
from sandbox.agent.programs.istio_proxy import IstioProxy
from sandbox.agent.programs.own_network import OwnNetworkProgram
from sandbox.agent.programs.real_program import RealProgram
from sandbox.agent.programs.script import Script
from sandbox.agent.status import ContainerView
from sandbox.cluster import podnet
from sandbox.cluster.kwok_stages import (
    AGENT_CONTAINERS,
    FRONT_DOOR_PROGRAMS,
    ISTIO_PROXY,
    PICKER,
    SHUTDOWN_MANAGER,
    SUITE_SERVERS,
)
from sandbox.cluster.objects import Object, now
from sandbox.cluster.watching import Copies, follow
from sandbox.istio import control_plane
from sandbox.network.pod_network import has_namespace
from sandbox.network.relay import dialled, relay
from sandbox.vllm import forks

_ISTIOD = f"istiod.{control_plane.NAMESPACE}.svc"
# Seconds between looks at the size of logs.
TRIM_SECONDS = 20


class Kubelet:
    """Follows the pods of one cluster and runs those that have a container for the agent."""

    def __init__(self, host: ProgramHost, probe_session: aiohttp.ClientSession, *, hub: str) -> None:
        """`hub` is the address of what stands in for the Hugging Face Hub."""
        self._host = host
        self._hub = hub
        self._probe_session = probe_session
        self._engines = Engines(host.cluster_folder, self._resolve)
        self._copies = Copies("/api/v1/pods")
        self._services = Copies("/api/v1/services")
        self._pods: dict[str, Pod] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Run until cancelled."""
        await asyncio.gather(
            follow(self._host.api, self._copies, self._changed),
            follow(self._host.api, self._services, lambda key: None),
            self._trim(),
            self._serve_xds(),
        )

    async def _serve_xds(self) -> None:
        """Lead proxies to an istiod that runs in a pod, whichever is ready, at the address of one beside the
        cluster.
        """
        folder = self._host.cluster_folder
        if control_plane.installed_at(folder) or not has_namespace(folder):
            return
        listening = socket.create_server((control_plane.HOST, control_plane.XDS_PORT))
        listening.setblocking(False)

        async def dial() -> socket.socket:
            address = self._resolve(_ISTIOD, control_plane.NAMESPACE)
            if address is None:
                raise OSError("no istiod is ready")
            return await dialled(address, control_plane.XDS_PORT)

        server = await relay(listening, dial)
        await server.serve_forever()

    def _resolve(self, name: str, namespace: str) -> str | None:
        pods, services = self._copies.objects.values(), self._services.objects.values()
        reachable = podnet.network(self._host.cluster_folder).reachable
        return address_of(name, namespace, pods=pods, services=services, reachable=reachable)

    def _changed(self, key: str) -> None:
        if not key:
            self._tidy()
            return
        pod, known = self._copies.objects.get(key), self._pods.get(key)
        if known is not None and (pod is None or pod["metadata"]["uid"] != known.uid):
            del self._pods[key]
            ending = asyncio.create_task(known.gone())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            known = None
        if pod is None or not _is_ours(pod):
            return
        if known is None:
            folder = pod_folder(self._host.cluster_folder, pod)
            known = self._pods[key] = Pod(self._host.api, pod, folder, self._containers)
        known.update(pod)

    def _containers(self, pod: Object, changed: Callable[[], None]) -> PodContainers:
        status, spec = pod["status"], pod["spec"]
        statuses = [*status.get("containerStatuses", []), *status.get("initContainerStatuses", [])]
        before = {status["name"]: status for status in statuses}

        def containers(specs: list[Object]) -> tuple[Container, ...]:
            return tuple(self._container(pod, one, before.get(one["name"]), changed) for one in specs)

        first = spec.get("initContainers", [])
        return PodContainers(
            containers([one for one in first if is_routing_sidecar(one) or one["name"] == SIDECAR]),
            containers(spec["containers"]),
            first=containers([one for one in first if _is_awaited(one)]),
        )

    def _container(
        self, pod: Object, spec: Object, before: Object | None, changed: Callable[[], None]
    ) -> Container:
        folder = pod_folder(self._host.cluster_folder, pod)
        log = ContainerLog(folder / "logs", spec["name"])
        program = self._program(pod, spec, folder, log)
        return Container(
            spec,
            program,
            log,
            # Containers that nothing runs for have nothing that could answer a probe.
            _always_healthy
            if isinstance(program, Idle)
            else Checks(pod["status"]["podIP"], spec, self._probe_session),
            view=_view(spec, before),
            changed=changed,
        )

    def _program(self, pod: Object, spec: Object, folder: Path, log: ContainerLog) -> ContainerProgram:
        if spec["name"] == ENGINE:
            stand_in = Engine(self._engines, self._host.api, pod, spec, log, volumes=folder / "volumes")
            label = pod["metadata"].get("labels", {}).get(ENGINE_TYPE)
            if label == vllm.LABEL and forks.wanted(self._host.places):
                return vllm.Vllm(stand_in, self._host, pod, spec, folder, log)
            return stand_in
        if spec["name"] in (FILLER, SIDECAR) or _is_awaited(spec):
            return Script(self._host, pod, spec, folder, log, {"HF_ENDPOINT": self._hub})
        if spec["name"] == ISTIO_PROXY:
            return IstioProxy(self._host, pod, spec, folder, log)
        if spec["image"] in FRONT_DOOR_PROGRAMS and spec["name"] != SHUTDOWN_MANAGER:
            return OwnNetworkProgram(self._host, pod, spec, folder, log)
        if is_controller(spec):
            return Controller(self._host, IMAGES, pod, spec, folder, log)
        if program_of(spec["image"], SUITES):
            return RealProgram(self._host, SUITES, pod, spec, folder, log)
        images = PICKERS if spec["name"] == PICKER else SIDECARS if is_routing_sidecar(spec) else None
        return RealProgram(self._host, images, pod, spec, folder, log) if images else Idle()

    def _tidy(self) -> None:
        """Remove folders that an earlier agent kept for pods that are gone."""
        kept = {pod_folder(self._host.cluster_folder, pod) for pod in self._copies.objects.values()}
        for folder in (self._host.cluster_folder / "pods").glob("*"):
            if folder not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    async def _trim(self) -> None:
        while True:
            await asyncio.sleep(TRIM_SECONDS)
            for log in (self._host.cluster_folder / "pods").glob("*/logs/*.log"):
                if not log.stem.endswith(PREVIOUS):
                    with contextlib.suppress(FileNotFoundError):  # its pod is gone
                        trim(log)


async def _always_healthy(probe: Object) -> str:
    return ""


def _is_awaited(container: Object) -> bool:
    """Return whether an init container waits for weights, or fetches some, before the engine begins."""
    name: str = container["name"]
    return name.startswith(GATE) or name == FETCHER


def _is_ours(pod: Object) -> bool:
    ended = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    scheduled = bool(pod["spec"].get("nodeName"))
    containers = pod["spec"]["containers"]
    known = {container["name"] for container in containers} | {container["image"] for container in containers}
    ours = not known.isdisjoint((*AGENT_CONTAINERS, *SUITE_SERVERS, *FRONT_DOOR_PROGRAMS)) or any(
        map(is_controller, containers)
    )
    return scheduled and not ended and ours


def _view(spec: Object, before: Object | None) -> ContainerView:
    """Return the first view of a container. One that an earlier agent ran has ended with that agent."""
    fresh = ContainerView(spec["name"], spec["image"])
    if before is None or not ("running" in before["state"] or before.get("lastState")):
        return fresh
    ended = {
        "exitCode": 137,
        "reason": "Error",
        "message": "the sandbox's agent was restarted",
        "startedAt": before["state"].get("running", {}).get("startedAt"),
        "finishedAt": now(),
    }
    return ContainerView(
        spec["name"],
        spec["image"],
        last_state={"terminated": ended},
        restarts=before["restartCount"] + 1,
    )
