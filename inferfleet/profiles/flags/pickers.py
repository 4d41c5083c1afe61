"""The flags of endpoint pickers, by the names of their profiles: tables that `make tables` writes."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from inferfleet.profiles.profile import FlagKind

_FOLDER = Path(__file__).parent
# By the types of Go; a value of another type is any text.
_KINDS: dict[str, FlagKind] = {"bool": "bool", "int": "int", "duration": "duration", "levelFlag": "level"}


@cache
def picker_flags(name: str) -> Mapping[str, FlagKind]:
    """Return the flags of a picker with the kinds of their values."""
    raw = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return {flag["name"]: _KINDS.get(flag["type"], "text") for flag in raw["flags"]}
