"""Durations as programs in Go take them."""

import pytest

from inferfleet.documents.quantity import go_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("150ms", 0.15),
        ("1m30.5s", 90.5),
        (".5h", 1800.0),
        ("-5s", -5.0),
        ("2562047h", 2562047 * 3600.0),
        # Nanoseconds that 64 bits do not hold.
        ("2562048h", None),
        ("150", None),
        ("5 s", None),
        ("1d", None),
        ("", None),
        ("-", None),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, seconds: float | None) -> None:
    assert go_seconds(text) == (None if seconds is None else pytest.approx(seconds))
