"""Kubernetes objects as text that kubectl reads back exactly."""

import json
import re
from typing import Any, Literal

import yaml

Format = Literal["yaml", "json"]
# Text that every YAML reader takes for text. kubectl's reads more as numbers and booleans (y, 1e3, 0o17) than
# the one in Python does, so whatever else there is gets quotes.
_PLAIN = re.compile(r"[A-Za-z/][-A-Za-z0-9_./]*(?: [-A-Za-z0-9_./]+)*(?::[-A-Za-z0-9_./]+)*")
_NOT_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = None
    if not _PLAIN.fullmatch(value) or value.lower() in _NOT_TEXT:
        # Block style keeps files readable, and loses line separators other than the newline.
        readable = "\n" in value and value.replace("\n", "").isprintable()
        style = "|" if readable else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def manifest_text(manifest: dict[str, Any], *, as_format: Format) -> str:
    """One object, ending in a newline, its fields in the order they have."""
    if as_format == "json":
        return json.dumps(manifest, indent=2) + "\n"
    return yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)
