"""The life of one pod: its containers run, its status says so, and its deletion ends them first."""

import asyncio
import contextlib
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sandbox.agent.container import Container
from sandbox.agent.status import now, pod_status
from sandbox.cluster.stages import KILL
from sandbox.cluster.watching import UNREACHABLE, Api, ApiError

Object = dict[str, Any]
STRATEGIC = "application/strategic-merge-patch+json"
RETRY = 1.0


class Pod:
    """One pod by its uid. `made` builds its containers once it has an address."""

    def __init__(
        self,
        api: Api,
        pod: Object,
        folder: Path,
        made: Callable[[Object, Callable[[], None]], tuple[Container, ...]],
    ) -> None:
        self._api = api
        self._pod = pod
        self._folder = folder
        self._made = made
        self._containers: tuple[Container, ...] = ()
        self._work: list[asyncio.Task[None]] = []
        self._said: Object = {}
        self._dirty = asyncio.Event()
        self._ending: asyncio.Task[None] | None = None
        self._kill = _kill(pod)
        self.uid: str = pod["metadata"]["uid"]

    def update(self, pod: Object) -> None:
        """The API server's newest word about it."""
        self._pod = pod
        if _kill(pod) != self._kill:
            self._kill = _kill(pod)
            for one in self._containers:
                one.kill()
        if pod["metadata"].get("deletionTimestamp"):
            if self._ending is None:
                self._ending = asyncio.create_task(self._end(_left(pod), confirm=True))
        elif not self._work and self._ending is None and pod.get("status", {}).get("podIP"):
            self._containers = self._made(pod, self._dirty.set)
            policy = pod["spec"].get("restartPolicy", "Always")
            self._work = [asyncio.create_task(one.run(policy)) for one in self._containers]
            self._work.append(asyncio.create_task(self._tell()))
            self._dirty.set()
        elif self._work and not self._is_said():
            # A readiness gate opened, or somebody took the node for dead meanwhile: what counts is what runs.
            self._said = {}
            self._dirty.set()

    def _is_said(self) -> bool:
        """True when the pod's conditions are what they should be."""
        found = {one["type"]: one["status"] for one in self._pod["status"].get("conditions", [])}
        return all(found.get(one["type"]) == one["status"] for one in self._status()["conditions"])

    def _status(self) -> Object:
        return pod_status(self._pod, tuple(one.view for one in self._containers), now())

    async def gone(self) -> None:
        """The API server knows it no more: it ends at once."""
        if self._ending is not None:
            self._ending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._ending
        await self._end(0, confirm=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _tell(self) -> None:
        """Writes its status whenever that changes."""
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            status = self._status()
            if status == self._said:
                continue
            metadata = self._pod["metadata"]
            # With the uid: a pod of the same name that came after it has a status of its own.
            body = {"metadata": {"uid": self.uid}, "status": status}
            try:
                self._pod = await self._api.call(
                    "PATCH", f"{_path(metadata)}/status", body=body, content_type=STRATEGIC
                )
                self._said = status
            except ApiError as error:
                if error.status in (404, 409):
                    continue  # it is gone, and the watch will say so
                print(f"status of {metadata['namespace']}/{metadata['name']}: {error}", flush=True)
                await self._again()
            except UNREACHABLE:
                await self._again()

    async def _again(self) -> None:
        await asyncio.sleep(RETRY)
        self._dirty.set()

    async def _end(self, grace: float, *, confirm: bool) -> None:
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        await asyncio.gather(*(one.stop(grace) for one in self._containers))
        while confirm:
            try:
                await self._delete()
                return
            except UNREACHABLE:
                await asyncio.sleep(RETRY)

    async def _delete(self) -> None:
        """Takes the object away: until the kubelet does, a deleted pod stays visible as terminating."""
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


def _kill(pod: Object) -> str:
    """Whatever stands there: another text means that the pod's containers are to be killed once more."""
    return str(pod["metadata"].get("annotations", {}).get(KILL, ""))


def _path(metadata: Object) -> str:
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"


def _left(pod: Object) -> float:
    """Seconds until the grace period of a deleted pod is over."""
    until = datetime.fromisoformat(pod["metadata"]["deletionTimestamp"])
    return max(0.0, (until - datetime.now(UTC)).total_seconds())
