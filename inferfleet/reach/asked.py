"""Questions that run at the same time, each in a thread that is left behind when time is up.

A name lookup or a credential command can hang where no timeout reaches.
"""

import queue
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Generic, NoReturn, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Asked(Generic[K, T]):
    """They run from now on."""

    def __init__(self, questions: Mapping[K, Callable[[], T]]) -> None:
        self._number = len(questions)
        self._answers: queue.SimpleQueue[tuple[K, Callable[[], T]]] = queue.SimpleQueue()
        for key, question in questions.items():
            name = f"ask {key}"
            threading.Thread(target=self._run, args=(key, question), daemon=True, name=name).start()

    def answers(self, *, until: float) -> dict[K, T]:
        """What came until that moment of the monotonic clock. An exception of a question is raised here."""
        found: dict[K, T] = {}
        while len(found) < self._number:
            try:
                key, answer = self._answers.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                break
            found[key] = answer()
        return found

    def _run(self, key: K, question: Callable[[], T]) -> None:
        try:
            answer = question()
        except BaseException as error:  # noqa: BLE001 (raised again in `answers`, where somebody sees it)
            self._answers.put((key, partial(_raise, error)))
        else:
            self._answers.put((key, lambda: answer))


def _raise(error: BaseException) -> NoReturn:
    raise error
