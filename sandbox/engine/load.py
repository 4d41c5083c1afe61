"""The requests of one pod: so many run at once, the others wait in the order they came."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Load:
    """What runs and what waits at this moment, by model too, and what was done so far.

    `held` are the tokens of running requests, which is what fills an engine's cache.
    """

    slots: int
    running: int = 0
    waiting: int = 0
    held: int = 0
    prompt_tokens: int = 0
    generated_tokens: int = 0
    finished: Counter[str] = field(default_factory=Counter)
    running_models: Counter[str] = field(default_factory=Counter)
    waiting_models: Counter[str] = field(default_factory=Counter)
    _queue: deque[asyncio.Future[None]] = field(default_factory=deque)

    @asynccontextmanager
    async def slot(self, model: str, *, tokens: int) -> AsyncIterator[None]:
        """Inside, a slot is this request's. A client that leaves gives up its place, or its slot."""
        if self.running < self.slots:
            self.running += 1
        else:
            await self._turn(model)
        self.held += tokens
        self.running_models[model] += 1
        try:
            yield
        finally:
            self.held -= tokens
            self.running_models[model] -= 1
            self._pass_on()

    async def _turn(self, model: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self.waiting += 1
        self.waiting_models[model] += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on()  # it was given the slot in the moment its client left
            raise
        finally:
            self.waiting -= 1
            self.waiting_models[model] -= 1

    def _pass_on(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.running -= 1
