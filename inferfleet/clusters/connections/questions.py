"""Questions asked at the same time, each in a thread of its own until a deadline.

A name lookup or a credential command can hang where no timeout reaches; such a thread is left behind.
"""

import queue
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Generic, NoReturn, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Thing = TypeVar("Thing")
# Requests at once: an API server works on 600 of all clients by default (--max-requests-inflight and its
# mutating counterpart), and one of a small cluster shares two cores with what runs there.
PARALLEL = 8


class Questions(Generic[K, T]):
    """Questions by key, which run from the moment this is made."""

    def __init__(self, questions: Mapping[K, Callable[[], T]]) -> None:
        self._number = len(questions)
        self._answers: queue.SimpleQueue[tuple[K, Callable[[], T]]] = queue.SimpleQueue()
        for key, question in questions.items():
            name = f"ask {key}"
            threading.Thread(target=self._run, args=(key, question), daemon=True, name=name).start()

    def answers(self, *, until: float) -> dict[K, T]:
        """Return the answers that come before `until`, a moment of the monotonic clock. An exception that a
        question raised is raised here.
        """
        answers: dict[K, T] = {}
        while len(answers) < self._number:
            try:
                key, answer = self._answers.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                break
            answers[key] = answer()
        return answers

    def _run(self, key: K, question: Callable[[], T]) -> None:
        try:
            answer = question()
        except BaseException as error:  # noqa: BLE001 (raised again in `answers`, where somebody sees it)
            self._answers.put((key, partial(_raise, error)))
        else:
            self._answers.put((key, lambda: answer))


def in_parallel(question: Callable[[Thing], T], things: Sequence[Thing], *, late: T, until: float) -> list[T]:
    """Return the answer for each thing, a few asked at once, and `late` for those that had none by `until`, a
    moment of the monotonic clock.
    """
    answers = [late] * len(things)
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(things)):
        waiting.put(number)

    def ask() -> None:
        while True:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            answers[number] = question(things[number])

    Questions(dict.fromkeys(range(min(PARALLEL, len(things))), ask)).answers(until=until)
    return list(answers)


def _raise(error: BaseException) -> NoReturn:
    raise error
