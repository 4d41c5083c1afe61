"""Versions of GKE as they are written, compared as far as they are written."""

Version = tuple[int, ...]


def parsed(text: str) -> Version:
    """`1.34.1-gke.1829001` to (1, 34, 1, 1829001), `1.34` to (1, 34)."""
    return tuple(int(part) for part in text.replace("-gke", "").split("."))


def below(written: str, needed: str) -> bool:
    """True when no version that `written` may mean is as new as `needed`: 1.34 may mean any 1.34.x."""
    mine, wanted = parsed(written), parsed(needed)
    return mine < wanted[: len(mine)]
