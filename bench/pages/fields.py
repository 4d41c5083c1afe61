"""The fields of a JSON Schema as Markdown: a table for each object, headed by its path in the document."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.documents.kinds.base import WRITTEN_DURATION, Dns1035
from inferfleet.documents.kinds.inference_class import Node

Schema = Mapping[str, Any]
_HEAD = "| field | type | default | description |\n|---|---|---|---|"
_QUANTITY = Node.model_json_schema()["properties"]["cpu"]["anyOf"]
_NAME = f"^({Dns1035(1).pattern})$"
_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "boolean"}


def tables(schema: Schema, definitions: Mapping[str, Schema], path: str = "") -> Iterator[str]:
    """Yield the table of an object, required fields first, and those of the objects inside it, as Markdown.

    `path` leads to the object: `spec.nodePools[]`, or "" for the whole document.
    """
    if path:
        yield f"## `{path}`"
        yield schema["description"]
    required = schema.get("required", ())
    fields: list[tuple[str, Schema]] = sorted(
        schema["properties"].items(), key=lambda field: field[0] not in required
    )
    yield "\n".join([_HEAD, *(_row(name, field, required=name in required) for name, field in fields)])
    for name, field in fields:
        for ending, reference in _objects(field):
            below = f"{path}.{name}{ending}".removeprefix(".")
            yield from tables(definitions[reference], definitions, below)


def _row(name: str, field: Schema, *, required: bool) -> str:
    default = "required" if required else _default(field.get("default"))
    cells = (f"`{name}`", _type(field), default, field["description"])
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(value: Any) -> str:
    """Return the default if it is a plain value, else nothing: the description says what it stands for."""
    if value is None or value == "" or isinstance(value, list | dict):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(field: Schema) -> str:
    if "$ref" in field:
        return "object"
    if among := _choices(field):
        if among == _QUANTITY:
            return "quantity"
        choices = [_type(choice) for choice in among if choice != {"type": "null"}]
        return " or ".join(word for word in choices if word != "whole number" or "number" not in choices)
    if "const" in field or "enum" in field:
        return ", ".join(f"`{choice}`" for choice in field.get("enum", [field.get("const")]))
    if field.get("pattern") == WRITTEN_DURATION.schema["pattern"]:
        return "duration"
    if "type" not in field:
        return "anything"
    if "prefixItems" in field:
        return f"pair of {_type(field['prefixItems'][0])}s"
    if field["type"] == "array":
        items = _type(field["items"]).partition(",")[0]
        return f"list of {items}{_limits(field, 'minItems', 'maxItems')}"
    if field["type"] == "object":
        values = field.get("additionalProperties")
        return f"map of {_type(values)}" if isinstance(values, Mapping) else "map"
    limits = _limits(field, "minimum", "maximum") or _limits(field, "", "maxLength", " characters")
    word = "name" if field.get("pattern") == _NAME else _WORDS[field["type"]]
    return word + limits


def _choices(field: Schema) -> list[Schema]:
    """Return the schemas of which a value has one, none where it has a single one."""
    found: list[Schema] = field.get("anyOf") or field.get("oneOf") or []
    return found


def _limits(field: Schema, least: str, most: str, unit: str = "") -> str:
    low, high = field.get(least), field.get(most)
    if high is None:
        return "" if low is None else f", at least {low:,}"
    return f", at most {high:,}{unit}" if low is None else f", {low:,} to {high:,}{unit}"


def _objects(field: Schema) -> Iterator[tuple[str, str]]:
    """Yield the objects that a field holds: how its path ends there, and the name of their definition."""
    if "$ref" in field:
        yield "", field["$ref"].rpartition("/")[2]
    for choice in _choices(field):
        yield from _objects(choice)
    if isinstance(items := field.get("items"), Mapping):
        yield from ((f"[]{ending}", reference) for ending, reference in _objects(items))
    if isinstance(values := field.get("additionalProperties"), Mapping):
        yield from ((f".<name>{ending}", reference) for ending, reference in _objects(values))
