"""Command lines that run a script by a shell."""

from collections.abc import Sequence

_SHELLS = ("sh", "bash", "dash", "ash", "zsh")


def script_at(words: Sequence[str]) -> int | None:
    """Return the position of the script of a shell in a command line, None without one: `sh -c SCRIPT`."""
    for place, word in enumerate(words):
        if word.rpartition("/")[2] not in _SHELLS:
            continue
        following = place + 1
        while following < len(words) and words[following].startswith("-"):
            if "c" in words[following] and not words[following].startswith("--"):
                return following + 1 if following + 1 < len(words) else None
            following += 2 if words[following][-1] in "oO" else 1
    return None
