"""The queue of one pod's requests: some run at once, the others wait in the order they came."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Load:
    """How many requests run and wait now, in total and by model, and what was done so far.

    `held` counts the tokens of running requests, which fill an engine's cache. `prefills` are prompts that
    were computed here, `transfers` those that came from another pod, and `refused` those that could not.
    """

    slots: int
    running: int = 0
    waiting: int = 0
    held: int = 0
    prompt_tokens: int = 0
    generated_tokens: int = 0
    prefills: int = 0
    transfers: int = 0
    refused: int = 0
    finished: Counter[str] = field(default_factory=Counter)
    running_models: Counter[str] = field(default_factory=Counter)
    waiting_models: Counter[str] = field(default_factory=Counter)
    _queue: deque[asyncio.Future[None]] = field(default_factory=deque)

    @asynccontextmanager
    async def slot(self, model: str, *, tokens: int) -> AsyncIterator[None]:
        """Hold a slot for the length of the block, once it is this request's turn.

        Cancellation gives it up.
        """
        if self.running < self.slots:
            self.running += 1
        else:
            await self._wait_for_turn(model)
        self.held += tokens
        self.running_models[model] += 1
        try:
            yield
        finally:
            self.held -= tokens
            self.running_models[model] -= 1
            self._free_slot()

    async def _wait_for_turn(self, model: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self.waiting += 1
        self.waiting_models[model] += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._free_slot()  # the client left in the moment its request got the slot
            raise
        finally:
            self.waiting -= 1
            self.waiting_models[model] -= 1

    def _free_slot(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.running -= 1
