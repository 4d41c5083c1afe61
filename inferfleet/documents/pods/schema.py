"""The types of Kubernetes' API as the pinned API server serves them: their fields, read from `types.json`,
which `make schema` writes.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


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
    """Return the minor version of Kubernetes that the table is of, such as 1.36."""
    version: str = _table()["kubernetes"]
    return ".".join(version.split(".")[:2])


def is_type(name: str) -> bool:
    """Return whether the table has a type of this name, with fields of its own."""
    return name in _table()["types"]


@cache
def fields(name: str) -> Mapping[str, Field]:
    """Return the fields of a type. Raises KeyError for a type that the table lacks."""
    return {field: _field(text) for field, text in _table()["types"][name].items()}


def api_version(kind: str) -> str | None:
    """Return the apiVersion of a kind of object, None for one that the table lacks."""
    version: str | None = _table()["kinds"].get(kind)
    return version


def is_of_clusters(group: str, kind: str) -> bool:
    """Return whether objects of a kind of Kubernetes or Gateway API belong to no namespace."""
    return f"{group}/{kind}" in _table()["cluster"]


@cache
def _table() -> dict[str, Any]:
    text = Path(__file__).with_name("types.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
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
