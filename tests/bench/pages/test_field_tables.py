"""How the fields of a schema are set out."""

from typing import Any

import pytest

from bench.pages.fields import tables
from inferfleet.documents.kinds.base import Dns1035

HEAD = "| field | type | default | description |\n|---|---|---|---|"


def one_field(**rule: Any) -> dict[str, Any]:
    return {"properties": {"size": {"description": "How big it is.", **rule}}}


def test_an_object_has_a_table_and_the_objects_inside_it_have_theirs_under_their_paths() -> None:
    inner = {"type": "object", "description": "An inner one.", **one_field(type="boolean", default=True)}
    outer = {
        "required": ["many"],
        "properties": {
            "named": {
                "type": "object",
                "additionalProperties": {"$ref": "#/$defs/Inner"},
                "description": "By name.",
            },
            "many": {"type": "array", "items": {"$ref": "#/$defs/Inner"}, "description": "A | B."},
        },
    }
    row = "| `size` | boolean | `true` | How big it is. |"
    assert list(tables(outer, {"Inner": inner})) == [
        f"{HEAD}\n"
        "| `many` | list of object | required | A \\| B. |\n"
        "| `named` | map of object |  | By name. |",
        "## `many[]`",
        "An inner one.",
        f"{HEAD}\n{row}",
        "## `named.<name>`",
        "An inner one.",
        f"{HEAD}\n{row}",
    ]


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ({"type": "string"}, "text |  |"),
        ({"type": "string", "maxLength": 20}, "text, at most 20 characters |  |"),
        ({"type": "string", "pattern": f"^({Dns1035(9).pattern})$"}, "name |  |"),
        ({"enum": ["A", "B"], "type": "string", "default": "A"}, "`A`, `B` | `A` |"),
        ({"type": "integer", "minimum": 1, "maximum": 64, "default": 1}, "whole number, 1 to 64 | `1` |"),
        ({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}, "whole number, at least 0 |  |"),
        ({"type": "string", "pattern": "^[0-9]{1,6}[smh]$"}, "duration |  |"),
        ({"anyOf": [{"type": "string"}, {"type": "number", "minimum": 0}]}, "quantity |  |"),
        ({"type": "array", "items": {"type": "string", "maxLength": 9}}, "list of text |  |"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 8}, "list of text, at most 8 |  |"),
        ({"type": "object", "additionalProperties": {"type": "string"}, "default": {}}, "map of text |  |"),
        ({"type": "object", "additionalProperties": True}, "map |  |"),
        ({}, "anything |  |"),
    ],
)  # fmt: skip
def test_types_and_defaults_are_told_in_words(rule: dict[str, Any], shown: str) -> None:
    (table,) = tables(one_field(**rule), {})
    assert table == f"{HEAD}\n| `size` | {shown} How big it is. |"
