"""All pods of a cluster that have containers the sandbox can run."""

import asyncio
import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp

from inferfleet.api.kinds.containers import ENGINE
from sandbox.agent.checks import Checks
from sandbox.agent.container import Container
from sandbox.agent.engines import Engine, Engines
from sandbox.agent.logs import PREVIOUS, ContainerLog, pod_folder, trim
from sandbox.agent.picker import Machine, Picker
from sandbox.agent.pod import Pod
from sandbox.agent.program import Idle, Program
from sandbox.agent.status import ContainerView, now
from sandbox.cluster.stages import PICKER, PLAYED
from sandbox.cluster.watching import Copies, follow

Object = dict[str, Any]
TRIM_SECONDS = 20


class Kubelet:
    """Follows the pods of one cluster and runs those it knows."""

    def __init__(self, machine: Machine, probing: aiohttp.ClientSession) -> None:
        self._machine = machine
        self._probing = probing
        self._engines = Engines(machine.cluster_folder)
        self._copies = Copies("/api/v1/pods")
        self._pods: dict[str, Pod] = {}
        self._going: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """For ever."""
        await asyncio.gather(follow(self._machine.api, self._copies, self._changed), self._trim())

    def _changed(self, key: str) -> None:
        if not key:
            self._tidy()
            return
        pod, known = self._copies.objects.get(key), self._pods.get(key)
        if known is not None and (pod is None or pod["metadata"]["uid"] != known.uid):
            del self._pods[key]
            going = asyncio.create_task(known.gone())
            self._going.add(going)
            going.add_done_callback(self._going.discard)
            known = None
        if pod is None or not _is_ours(pod):
            return
        if known is None:
            folder = pod_folder(self._machine.cluster_folder, pod)
            known = self._pods[key] = Pod(self._machine.api, pod, folder, self._containers)
        known.update(pod)

    def _containers(self, pod: Object, changed: Callable[[], None]) -> tuple[Container, ...]:
        before = {one["name"]: one for one in pod["status"].get("containerStatuses", [])}
        return tuple(
            self._container(pod, spec, before.get(spec["name"]), changed)
            for spec in pod["spec"]["containers"]
        )

    def _container(
        self, pod: Object, spec: Object, before: Object | None, changed: Callable[[], None]
    ) -> Container:
        folder = pod_folder(self._machine.cluster_folder, pod)
        log = ContainerLog(folder / "logs", spec["name"])
        return Container(
            spec,
            self._program(pod, spec, folder, log),
            log,
            # What does not run cannot answer either.
            Checks(pod["status"]["podIP"], spec, self._probing) if spec["name"] in PLAYED else _fine,
            view=_view(spec, before),
            changed=changed,
        )

    def _program(self, pod: Object, spec: Object, folder: Path, log: ContainerLog) -> Program:
        if spec["name"] == ENGINE:
            return Engine(self._engines, self._machine.api, pod, spec, log)
        if spec["name"] == PICKER:
            return Picker(self._machine, pod, spec, folder, log)
        return Idle()

    def _tidy(self) -> None:
        """Removes what an agent before this one kept for pods that are gone."""
        kept = {pod_folder(self._machine.cluster_folder, one) for one in self._copies.objects.values()}
        for folder in (self._machine.cluster_folder / "pods").glob("*"):
            if folder not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    async def _trim(self) -> None:
        while True:
            await asyncio.sleep(TRIM_SECONDS)
            for log in (self._machine.cluster_folder / "pods").glob("*/logs/*.log"):
                if not log.stem.endswith(PREVIOUS):
                    with contextlib.suppress(FileNotFoundError):  # its pod went meanwhile
                        trim(log)


async def _fine(probe: Object) -> str:
    return ""


def _is_ours(pod: Object) -> bool:
    over = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    placed = bool(pod["spec"].get("nodeName"))
    return placed and not over and any(one["name"] in PLAYED for one in pod["spec"]["containers"])


def _view(spec: Object, before: Object | None) -> ContainerView:
    """Of a container that ran under an agent before this one: it ended with that."""
    fresh = ContainerView(spec["name"], spec["image"])
    if before is None or not ("running" in before["state"] or before.get("lastState")):
        return fresh
    ended = {
        "exitCode": 137,
        "reason": "Error",
        "message": "the sandbox's agent was started anew",
        "startedAt": before["state"].get("running", {}).get("startedAt"),
        "finishedAt": now(),
    }
    return ContainerView(
        spec["name"],
        spec["image"],
        last_state={"terminated": ended},
        restarts=before["restartCount"] + 1,
    )
