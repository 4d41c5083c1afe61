"""Plain words of YAML to null, booleans, numbers and text, by the core schema of YAML 1.2.

So `on`, `yes` and `2026-04-14` are text. Source: https://yaml.org/spec/1.2.2/#103-core-schema
"""

import math
import re

from inferfleet.documents.problems import Mistaken, mistaken

Scalar = str | int | float | bool | None


class Float(float):
    """A number that remembers how it is `written`: the version 1.30 is the number 1.3."""

    written: str


_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0(?:o([0-7]+)|x([0-9a-fA-F]+))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_TAGS = {f"tag:yaml.org,2002:{name}": name for name in ("null", "bool", "int", "float", "str", "timestamp")}


def scalar(text: str, *, plain: bool, tag: str | None) -> Scalar:
    """Return the value of a scalar. Raises Mistaken for unsupported tags and numbers that JSON lacks."""
    if tag == "!" or (tag is None and not plain):
        return _text(text)
    if tag is None:
        return _plain(text)
    wanted = _TAGS.get(tag)
    if wanted is None:
        raise unsupported(tag)
    # Tools that write YAML 1.1 tag dates that they quote.
    if wanted in ("str", "timestamp"):
        return _text(text)
    value = _plain(text)
    if wanted == "float" and type(value) is int:
        return float(value)
    kind = "null" if value is None else {bool: "bool", int: "int", float: "float", str: "str"}[type(value)]
    if kind != wanted:
        raise mistaken(f"{text[:40]!r} is tagged !!{wanted} but is !!{kind}", "Remove the tag")
    return value


def unsupported(tag: str) -> Mistaken:
    """Return the exception for a tag that is not one of YAML's core schema."""
    short = tag.replace("tag:yaml.org,2002:", "!!")[:60]
    return mistaken(f"tag {short} is not supported", "Remove the tag and write plain data")


def _plain(text: str) -> Scalar:
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.fullmatch(text):
        return _whole(text)
    if based := _BASED.fullmatch(text):
        digits, base = (based[1], 8) if based[1] else (based[2], 16)
        return _bounded(int(digits[:30], base), text)
    if _FLOAT.fullmatch(text):
        number = Float(text)
        if math.isfinite(number):
            number.written = text[:40]
            return number
    elif not _NOT_FINITE.fullmatch(text):
        return _text(text)
    raise mistaken(f"{text[:40]} is not a finite number", "Write a finite number, or quote it as text")


def _whole(text: str) -> int:
    digits = text.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0":
        # 0644 is 420 to YAML 1.1 (and so to kubectl) and 644 to YAML 1.2.
        bare = digits.lstrip("0")[:20] or "0"
        octal = f"0o{bare} for an octal number such as a file mode, {bare} for a decimal one"
        raise mistaken(
            f"{text[:40]} starts with 0, which some YAML parsers read as octal and others as decimal",
            f"Write {bare if set(bare) & {'8', '9'} else octal}, or quote it as text",
        )
    return _bounded(int(text[:30]), text)


def _bounded(number: int, text: str) -> int:
    # Kubernetes holds whole numbers in 64 bits.
    if len(text) > 24 or not -(2**63) <= number < 2**63:
        raise mistaken(
            f"{text[:24]}{'…' if len(text) > 24 else ''} does not fit into 64 bits",
            "Write a smaller number, or quote it as text",
        )
    return number


def _text(text: str) -> str:
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise mistaken("the text contains half of a surrogate pair", "Write the whole character")
    return text
