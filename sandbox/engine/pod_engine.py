"""The life of one pod's engine: it reads its arguments, loads, serves, and ends."""

import asyncio
import contextlib
import os
from collections.abc import Callable

from sandbox.engine.failure import EngineFailure
from sandbox.engine.http_server import EngineServer
from sandbox.engine.protocol import Event, Start
from sandbox.engine.settings import Settings, settings
from sandbox.engine.steering import Steering, steering


class Pod:
    """Runs until it is stopped or fails; `tell` hears "started" and "log", then "failed" or "stopped"."""

    def __init__(self, start: Start, tell: Callable[[Event, str], None]) -> None:
        self._start = start
        self._tell = tell
        self._grace = 0.0
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self, *, grace: float) -> None:
        """Returns when it has ended."""
        self._grace = grace
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        try:
            await self._live()
        except EngineFailure as refusal:
            for line in str(refusal).splitlines():
                self._tell("log", f"ERROR {line}")
            self._tell("failed", str(refusal))
        except asyncio.CancelledError:
            self._tell("log", "INFO Shutting down")
            self._tell("stopped", "")
            raise

    async def _live(self) -> None:
        """Never returns: ends by EngineFailure or cancellation."""
        steer = steering(self._start.annotations)
        found = settings(self._start, steer)
        self._tell(
            "log", f"INFO {self._start.engine} of the sandbox, model {found.names[0]}, {_size(found, steer)}"
        )
        for note in found.notes:
            self._tell("log", note)
        if steer.fail_after == 0:
            raise EngineFailure(steer.fail_message)
        site = EngineServer(self._start.name, found, tokens_per_second=steer.tokens_per_second)
        try:
            if found.reachable:
                await self._listen(site, found)
            # Now, not before: a first probe that finds nobody is followed by the next one ten seconds later.
            self._tell("started", "")
            async with asyncio.timeout(steer.fail_after):
                self._tell("log", f"INFO Loading the model takes {steer.startup:g} s")
                await asyncio.sleep(steer.startup)
                site.ready = True
                self._tell("log", f"INFO Application startup complete, port {found.port}")
                await asyncio.Event().wait()
        except TimeoutError as error:
            raise EngineFailure(steer.fail_message) from error
        finally:
            await site.close(grace=self._grace)

    async def _listen(self, site: EngineServer, found: Settings) -> None:
        try:
            await site.open(self._start.address)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise EngineFailure(f"cannot listen on {self._start.address}:{found.port}: {why}") from error


def _size(found: Settings, steer: Steering) -> str:
    return f"{found.slots} requests at once, {steer.tokens_per_second:g} tokens/s each"
