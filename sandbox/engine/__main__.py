"""`python -m sandbox.engine`: does what comes on its standard input, and ends when that closes."""

import asyncio
import contextlib
import os
import sys

from sandbox.engine.pod_engine import Pod
from sandbox.engine.protocol import BadCommand, Event, Start, event, order

# Lines of orders: a pod's command line and environment can be long.
MAX_LINE = 4 * 2**20


class Fleet:
    """All pods of this process, by id."""

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}
        self._stops: set[asyncio.Task[None]] = set()

    def obey(self, line: str) -> None:
        try:
            asked = order(line)
        except BadCommand as bad:
            print(bad, file=sys.stderr, flush=True)
            return
        if isinstance(asked, Start):
            self._start(asked)
        elif asked.id in self._pods:
            stop = asyncio.get_running_loop().create_task(self._pods[asked.id].stop(grace=asked.grace))
            self._stops.add(stop)
            stop.add_done_callback(self._stops.discard)
        else:
            self._tell(asked.id, "stopped", "")

    def _start(self, asked: Start) -> None:
        if asked.id in self._pods:
            print(f"{asked.name} runs already", file=sys.stderr, flush=True)
            return
        self._pods[asked.id] = Pod(asked, lambda kind, text: self._tell(asked.id, kind, text))

    def _tell(self, pod: str, kind: Event, text: str) -> None:
        if kind in ("failed", "stopped"):
            self._pods.pop(pod, None)
        more = {"line": text} if kind == "log" else {"message": text} if text else {}
        # Small lines to a reader that does nothing else: waiting for it is cheaper than a buffer of our own.
        with contextlib.suppress(BrokenPipeError):  # it is gone, and our input ends too
            os.write(sys.stdout.fileno(), event(kind, pod, **more))


async def main() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    fleet = Fleet()
    while line := await reader.readline():
        if line.strip():
            fleet.obey(line.decode())


if __name__ == "__main__":
    asyncio.run(main())
