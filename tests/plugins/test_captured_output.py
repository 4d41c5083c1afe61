"""What is heard of code of others, and what is not."""

import logging
import sys
from threading import Thread

import pytest

from inferfleet.plugins.calling import capture_output, text_of


def test_words_of_other_threads_go_where_they_went(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    with capture_output(said):
        thread = Thread(target=print, args=("of the program",))
        thread.start()
        thread.join()
        print("of the plugin")
    assert said == ["of the plugin", "\n"]
    assert capsys.readouterr().out == "of the program\n"


def test_a_stream_that_is_closed_takes_more_words() -> None:
    said: list[str] = []
    with capture_output(said):
        sys.stdout.close()
        print("still here", flush=True)
    assert text_of(said) == "still here"


def test_nothing_is_heard_behind_the_block(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    with pytest.raises(KeyError), capture_output(said):
        raise KeyError
    print("later")
    logging.getLogger("mine").warning("later")
    assert (said, capsys.readouterr().out) == ([], "later\n")


def test_each_line_is_told_once() -> None:
    assert text_of(["a\n b", "\n\n", "a\n", "c"]) == "a; b; c"
