"""Kubernetes quantities and durations, read exactly.

Rules of quantities: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

import re
from decimal import ROUND_CEILING, Decimal
from typing import Any

from inferfleet.documents.problems import mistaken
from inferfleet.documents.wording import shown

_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30}))(?:([eE][+-]?[0-9]{1,2})|([KMGTPE]i|[numkMGTPE]))?"
)
_BINARY = {f"{letter}i": Decimal(1024) ** (power + 1) for power, letter in enumerate("KMGTPE")}
_DECIMAL = {
    letter: Decimal(10) ** power
    for letter, power in zip("numkMGTPE", (-9, -6, -3, 3, 6, 9, 12, 15, 18), strict=True)
}
_MILLI = Decimal("0.001")
_DURATION = re.compile(r"([0-9]{1,6})([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
# ParseDuration in time/format.go of Go: parts such as 1m30s, and nanoseconds in 64 bits.
_GO_DURATION = re.compile(r"([-+]?)(0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_GO_PART = re.compile(r"([0-9.]+)([^0-9.]+)")
_GO_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_GO_MOST_SECONDS = 2**63 / 1e9


def parse_quantity(text: str) -> Decimal:
    """Return a quantity in cores, bytes or pieces. Raises Mistaken, a ValueError, with the rule."""
    quantity = _QUANTITY.fullmatch(text)
    if not quantity:
        raise mistaken(f"{shown(text)!r} is not a Kubernetes quantity", _like(text))
    number, exponent, suffix = quantity.groups()
    if exponent:
        return Decimal(number + exponent)
    return Decimal(number) * (_BINARY.get(suffix) or _DECIMAL.get(suffix) or 1)


def amount(value: Any) -> Decimal:
    """Return a quantity as the API server holds it: in thousandths, rounded up."""
    return parse_quantity(str(value)).quantize(_MILLI, rounding=ROUND_CEILING)


def _like(text: str) -> str:
    """Return the next step: the quantity that is probably meant, as for 16GB, or examples."""
    near = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,3})?) ?([kKMGTPE])i?[bB]?", text)
    if near is None:
        return "Write it like 80Gi, 500m or 4"
    binary = f"{near[1]}{near[2].upper()}i"
    return f"Write {binary}, or {near[1]}{near[2].replace('K', 'k')} for powers of ten"


def parse_duration(text: str) -> int:
    """Return a duration in seconds. Raises Mistaken, a ValueError, with the rule."""
    duration = _DURATION.fullmatch(text)
    if not duration:
        raise mistaken(f"{shown(text)!r} is not a duration", "Write it like 90s, 30m or 2h")
    return int(duration[1]) * _SECONDS[duration[2]]


def go_seconds(text: str) -> float | None:
    """Return a duration of Go, such as 150ms or 1m30s, in seconds, None where Go would refuse it."""
    duration = _GO_DURATION.fullmatch(text)
    if duration is None:
        return None
    total = sum(float(number) * _GO_SECONDS[unit] for number, unit in _GO_PART.findall(duration[2]))
    if total >= _GO_MOST_SECONDS:
        return None
    return -total if duration[1] == "-" else total
