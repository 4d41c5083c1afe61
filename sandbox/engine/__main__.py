"""Runs engines by commands on standard input, until that closes: `python -m sandbox.engine`."""

import asyncio
import contextlib
import os
import sys
from functools import partial

from sandbox.engine.pod_engine import PodEngine
from sandbox.engine.protocol import BadCommand, EventKind, Resolved, Start, command, event_line

# The longest command (bytes): a pod's command line and environment can be long.
MAX_LINE = 4 * 2**20


class EngineHost:
    """The engines of this process, by the id of their pods."""

    def __init__(self) -> None:
        self._engines: dict[str, PodEngine] = {}
        self._stops: set[asyncio.Task[None]] = set()

    def execute(self, line: str) -> None:
        """Carry out the command of a line. A line that is no command is reported on standard error."""
        try:
            received = command(line)
        except BadCommand as bad:
            print(bad, file=sys.stderr, flush=True)
            return
        if isinstance(received, Start):
            self._start(received)
        elif isinstance(received, Resolved):
            if engine := self._engines.get(received.id):
                engine.resolved(received.name, received.address)
        elif received.id in self._engines:
            engine = self._engines[received.id]
            stop = asyncio.get_running_loop().create_task(engine.stop(grace=received.grace))
            self._stops.add(stop)
            stop.add_done_callback(self._stops.discard)
        else:
            self._send(received.id, "stopped", "", 0)

    def _start(self, start: Start) -> None:
        if start.id in self._engines:
            print(f"{start.name} runs already", file=sys.stderr, flush=True)
            return
        self._engines[start.id] = PodEngine(start, partial(self._send, start.id))

    def _send(self, pod: str, kind: EventKind, text: str, code: int | None = None) -> None:
        if kind in ("failed", "stopped"):
            self._engines.pop(pod, None)
        field = {"log": "line", "resolve": "name"}.get(kind, "message")
        more: dict[str, str | int] = {field: text} if text or kind == "log" else {}
        more |= {} if code is None else {"code": code}
        # Lines are small and the reader does nothing else, so waiting for it is cheaper than a buffer.
        with contextlib.suppress(BrokenPipeError):  # the agent is gone, and standard input ends too
            os.write(sys.stdout.fileno(), event_line(kind, pod, **more))


async def main() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    host = EngineHost()
    while line := await reader.readline():
        if line.strip():
            host.execute(line.decode())


if __name__ == "__main__":
    asyncio.run(main())
