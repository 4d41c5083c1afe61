"""Reads and compares the versions that programs print."""

import re

Version = tuple[int, int, int]


def parse(text: str) -> Version | None:
    """Return the first `1.2.3` or `1.2` in the text, or None."""
    match = re.search(r"(?<![\d.])v?(\d+)\.(\d+)(?:\.(\d+))?", text)
    if match is None:
        return None
    return int(match[1]), int(match[2]), int(match[3] or 0)


def sufficient(printed: str, least: str, below: str) -> bool:
    """Return whether the printed version is at least `least` and below `below` ("" means no limit)."""
    version = parse(printed)
    low, high = parse(least), parse(below)
    return version is not None and (low is None or version >= low) and (high is None or version < high)
