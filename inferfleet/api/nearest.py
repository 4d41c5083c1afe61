"""Did you mean: the known name nearest to a mistyped one."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name most like the word, whatever the case, or None."""
    folded: dict[str, str] = {}
    for name in sorted(known):
        folded.setdefault(_fold(name), name)
    found = get_close_matches(_fold(word[:100]), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def one_of(word: str, known: Iterable[str], introduction: str) -> str:
    """The next step for a mistyped name: the nearest known one, or all of them after the introduction."""
    names = sorted(known)
    if (close := nearest(word, names)) is not None:
        return f"Did you mean {close}?"
    return f"{introduction}: {', '.join(names)}" if names else "Remove it"


def _fold(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
