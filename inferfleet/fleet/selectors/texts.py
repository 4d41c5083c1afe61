"""Functions on texts: those of CEL's strings extension, and Kubernetes' regular expressions.

They are written here, and not taken from the CEL library, so that what they produce is counted.
Rules: https://github.com/google/cel-go/tree/master/ext (Strings, version 2) and Kubernetes' regex library.
"""

from functools import lru_cache
from typing import Any

import re2

from inferfleet.api.wording import shown
from inferfleet.api.work import count
from inferfleet.fleet.selectors.limits import BUDGET, PATTERN_BYTES, Unusable

# Steps of work that a regular expression takes, whose size is limited.
_STEPS = 1_000
_ASCII_LOWER = {code: code + 32 for code in range(65, 91)}
_ASCII_UPPER = {code + 32: code for code in range(65, 91)}


def char_at(text: str, index: int) -> str:
    """Return the character at the position, "" just after the last one."""
    if not 0 <= index <= len(text):
        raise Unusable(f"position {index} is outside of a text of {len(text)} characters")
    return text[index : index + 1]


def lower_ascii(text: str) -> str:
    """Return the text with the letters A to Z in lower case."""
    return _counted(text.translate(_ASCII_LOWER))


def upper_ascii(text: str) -> str:
    """Return the text with the letters a to z in upper case."""
    return _counted(text.translate(_ASCII_UPPER))


def trim(text: str) -> str:
    """Return the text without white space around it."""
    return _counted(text.strip())


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    """Return the text with all, or the first `limit`, occurrences of `old` replaced."""
    count = text.count(old) if limit < 0 else min(limit, text.count(old))
    BUDGET.take(len(text) + count * len(new))
    return text.replace(old, new, count)


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """Return the parts between separators, at most `limit` of them; "" separates every character."""
    BUDGET.take(2 * len(text) + 1)
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    most = len(text) if limit < 0 else min(limit, len(text))
    return [*text[: most - 1], text[most - 1 :]] if text else []


def join(parts: list[Any], separator: str = "") -> str:
    """Return the texts in one, with the separator between them."""
    if not all(isinstance(part, str) for part in parts):
        raise Unusable("join takes a list of texts")
    BUDGET.take(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


def substring(text: str, start: int, end: int | None = None) -> str:
    """Return the part from `start` up to `end`, or to the end."""
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise Unusable(f"positions {start} to {stop} are outside of a text of {len(text)} characters")
    return _counted(text[start:stop])


def quote(text: str) -> str:
    """Return the text in double quotes, with escapes."""
    BUDGET.take(2 * len(text))
    escapes = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v"}
    return '"' + "".join({**escapes, "\\": r"\\", '"': r"\""}.get(char, char) for char in text) + '"'


def find(text: str, pattern: str) -> str:
    """Return the first part that the regular expression matches, or ""."""
    BUDGET.take(len(text))
    match = _compiled(pattern).search(text)
    return str(match.group(0)) if match else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return all parts, or the first `limit`, that the regular expression matches."""
    parts: list[str] = []
    for match in _compiled(pattern).finditer(text):
        if 0 <= limit <= len(parts):
            break
        parts.append(str(match.group(0)))
        BUDGET.take(len(parts[-1]) + 1)
    return parts


def matches(text: str, pattern: str) -> bool:
    """Return whether the regular expression matches a part of the text."""
    BUDGET.take(len(text))
    return _compiled(pattern).search(text) is not None


def pattern_problem(pattern: str) -> str | None:
    """Return why a text is not a regular expression, or None when it is one."""
    try:
        _compile(pattern)
    except Unusable as problem:
        return problem.why
    return None


_seen: dict[str, None] = {}


def _compiled(pattern: str) -> Any:
    BUDGET.take(len(pattern))
    if pattern not in _seen:
        BUDGET.take_pattern()
        if len(_seen) > 256:
            _seen.clear()
        _seen[pattern] = None
    return _compile(pattern)


@lru_cache(maxsize=512)
def _compile(pattern: str) -> Any:
    # Inside of an evaluation, which takes no exceptions but its own.
    count(_STEPS)
    options = re2.Options()
    # Else the C++ library writes about a wrong pattern to standard error.
    options.log_errors = False
    options.max_mem = PATTERN_BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error:
        raise Unusable(f"{shown(pattern)!r} is not a regular expression (RE2), or it is too large") from None


def _counted(text: str) -> str:
    BUDGET.take(len(text) + 1)
    return text
