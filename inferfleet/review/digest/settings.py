"""The file of a stack's settings, key by key: also what others read there, such as Pulumi and providers.

Only values that are known to be no secret are shown: a file may hold tokens in plain text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from inferfleet.documents.loading.settings import KEYS
from inferfleet.documents.loading.stack_files import NAMESPACE, is_encrypted
from inferfleet.review.digest.texts import field_of, fields
from inferfleet.review.digest.values.written import Field

_SECRETS = f"{NAMESPACE}secrets"
_OURS = frozenset(f"{NAMESPACE}{key}" for key in KEYS) - {_SECRETS}
# https://www.pulumi.com/registry/packages/gcp/installation-configuration/, and options of Pulumi itself.
_NAMES = re.compile(r"pulumi:[-a-zA-Z]+|gcp:(billingProject|project|region|zone|impersonateServiceAccount)")
_FLAG = re.compile(r"true|false", re.IGNORECASE)


def setting_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Field, ...]:
    """Return the settings that differ between two files of a stack, by their keys, sorted."""
    old, new = _flat(before), _flat(after)
    return tuple(
        made
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
        for made in _of_key(key, old.get(key), new.get(key))
    )


def _flat(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return all keys of a file in one map, those of the configuration with their namespace."""
    config = written.get("config")
    own = {
        key if ":" in key else f"{NAMESPACE}{key}": _textual(value)
        for key, value in (_textual(config) if isinstance(config, dict) else {}).items()
    }
    others = {str(key): _textual(value) for key, value in written.items() if key != "config"}
    return {key: value for key, value in {**others, **own}.items() if value is not None}


def _textual(value: Any) -> Any:
    """Return the value with texts for keys, and an encrypted one as a text."""
    if is_encrypted(value):
        return f"encrypted: {value['secure']}"
    if isinstance(value, dict):
        return {str(key): _textual(inner) for key, inner in value.items()}
    return [_textual(entry) for entry in value] if isinstance(value, list) else value


def _of_key(key: str, before: Any, after: Any) -> Iterator[Field]:
    if key in (_SECRETS, *_OURS) and isinstance(before or after, list | dict):
        absent: Any = [] if isinstance(before or after, list) else {}
        for field in fields(before or absent, after or absent, below=key):
            yield field if key in _OURS else replace(field, before="", after="", shown=False)
    else:
        shown = all(value is None or _may_be_shown(key, value) for value in (before, after))
        yield field_of(key, before, after, shown=shown)


def _may_be_shown(key: str, value: Any) -> bool:
    if isinstance(value, str) and value.startswith("encrypted: "):
        return False
    if key == "environment":
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    return key in _OURS or bool(_NAMES.fullmatch(key) or _FLAG.fullmatch(str(value)))
