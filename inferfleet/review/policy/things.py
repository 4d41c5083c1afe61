"""A thing that a policy is asked of: its typed value, its name in messages, and where it is written."""

from typing import Any, NamedTuple


class Thing(NamedTuple):
    """`said` is the thing in messages, `name` in waivers. `kind`, `key` and `path` are its document and
    field, `kind` is "" where it has none.
    """

    fact: Any
    said: str
    name: str
    kind: str = ""
    key: str = ""
    path: str = ""
