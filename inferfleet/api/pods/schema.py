"""The types of Kubernetes' API as the pinned API server serves them: their fields, read from two tables.

`make schema` writes the tables. Those of pods are read when the first pod is checked, the others when a
plugin adds an object.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Field:
    """A field: its type, written as in `kubectl explain` (`[]EnvVar`, `map[string]Quantity`).

    `keys` are the fields by which the entries of a list must differ, with server-side apply at the latest;
    `once`: no entry may be there twice. `choices` are all values that it or its entries may have, () for any.
    """

    type: str
    keys: tuple[str, ...] = ()
    once: bool = False
    required: bool = False
    choices: tuple[str, ...] = ()


@cache
def kubernetes() -> str:
    """Return the minor version of Kubernetes that the tables are of, such as 1.36."""
    version: str = _table("pod")["kubernetes"]
    return ".".join(version.split(".")[:2])


def is_type(name: str) -> bool:
    """Return whether the tables have a type of this name, with fields of its own."""
    return name in _table("pod")["types"] or name in _table("object")["types"]


@cache
def fields(name: str) -> Mapping[str, Field]:
    """Return the fields of a type. Raises KeyError for a type that the tables lack."""
    types = _table("pod")["types"]
    entries = types[name] if name in types else _table("object")["types"][name]
    return {field: _field(text) for field, text in entries.items()}


@cache
def _table(name: str) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((_FOLDER / f"{name}_types.json").read_text(encoding="utf-8"))
    return table


def _field(text: str) -> Field:
    """Return the field that an entry describes: `[]ContainerPort by containerPort,protocol`."""
    words, _, choices = text.partition(" of ")
    kind, *rest = words.split()
    return Field(
        kind,
        keys=tuple(rest[rest.index("by") + 1].split(",")) if "by" in rest else (),
        once="once" in rest,
        required="required" in rest,
        choices=tuple("" if choice == '""' else choice for choice in choices.split()),
    )
