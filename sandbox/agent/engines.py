"""Runs the stand-ins for model servers: one engine process per cluster, driven by lines of JSON."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inferfleet.tables.devices import RESOURCE_API, VENDOR_BY_DRIVER, is_accelerator
from sandbox.agent.environment import environment, expanded
from sandbox.agent.logs import ContainerLog
from sandbox.agent.program import CannotStart, Exit
from sandbox.agent.programs.volumes import bucket_folder, mounts
from sandbox.child import end, spawn
from sandbox.cluster.companions import python_environment, python_link
from sandbox.cluster.objects import Object
from sandbox.cluster.watching import UNREACHABLE, Api, ApiError
from sandbox.engine.protocol import Start

# Returns the address of a name that a pod of the namespace asks for, or None.
Resolve = Callable[[str, str], str | None]
ENGINE_TYPE = "llm-d.ai/engine-type"
# The longest line (bytes) that the process may print: a log line or an error.
_LINE = 2**20
# How URLs of folders in buckets begin, from which engines stream.
_BUCKETS = "gs://"


class Engines:
    """The engine process of a cluster, which is started for the first engine and again when it has ended."""

    def __init__(self, cluster_folder: Path, resolve: Resolve) -> None:
        self._folder = cluster_folder
        self._resolve = resolve
        self._answers: set[asyncio.Task[None]] = set()
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._listeners: dict[str, Callable[[Object], None]] = {}
        self._starting = asyncio.Lock()

    async def send(self, command: Object) -> None:
        """Send the command to the process, and start that if it does not run."""
        async with self._starting:
            process = self._process
            if process is None or process.returncode is not None:
                process = await self._start()
        assert process.stdin is not None  # it is a pipe
        try:
            process.stdin.write(json.dumps(command).encode() + b"\n")
            await process.stdin.drain()
        except ConnectionError:
            pass  # the process has ended, and its listeners hear of that

    def answer(self, identity: str, namespace: str, name: str) -> None:
        """Tell an engine in a pod of the namespace the address of a name that it asked for."""
        address = self._resolve(name, namespace)
        command = {"op": "resolved", "id": identity, "name": name, "address": address}
        task = asyncio.create_task(self.send(command))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    def listen(self, identity: str, handle: Callable[[Object], None]) -> None:
        """Call `handle` with the events of this id until `forget`."""
        self._listeners[identity] = handle

    def forget(self, identity: str) -> None:
        """Stop handling the events of this id."""
        self._listeners.pop(identity, None)

    async def _start(self) -> asyncio.subprocess.Process:
        if self._reading is not None:
            await self._reading  # so that listeners hear of the end before a new start
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
            event: Object = json.loads(line)
            if handle := self._listeners.get(event["id"]):
                handle(event)
        await end(process, 0)
        for handle in [*self._listeners.values()]:
            handle({"event": "failed", "message": "the process of engine stand-ins ended", "code": 137})


class Engine:
    """The program of one `engine` container: its stand-in in the engine process."""

    def __init__(
        self,
        engines: Engines,
        api: Api,
        pod: Object,
        container: Object,
        log: ContainerLog,
        *,
        volumes: Path,
    ) -> None:
        self._engines = engines
        self._volumes = volumes
        self._api = api
        self._pod = pod
        self._container = container
        self._log = log
        self._id: str = pod["metadata"]["uid"]
        self._started: asyncio.Future[None] | None = None
        self._ended: asyncio.Future[Exit] | None = None

    async def start(self) -> None:
        try:
            command = await self.command()
        except UNREACHABLE as error:
            raise CannotStart("CreateContainerError", f"the API server does not answer: {error}") from error
        loop = asyncio.get_running_loop()
        self._started, self._ended = loop.create_future(), loop.create_future()
        self._log.begin()
        if lacking := await self._lacking_weights():
            self._log.write(lacking)
            self._ended.set_result(Exit(1, lacking))
            return
        self._engines.listen(self._id, self._handle)
        await self._engines.send({"op": "start", **vars(command)})
        either: list[asyncio.Future[Any]] = [self._started, self._ended]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)

    async def ended(self) -> Exit:
        assert self._ended is not None  # it was started
        return await asyncio.shield(self._ended)  # a caller that is cancelled must not cancel the future

    async def stop(self, grace: float) -> None:
        if self._ended is not None and not self._ended.done():
            await self._engines.send({"op": "stop", "id": self._id, "grace": grace})
            await asyncio.wait([self._ended], timeout=grace + 5)
        self._engines.forget(self._id)

    def _handle(self, event: Object) -> None:
        assert self._started is not None
        assert self._ended is not None
        kind = event["event"]
        if kind == "log":
            self._log.write(event["line"])
        elif kind == "resolve":
            self._engines.answer(self._id, self._pod["metadata"]["namespace"], event["name"])
        elif kind == "started" and not self._started.done():
            self._started.set_result(None)
        elif kind in ("failed", "stopped") and not self._ended.done():
            code = event.get("code", 1 if kind == "failed" else 0)
            self._ended.set_result(Exit(code, event.get("message", "")))

    async def _lacking_weights(self) -> str:
        """Return what an engine says of a model in a volume or bucket that is not there, or not all of it, or
        "".
        """
        folders = await mounts(self._api, self._pod, self._container, self._volumes)
        words = (*self._container.get("command", []), *self._container.get("args", []))
        for url in (word for word in words if word.startswith(_BUCKETS)):
            bucket, _, path = url.removeprefix(_BUCKETS).partition("/")
            folders[url] = bucket_folder(self._volumes, self._pod, bucket, writes=False) / path
        for mount, folder in folders.items():
            if mount in words:
                shards = list(folder.glob("*.safetensors"))
                if not shards or not (folder / "config.json").is_file():
                    return f"OSError: {mount} has no config.json, or no safetensors"
        return ""

    async def command(self) -> Start:
        """Return what the engine is started with."""
        pod, container = self._pod, self._container
        variables = await environment(self._api, pod, container)
        command_line = [*container.get("command", []), *container.get("args", [])]
        metadata = pod["metadata"]
        return Start(
            id=self._id,
            name=f"{metadata['namespace']}/{metadata['name']}",
            address=pod["status"]["podIP"],
            port=port_of(container),
            engine=metadata.get("labels", {}).get(ENGINE_TYPE, ""),
            args=tuple(expanded(command_line, variables)),
            env=variables,
            gpus=gpus_of(container) + await claimed_gpus(self._api, pod, container),
            annotations=metadata.get("annotations", {}),
            image=container["image"],
        )


def port_of(container: Object) -> int:
    """Return the container's port named `http`, else its first port, else 8000."""
    ports = container.get("ports", [])
    named = [port["containerPort"] for port in ports if port.get("name") == "http"]
    number: int = (named or [port["containerPort"] for port in ports] or [8000])[0]
    return number


async def claimed_gpus(api: Api, pod: Object, container: Object) -> int:
    """Return how many accelerators of any vendor the scheduler gave to the container by its claims.

    Raises CannotStart for a claim that is gone.
    """
    namespace = pod["metadata"]["namespace"]
    wanted = {claim["name"] for claim in container.get("resources", {}).get("claims", [])}
    gpus = 0
    for status in pod["status"].get("resourceClaimStatuses", []) if wanted else ():
        if status["name"] in wanted and status.get("resourceClaimName"):
            path = f"/apis/{RESOURCE_API}/namespaces/{namespace}/resourceclaims/{status['resourceClaimName']}"
            try:
                claim = await api.call("GET", path)
            except ApiError as error:
                raise CannotStart("FailedPrepareDynamicResources", str(error)) from error
            allocation = claim.get("status", {}).get("allocation", {})
            results = allocation.get("devices", {}).get("results", [])
            gpus += sum(result["driver"] in VENDOR_BY_DRIVER for result in results)
    return gpus


def gpus_of(container: Object) -> int:
    """Return how many devices of any vendor the container has."""
    limits = container.get("resources", {}).get("limits", {})
    return sum(int(count) for resource, count in limits.items() if is_accelerator(resource))
