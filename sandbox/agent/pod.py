"""The life of one pod: its containers run, its status is written, and they end before it is deleted."""

import asyncio
import contextlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sandbox.agent.container import Container
from sandbox.agent.status import pod_status
from sandbox.cluster.kwok_stages import KILL
from sandbox.cluster.objects import Object, now
from sandbox.cluster.watching import UNREACHABLE, Api, ApiError

STRATEGIC = "application/strategic-merge-patch+json"
# Seconds between attempts to write to an API server that does not answer.
RETRY_SECONDS = 1.0
# What a container runtime takes to report that a container has ended, before sidecars are told to end. The
# routing sidecar ends at once, also in the midst of the last bytes of the engine's last answer.
REPORT_SECONDS = 0.3


@dataclass(frozen=True)
class PodContainers:
    """The containers of a pod. Those of `first` end before any other starts, one after the other. Sidecars
    start before the others, in their order, and end after them.

    https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/
    """

    sidecars: tuple[Container, ...] = ()
    main: tuple[Container, ...] = ()
    first: tuple[Container, ...] = ()

    @property
    def all(self) -> tuple[Container, ...]:
        """All containers of the pod."""
        return self.first + self.sidecars + self.main

    async def run(self, policy: str) -> None:
        """Run all containers until cancelled, or until all have ended and the policy leaves them so."""
        for container in self.first:
            await container.run("Never" if policy == "Never" else "OnFailure")
        async with asyncio.TaskGroup() as running:
            for sidecar in self.sidecars:
                running.create_task(sidecar.run("Always"))
                await sidecar.has_started()
            for container in self.main:
                running.create_task(container.run(policy))

    async def stop(self, grace: float) -> None:
        """End all containers within `grace` seconds. `run` must have been cancelled."""
        loop = asyncio.get_running_loop()
        until = loop.time() + grace
        await asyncio.gather(*(container.stop(grace) for container in self.first + self.main))
        if self.main and self.sidecars:
            await asyncio.sleep(min(REPORT_SECONDS, max(0.0, until - loop.time())))
        for sidecar in reversed(self.sidecars):
            await sidecar.stop(max(0.0, until - loop.time()))


class Pod:
    """One pod by its uid. `make_containers` is called once the pod has an address."""

    def __init__(
        self,
        api: Api,
        pod: Object,
        folder: Path,
        make_containers: Callable[[Object, Callable[[], None]], PodContainers],
    ) -> None:
        self._api = api
        self._pod = pod
        self._folder = folder
        self._make_containers = make_containers
        self._containers = PodContainers()
        self._tasks: list[asyncio.Task[None]] = []
        self._written: Object = {}
        self._status_changed = asyncio.Event()
        self._ending: asyncio.Task[None] | None = None
        self._kill_mark = _kill_mark(pod)
        self.uid: str = pod["metadata"]["uid"]

    def update(self, pod: Object) -> None:
        """Act on the newest version of the pod's object."""
        self._pod = pod
        if _kill_mark(pod) != self._kill_mark:
            self._kill_mark = _kill_mark(pod)
            for container in self._containers.all:
                container.kill()
        if pod["metadata"].get("deletionTimestamp"):
            if self._ending is None:
                self._ending = asyncio.create_task(self._end(_grace_left(pod), confirm=True))
        elif not self._tasks and self._ending is None and pod.get("status", {}).get("podIP"):
            self._containers = self._make_containers(pod, self._status_changed.set)
            policy = pod["spec"].get("restartPolicy", "Always")
            running = (self._containers.run(policy), self._write_status())
            self._tasks = [asyncio.create_task(task) for task in running]
            self._status_changed.set()
        elif self._tasks and not self._is_shown():
            # A readiness gate opened, or a controller wrote that the node is lost: the containers decide.
            self._written = {}
            self._status_changed.set()

    def _is_shown(self) -> bool:
        """Return whether the pod's object shows the conditions that follow from its containers."""
        shown = self._pod["status"].get("conditions", [])
        statuses = {condition["type"]: condition["status"] for condition in shown}
        wanted = self._status()["conditions"]
        return all(statuses.get(condition["type"]) == condition["status"] for condition in wanted)

    def _status(self) -> Object:
        first, main, sidecars = (
            tuple(container.view for container in containers)
            for containers in (self._containers.first, self._containers.main, self._containers.sidecars)
        )
        return pod_status(self._pod, main, now(), first=first, sidecars=sidecars)

    async def gone(self) -> None:
        """End the pod at once, because its object no longer exists."""
        if self._ending is not None:
            self._ending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._ending
        await self._end(0, confirm=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _write_status(self) -> None:
        """Write the pod's status whenever it changes."""
        while True:
            await self._status_changed.wait()
            self._status_changed.clear()
            status = self._status()
            if status == self._written:
                continue
            metadata = self._pod["metadata"]
            # The uid keeps this status from a later pod of the same name.
            body = {"metadata": {"uid": self.uid}, "status": status}
            try:
                self._pod = await self._api.call(
                    "PATCH", f"{_path(metadata)}/status", body=body, content_type=STRATEGIC
                )
                self._written = status
            except ApiError as error:
                if error.status in (404, 409):
                    continue  # the pod is gone, and the watch will report that
                print(f"status of {metadata['namespace']}/{metadata['name']}: {error}", flush=True)
                await self._write_again()
            except UNREACHABLE:
                await self._write_again()

    async def _write_again(self) -> None:
        await asyncio.sleep(RETRY_SECONDS)
        self._status_changed.set()

    async def _end(self, grace: float, *, confirm: bool) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._containers.stop(grace)
        while confirm:
            try:
                await self._delete()
                return
            except UNREACHABLE:
                await asyncio.sleep(RETRY_SECONDS)

    async def _delete(self) -> None:
        """Delete the object, as a kubelet does: until then a deleted pod stays visible as terminating."""
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": self.uid},
        }
        try:
            await self._api.call("DELETE", _path(self._pod["metadata"]), body=body)
        except ApiError as error:
            if error.status not in (404, 409):
                raise


def _kill_mark(pod: Object) -> str:
    """Return the annotation that kills the containers of the pod whenever its value changes."""
    return str(pod["metadata"].get("annotations", {}).get(KILL, ""))


def _path(metadata: Object) -> str:
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"


def _grace_left(pod: Object) -> float:
    """Return the seconds that are left of the grace period of a deleted pod."""
    until = datetime.fromisoformat(pod["metadata"]["deletionTimestamp"])
    return max(0.0, (until - datetime.now(UTC)).total_seconds())
