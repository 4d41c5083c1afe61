"""Values of flags with which a program would end, or which are more than a value."""

import pytest

from inferfleet.manifests.programs import Value, flag_mistakes
from inferfleet.profiles.profile import FlagKind

KNOWN: dict[str, FlagKind] = {"level": "level", "text": "text"}


def _told(name: str, value: Value) -> list[str]:
    found = flag_mistakes({name: value}, "it", known=KNOWN, own={}, refused={})
    return [mistake.next_step for mistake in found]


@pytest.mark.parametrize("level", ["debug", "Info", "error", "panic", 1, "5", 127])
def test_levels_of_logs_are_words_or_numbers(level: Value) -> None:
    assert _told("level", level) == []


@pytest.mark.parametrize("level", ["loud", "a\nb --port=1", 0, -1, 128, 1.5, True, ""])
def test_other_levels_end_a_program(level: Value) -> None:
    assert _told("level", level) == ["Give it one of debug, info, error and panic, or a number from 1 to 127"]


@pytest.mark.parametrize("value", ["/certs/für uns", "", 5])
def test_text_is_anything_on_one_line(value: Value) -> None:
    assert _told("text", value) == []


@pytest.mark.parametrize("value", ["a\nb --port=1", "a\tb", "a\0", "a\x7f", "a\u2028b"])
def test_control_characters_are_refused(value: str) -> None:
    assert _told("text", value) == ["Give it text of one line, without control characters"]
