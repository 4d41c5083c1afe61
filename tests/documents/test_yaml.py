"""YAML text to data and lines."""

from typing import Any

import pytest

from inferfleet.documents.yaml import Text, texts

# By the core schema of YAML 1.2: words that other readers of YAML turn into something else stay text.
SCALARS: dict[str, Any] = {
    "on": "on",
    "yes": "yes",
    "No": "No",
    "2026-04-14": "2026-04-14",
    "12:30:45": "12:30:45",
    "1_000": "1_000",
    "9.0.0": "9.0.0",
    "0b1": "0b1",
    "true": True,
    "FALSE": False,
    "~": None,
    "": None,
    "'~'": "~",
    "-7": -7,
    "0": 0,
    "0x1F": 31,
    "0o644": 420,
    "1e3": 1000.0,
    ".5": 0.5,
    "9223372036854775807": 2**63 - 1,
    "'0644'": "0644",
    "!!str 12": "12",
    "! 12": "12",
    "2026-11-27T10:00:00Z": "2026-11-27T10:00:00Z",
    "2026-11-27 10:00:00.5 +1": "2026-11-27 10:00:00.5 +1",
    "!!timestamp 2026-11-27": "2026-11-27",
    "!!timestamp '2026-11-27'": "2026-11-27",
    "!!int 12": 12,
    "!!float 1": 1.0,
    "|-\n  x\n  y": "x\ny",
}


@pytest.mark.parametrize("written", SCALARS)
def test_words_mean_what_yaml_1_2_says(written: str) -> None:
    (text,) = texts(f"a: {written}\n")
    assert (text.data, text.mistakes) == ({"a": SCALARS[written]}, ())
    found = text.data["a"]
    assert (float if isinstance(found, float) else type(found)) is type(SCALARS[written])


def test_every_field_has_the_line_of_its_key() -> None:
    assert list(texts("a: 1\n---\nb:\n  - c:\n      x\n  - {d.e/f: 2}\n")) == [
        Text({"a": 1}, {"": 1, "a": 1}, ()),
        Text(
            {"b": [{"c": "x"}, {"d.e/f": 2}]},
            {"": 3, "b": 3, "b[0]": 4, "b[0].c": 4, "b[1]": 6, 'b[1]["d.e/f"]': 6},
            (),
        ),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n", "\r\r\r\n", "\r", "\u2028\n"])
def test_lines_are_those_of_an_editor(end: str) -> None:
    both = list(texts(end.join(("a: 1", "b: 2", "---", "c: 3", ""))))
    assert [text.lines for text in both] == [{"": 1, "a": 1, "b": 2}, {"": 4, "c": 4}]


def test_merged_fields_give_way_to_those_that_stand_there() -> None:
    (text,) = texts("a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc:\n  <<: [*a, *b]\n  x: 3\n")
    assert text.data["c"] == {"x": 3, "y": 1, "z": 2}
    assert (text.lines["c.x"], text.lines["c.y"], text.lines["c.z"]) == (5, 1, 2)


def test_two_aliases_share_no_value() -> None:
    (text,) = texts("a: &a [1]\nb: *a\nc: *a\n")
    assert text.data == {"a": [1], "b": [1], "c": [1]}
    assert len({id(value) for value in text.data.values()}) == 3
