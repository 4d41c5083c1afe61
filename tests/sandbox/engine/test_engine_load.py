"""So many requests of a pod run, the others wait in order, and the numbers are true at every moment."""

import asyncio

from sandbox.engine.load import Load


class Request:
    """A request that holds its slot until it is told to end."""

    def __init__(self, load: Load, model: str = "q", tokens: int = 10) -> None:
        self.end = asyncio.Event()
        self.task = asyncio.get_running_loop().create_task(self._run(load, model, tokens))

    async def _run(self, load: Load, model: str, tokens: int) -> None:
        async with load.slot(model, tokens=tokens):
            await self.end.wait()


async def settled() -> None:
    """Lets every task run until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


def counts(load: Load) -> tuple[int, int, int]:
    return load.running, load.waiting, load.held


def test_what_finds_no_slot_waits_and_runs_in_the_order_it_came() -> None:
    async def play() -> None:
        load = Load(slots=2)
        requests = [Request(load) for _ in range(4)]
        await settled()
        assert counts(load) == (2, 2, 20)
        requests[0].end.set()
        requests[3].end.set()  # it waits: it cannot end before it began
        await settled()
        assert counts(load) == (2, 1, 20)
        requests[1].end.set()
        await settled()
        assert counts(load) == (1, 0, 10)
        requests[2].end.set()
        await settled()
        assert counts(load) == (0, 0, 0)

    asyncio.run(play())


def test_a_client_that_leaves_gives_up_its_slot_or_its_place() -> None:
    async def play() -> None:
        load = Load(slots=1)
        first, second, third = (Request(load) for _ in range(3))
        await settled()
        second.task.cancel()
        await settled()
        assert counts(load) == (1, 1, 10)
        first.task.cancel()
        await settled()
        assert counts(load) == (1, 0, 10)
        third.task.cancel()
        await settled()
        assert counts(load) == (0, 0, 0)

    asyncio.run(play())


def test_a_client_that_leaves_in_the_moment_of_its_turn_passes_it_on() -> None:
    async def play() -> None:
        load = Load(slots=1)
        first, second, third = (Request(load) for _ in range(3))
        await settled()
        first.end.set()
        await asyncio.sleep(0)  # the turn is given, the task has not seen it
        second.task.cancel()
        await settled()
        assert counts(load) == (1, 0, 10)
        third.end.set()
        await settled()
        assert counts(load) == (0, 0, 0)

    asyncio.run(play())


def test_models_are_counted_apart() -> None:
    async def play() -> None:
        load = Load(slots=1)
        requests = [Request(load, "sql"), Request(load, "chat")]
        await settled()
        assert (+load.running_models, +load.waiting_models) == ({"sql": 1}, {"chat": 1})
        for request in requests:
            request.end.set()
        await settled()
        assert (+load.running_models, +load.waiting_models) == ({}, {})

    asyncio.run(play())
