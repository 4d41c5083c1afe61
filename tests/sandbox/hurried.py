"""Runs coroutines in a time of their own: instead of waiting, the clock jumps to what comes next."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Hurried(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        super().__init__()
        self._ahead = 0.0
        select = self._selector.select  # type: ignore[attr-defined]

        def jump(timeout: float | None = None) -> Any:
            events = select(0)
            if not events and timeout:
                self._ahead += timeout
            return events

        self._selector.select = jump  # type: ignore[attr-defined]

    def time(self) -> float:
        return super().time() + self._ahead


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns; its sleeps take no time."""
    with asyncio.Runner(loop_factory=_Hurried) as runner:
        return runner.run(coroutine)
