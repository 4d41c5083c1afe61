"""Regular expressions of selectors and policies: RE2, in linear time, compiled once and of bounded size.

The CEL library's own `matches` is RE2 too, but compiles a pattern of whatever size each time that it is
asked.
"""

from functools import lru_cache
from typing import Any

import re2

from inferfleet.documents.wording import shown
from inferfleet.fleet.selectors.amounts import Unusable

# Memory of one compiled pattern, which bounds the time to compile it too.
_BYTES = 1 << 18
# What matches in place of the library's function: a name that nobody can write, and its forms.
MATCHES, OF_TEXT, CALLED = "@matches", "@matches_of_text", "@matches_called"


def matching() -> Any:
    """Return the declaration of what matches in place of the library's function."""
    from cel_expr_python import cel

    texts = [cel.Type.STRING, cel.Type.STRING]
    forms = [
        cel.Overload(name, return_type=cel.Type.BOOL, parameters=texts, is_member=is_member, impl=_matches)
        for name, is_member in ((OF_TEXT, True), (CALLED, False))
    ]
    return cel.FunctionDecl(MATCHES, forms)


def _matches(text: str, pattern: str) -> bool:
    return compiled(pattern).search(text) is not None


def find(text: str, pattern: str) -> str:
    """Return the first part that the regular expression matches, or ""."""
    match = compiled(pattern).search(text)
    return str(match.group(0)) if match else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return all parts, or the first `limit`, that the regular expression matches."""
    parts = [str(match.group(0)) for match in compiled(pattern).finditer(text)]
    return parts if limit < 0 else parts[:limit]


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Any:
    """Return the compiled pattern. Raises Unusable for one that is none, or too large."""
    options = re2.Options()
    # Else the C++ library writes about a wrong pattern to standard error.
    options.log_errors = False
    options.max_mem = _BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error:
        raise Unusable(f"{shown(pattern)!r} is not a regular expression (RE2), or it is too large") from None
