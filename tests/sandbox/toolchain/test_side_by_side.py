"""Things that run side by side end together: with all results, or with the first that failed."""

import threading

import pytest

from sandbox.toolchain.side_by_side import Stop, side_by_side


def test_results_are_in_the_order_of_the_jobs() -> None:
    second_ended = threading.Event()

    def first(_: Stop) -> str:
        assert second_ended.wait(60)
        return "first"

    def second(_: Stop) -> str:
        second_ended.set()
        return "second"

    assert side_by_side([first, second], at_once=2) == ["first", "second"]
    assert side_by_side([], at_once=2) == []


def test_what_fails_stops_what_runs() -> None:
    def endless(stop: Stop) -> None:
        while True:
            stop.check()

    def failing(_: Stop) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        side_by_side([endless, failing], at_once=2)
