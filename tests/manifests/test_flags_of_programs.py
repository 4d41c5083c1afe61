"""Values of flags with which a program would end, or which are more than a value."""

from collections.abc import Callable

import pytest

from inferfleet.api.kinds.inference_cluster import Serving
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.manifests.picker.command import flags, is_secure
from inferfleet.manifests.programs import Value, flag_mistakes, text
from inferfleet.profiles.profile import FlagKind
from inferfleet.profiles.table import profile

KNOWN: dict[str, FlagKind] = {
    "level": "level",
    "text": "text",
    "bool": "bool",
    "int": "int",
}
TRUE: list[Value] = [True, 1, "1", "t", "T", "TRUE", "true", "True"]
FALSE: list[Value] = [False, 0, "0", "f", "F", "FALSE", "false", "False"]


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


def test_every_spelling_that_go_has_of_true_and_false_is_taken_and_written_in_one() -> None:
    assert [text(value, "bool") for value in TRUE if _told("bool", value) == []] == ["true"] * len(TRUE)
    assert [text(value, "bool") for value in FALSE if _told("bool", value) == []] == ["false"] * len(FALSE)


@pytest.mark.parametrize("value", ["yes", "on", "tRUE", "", 2, -1, 1.0])
def test_other_words_are_neither_true_nor_false(value: Value) -> None:
    assert _told("bool", value) == ["Give it true or false"]


def test_what_is_text_stays_as_it_is_written() -> None:
    assert [text(value, "text") for value in ("T", "1", 1, True)] == ["T", "1", "1", "true"]


def test_a_number_is_not_negative() -> None:
    assert [_told("int", value) for value in (-1, "-1", 4)] == [
        ["Give it a whole number, not negative"],
        ["Give it a whole number, not negative"],
        [],
    ]


@pytest.mark.parametrize("written", ["False", "f", 0, False])
def test_a_picker_serves_plain_text_by_every_spelling_of_false(
    deployment: Callable[..., ModelDeployment], serving: Callable[..., Serving], written: Value
) -> None:
    document = deployment(endpointPicker={"flags": {"secure-serving": written}})
    chosen = flags(deployment=document, serving=serving(), profile=profile("gie-1.5"))
    assert not is_secure(chosen)
