"""Model servers: all of a cluster's in one process of stand-ins, asked for and heard in lines of JSON."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inferfleet.profiles.devices import RESOURCE_BY_DRIVER
from sandbox.agent.environment import environment, expanded
from sandbox.agent.logs import ContainerLog
from sandbox.agent.program import CannotStart, Exit
from sandbox.child import end, spawn
from sandbox.cluster.companions import python_environment, python_link
from sandbox.cluster.watching import UNREACHABLE, Api

Object = dict[str, Any]
ENGINE_TYPE = "llm-d.ai/engine-type"
_DEVICES = frozenset(RESOURCE_BY_DRIVER.values())
# Longest line it may say: a log line or a reason.
_LINE = 2**20


class Engines:
    """The process of stand-ins, started with the first of them and again when it ended."""

    def __init__(self, cluster_folder: Path) -> None:
        self._folder = cluster_folder
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._listeners: dict[str, Callable[[Object], None]] = {}
        self._starting = asyncio.Lock()

    async def ask(self, order: Object) -> None:
        """Sends the order to the process, which runs."""
        async with self._starting:
            process = self._process
            if process is None or process.returncode is not None:
                process = await self._start()
        assert process.stdin is not None  # it is a pipe
        try:
            process.stdin.write(json.dumps(order).encode() + b"\n")
            await process.stdin.drain()
        except ConnectionError:
            pass  # its end is told to all its listeners

    def listen(self, identity: str, heard: Callable[[Object], None]) -> None:
        """`heard` gets the events of this id until `forget`."""
        self._listeners[identity] = heard

    def forget(self, identity: str) -> None:
        self._listeners.pop(identity, None)

    async def _start(self) -> asyncio.subprocess.Process:
        if self._reading is not None:
            await self._reading  # all listeners have heard of the end before
        process = await spawn(
            python_link(self._folder, "engine"),
            *("-m", "sandbox.engine"),
            cwd=self._folder,
            env=python_environment(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LINE,
        )
        self._process, self._reading = process, asyncio.create_task(self._read(process))
        return process

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None  # it is a pipe
        while line := await process.stdout.readline():
            said: Object = json.loads(line)
            if heard := self._listeners.get(said["id"]):
                heard(said)
        await end(process, 0)
        for heard in [*self._listeners.values()]:
            heard({"event": "failed", "message": "the process of engine stand-ins ended", "code": 137})


class Engine:
    """The stand-in of one `engine` container."""

    def __init__(self, engines: Engines, api: Api, pod: Object, container: Object, log: ContainerLog) -> None:
        self._engines = engines
        self._api = api
        self._pod = pod
        self._container = container
        self._log = log
        self._id: str = pod["metadata"]["uid"]
        self._started: asyncio.Future[None] | None = None
        self._over: asyncio.Future[Exit] | None = None

    async def start(self) -> None:
        try:
            order = await self._order()
        except UNREACHABLE as error:
            raise CannotStart("CreateContainerError", f"the API server does not answer: {error}") from error
        loop = asyncio.get_running_loop()
        self._started, self._over = loop.create_future(), loop.create_future()
        self._log.begin()
        self._engines.listen(self._id, self._hear)
        await self._engines.ask(order)
        either: list[asyncio.Future[Any]] = [self._started, self._over]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)

    async def ended(self) -> Exit:
        assert self._over is not None  # it was started
        return await asyncio.shield(self._over)  # who waits may give up; the future is another's too

    async def stop(self, grace: float) -> None:
        if self._over is not None and not self._over.done():
            await self._engines.ask({"op": "stop", "id": self._id, "grace": grace})
            await asyncio.wait([self._over], timeout=grace + 5)
        self._engines.forget(self._id)

    def _hear(self, said: Object) -> None:
        assert self._started is not None
        assert self._over is not None
        what = said["event"]
        if what == "log":
            self._log.write(said["line"])
        elif what == "started" and not self._started.done():
            self._started.set_result(None)
        elif what in ("failed", "stopped") and not self._over.done():
            code = said.get("code", 1 if what == "failed" else 0)
            self._over.set_result(Exit(code, said.get("message", "")))

    async def _order(self) -> Object:
        pod, container = self._pod, self._container
        variables = await environment(self._api, pod, container)
        words = [*container.get("command", []), *container.get("args", [])]
        metadata = pod["metadata"]
        return {
            "op": "start",
            "id": self._id,
            "name": f"{metadata['namespace']}/{metadata['name']}",
            "address": pod["status"]["podIP"],
            "port": port_of(container),
            "engine": metadata.get("labels", {}).get(ENGINE_TYPE, ""),
            "args": expanded(words, variables),
            "env": variables,
            "gpus": gpus_of(container),
            "model": None,
            "annotations": metadata.get("annotations", {}),
        }


def port_of(container: Object) -> int:
    """The container's port named `http`, else its first, else 8000."""
    ports = container.get("ports", [])
    named = [one["containerPort"] for one in ports if one.get("name") == "http"]
    found: int = (named or [one["containerPort"] for one in ports] or [8000])[0]
    return found


def gpus_of(container: Object) -> int:
    """Devices the container has, of any vendor."""
    limits = container.get("resources", {}).get("limits", {})
    return sum(int(count) for resource, count in limits.items() if resource in _DEVICES)
