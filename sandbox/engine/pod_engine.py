"""The life of one pod's engine: it reads its arguments, loads its model, serves, and ends."""

import asyncio
import contextlib
import os
from collections.abc import Callable

from sandbox.engine.failure import EngineFailure
from sandbox.engine.http_server import EngineServer
from sandbox.engine.protocol import EventKind, Start
from sandbox.engine.settings import Settings, settings
from sandbox.engine.steering import Steering, steering


class PodEngine:
    """The engine of one pod, which runs until it is stopped or fails.

    `send` gets the events "started" and "log", and at the end "failed" or "stopped".
    """

    def __init__(self, start: Start, send: Callable[[EventKind, str], None]) -> None:
        self._start = start
        self._send = send
        self._grace = 0.0
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self, *, grace: float) -> None:
        """Stop the engine, and return when it has ended."""
        self._grace = grace
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        try:
            await self._serve()
        except EngineFailure as failure:
            for line in str(failure).splitlines():
                self._send("log", f"ERROR {line}")
            self._send("failed", str(failure))
        except asyncio.CancelledError:
            self._send("log", "INFO Shutting down")
            self._send("stopped", "")
            raise

    async def _serve(self) -> None:
        """Serve until cancelled. Raises EngineFailure."""
        steer = steering(self._start.annotations)
        config = settings(self._start, steer)
        self._send(
            "log",
            f"INFO {self._start.engine} of the sandbox, model {config.names[0]}, {_size(config, steer)}",
        )
        for note in config.notes:
            self._send("log", note)
        if steer.fail_after == 0:
            raise EngineFailure(steer.fail_message)
        server = EngineServer(self._start.name, config, tokens_per_second=steer.tokens_per_second)
        try:
            if config.reachable:
                await self._listen(server, config)
            # Only now, because a first probe that fails is repeated ten seconds later.
            self._send("started", "")
            async with asyncio.timeout(steer.fail_after):
                self._send("log", f"INFO Loading the model takes {steer.startup:g} s")
                await asyncio.sleep(steer.startup)
                server.ready = True
                self._send("log", f"INFO Application startup complete, port {config.port}")
                await asyncio.Event().wait()
        except TimeoutError as error:
            raise EngineFailure(steer.fail_message) from error
        finally:
            await server.close(grace=self._grace)

    async def _listen(self, server: EngineServer, config: Settings) -> None:
        try:
            await server.open(self._start.address)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise EngineFailure(f"cannot listen on {self._start.address}:{config.port}: {why}") from error


def _size(config: Settings, steer: Steering) -> str:
    return f"{config.slots} requests at once, {steer.tokens_per_second:g} tokens/s each"
