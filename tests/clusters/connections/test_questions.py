"""Questions at the same time, until a moment."""

import threading
import time

import pytest

from inferfleet.clusters.connections.questions import Questions


def test_answers_are_given_by_their_questions() -> None:
    assert Questions({"a": lambda: 1, "b": lambda: 2}).answers(until=time.monotonic() + 300) == {
        "a": 1,
        "b": 2,
    }
    assert Questions({}).answers(until=0) == {}


def test_a_question_that_hangs_is_left_behind() -> None:
    forever = threading.Event()
    asked = Questions({"a": lambda: True, "b": lambda: forever.wait(300)})
    assert asked.answers(until=time.monotonic() + 3) == {"a": True}
    forever.set()


def test_an_exception_is_raised_where_answers_are_awaited() -> None:
    def broken() -> int:
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        Questions({"a": broken}).answers(until=time.monotonic() + 300)


def test_an_error_that_is_an_answer_is_given_like_any_other() -> None:
    answer = LookupError("no")
    assert Questions({"a": lambda: answer}).answers(until=time.monotonic() + 300) == {"a": answer}
