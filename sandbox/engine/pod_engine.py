"""The life of one pod's engine: it reads its arguments, loads its model, serves, and ends."""

import asyncio
import os
from dataclasses import replace

from sandbox.engine.failure import REFUSED, EngineFailure
from sandbox.engine.http_server import EngineServer
from sandbox.engine.protocol import Send, Start
from sandbox.engine.rendezvous import Rendezvous
from sandbox.engine.settings import Settings, settings
from sandbox.engine.steering import Steering, steering

# The exit code of a process that SIGKILL ends.
KILLED = 137

# Pods of LeaderWorkerSets have this variable. The controller makes a group anew whenever a container in it
# has restarted, without back-off: 33 times in 25 s with engines that fail at once. Real ones need longer than
# this to load their own code.
_GROUP_SIZE, _LEAST_SECONDS = "LWS_GROUP_SIZE", 5.0


class PodEngine:
    """The engine of one pod, which runs until it is stopped or fails.

    `send` gets the events "started", "log" and "resolve", and at the end "failed" or "stopped".
    """

    def __init__(self, start: Start, send: Send) -> None:
        self._start = start
        self._send = send
        self._killed = asyncio.Event()
        self._told = False
        self._deaf = False
        self._lookups: dict[str, asyncio.Future[str | None]] = {}
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._task.add_done_callback(self._tell_stopped)

    async def stop(self, *, grace: float) -> None:
        """Tell the engine to end, kill it after `grace` seconds, and return when it has ended.

        One that was told before ignores it, and may be killed earlier. One that hears no signal serves on.
        """
        loop = asyncio.get_running_loop()
        if grace <= 0:
            self._killed.set()
        timer = loop.call_later(grace, self._killed.set)
        if self._deaf:
            killed = loop.create_task(self._killed.wait())
            await asyncio.wait([self._task, killed], return_when=asyncio.FIRST_COMPLETED)
            killed.cancel()
        if not self._told:
            self._told = True
            self._task.cancel()
        await asyncio.wait([self._task])
        timer.cancel()

    def resolved(self, name: str, address: str | None) -> None:
        """Take the answer to the event "resolve"."""
        lookup = self._lookups.pop(name, None)
        if lookup is not None and not lookup.done():
            lookup.set_result(address)

    async def _run(self) -> None:
        try:
            await self._serve_or_fail()
        except EngineFailure as failure:
            # What refuses a command line is no logger.
            level = "" if failure.code == REFUSED else "ERROR "
            for line in str(failure).splitlines():
                self._send("log", f"{level}{line}")
            self._send("failed", str(failure), failure.code)

    def _tell_stopped(self, task: asyncio.Task[None]) -> None:
        """Send what is said of an engine that was stopped, also of one that had not begun."""
        if task.cancelled():
            self._send("log", "INFO Killed" if self._killed.is_set() else "INFO Shutting down")
            self._send("stopped", "", KILLED if self._killed.is_set() else 0)

    async def _serve_or_fail(self) -> None:
        """Serve until cancelled. In a LeaderWorkerSet it takes a while to fail, as it does engines."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            await self._serve()
        except EngineFailure:
            if _GROUP_SIZE in self._start.env:
                await asyncio.sleep(begun + _LEAST_SECONDS - loop.time())
            raise

    async def _serve(self) -> None:
        """Serve until cancelled. Raises EngineFailure."""
        steer = steering(self._start.annotations)
        config = settings(self._start, steer)
        self._deaf = config.ending.deaf
        self._send(
            "log",
            f"INFO {self._start.engine} of the sandbox, model {config.names[0]}, {_size(config, steer)}",
        )
        for note in config.notes:
            self._send("log", note)
        if steer.fail_after == 0:
            raise EngineFailure(steer.fail_message)
        servers = [self._server(own, steer) for own in _one_per_port(config)]
        group = self._rendezvous(config)
        try:
            if config.reachable and config.answers != "nothing":
                await self._listen(servers)
            # Only now, because a first probe that fails is repeated ten seconds later.
            self._send("started", "")
            async with asyncio.timeout(steer.fail_after):
                await self._until_broken(group, servers, steer, ready=_ready(config))
        except asyncio.CancelledError:
            await asyncio.gather(*(server.end(config.ending, self._killed) for server in servers))
            raise
        except TimeoutError as error:
            raise EngineFailure(steer.fail_message) from error
        finally:
            for server in servers:
                await server.close()
            if group is not None:
                await group.close()

    async def _until_broken(
        self, group: Rendezvous | None, servers: list[EngineServer], steer: Steering, *, ready: str
    ) -> None:
        """Join the group if there is one, load the model, and serve until another pod of it has gone."""
        if group is not None:
            await group.join()
            self._send("log", "INFO All pods of the engine have joined")
        ending = asyncio.create_task(group.broken() if group else _forever())
        try:
            self._send("log", f"INFO Loading the model takes {steer.startup:g} s")
            await asyncio.wait([ending], timeout=steer.startup)
            if not ending.done():
                for server in servers:
                    server.ready = True
                self._send("log", f"INFO {ready}")
            await ending
        finally:
            ending.cancel()

    def _server(self, config: Settings, steer: Steering) -> EngineServer:
        return EngineServer(
            self._start.name,
            config,
            steer,
            address=self._start.address,
            resolve=self._resolve,
            say=lambda line: self._send("log", line),
        )

    def _rendezvous(self, config: Settings) -> Rendezvous | None:
        if config.group is None:
            return None
        return Rendezvous(
            config.group,
            self._resolve,
            lambda line: self._send("log", line),
            name=self._start.name,
            own=self._start.address,
        )

    async def _resolve(self, name: str) -> str | None:
        lookup = self._lookups.get(name)
        if lookup is None:
            lookup = self._lookups[name] = asyncio.get_running_loop().create_future()
            self._send("resolve", name)
        return await asyncio.shield(lookup)  # others may wait for the same answer

    async def _listen(self, servers: list[EngineServer]) -> None:
        for server in servers:
            try:
                await server.open()
            except OSError as error:
                why = os.strerror(error.errno) if error.errno else str(error)
                raise EngineFailure(f"cannot listen on {self._start.address}:{server.port}: {why}") from error


def _one_per_port(config: Settings) -> list[Settings]:
    """Return the settings of each API server of the pod, and of the one that tells their health."""
    first = config.group.first if config.group and config.group.ranks == "copies" else 0
    servers = [_of_copy(config, first)]
    for number, port in enumerate(config.more_ports, first + 1):
        servers.append(replace(_of_copy(config, number), port=port, metrics_port=port))
    if config.health_port is not None:
        port, paths = config.health_port, ("/health", "/ready", "/readyz")
        health = replace(config, port=port, metrics_port=port, metrics_path=None, health_paths=paths)
        servers.append(replace(health, answers="health"))
    return servers


def _of_copy(config: Settings, rank: int) -> Settings:
    """Return the settings of one copy of the model, each of which has a side channel of its own."""
    if config.transfer is None or config.transfer.way != "nixl":
        return config
    return replace(config, transfer=replace(config.transfer, port=config.transfer.port + rank))


def _ready(config: Settings) -> str:
    if config.answers == "requests":
        return f"Application startup complete, port {config.port}"
    return "Worker startup complete: another pod of the engine answers requests"


async def _forever() -> None:
    await asyncio.Event().wait()


def _size(config: Settings, steer: Steering) -> str:
    return f"{config.slots} requests at once, {steer.tokens_per_second:g} tokens/s each"
