"""Versions that programs print, compared as numbers."""

import re

Version = tuple[int, int, int]


def parse(text: str) -> Version | None:
    """The first `1.2.3` or `1.2` in the text, wherever it stands; None when there is none."""
    found = re.search(r"(?<![\d.])v?(\d+)\.(\d+)(?:\.(\d+))?", text)
    if found is None:
        return None
    return int(found[1]), int(found[2]), int(found[3] or 0)


def sufficient(printed: str, least: str, below: str) -> bool:
    """True when the printed version is at least `least` and below `below` ("" means no limit)."""
    version = parse(printed)
    low, high = parse(least), parse(below)
    return version is not None and (low is None or version >= low) and (high is None or version < high)
