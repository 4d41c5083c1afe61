"""Tables of versions: each row says where and when it was read, and which versions will do."""

import re

import pytest

from inferfleet.cloud.gke.facts.floors import (
    AUTOSCALED_UPGRADES,
    BROKEN,
    CAPACITY,
    DRA,
    FABRICS,
    FAMILIES,
    IMAGE_CACHE,
    INFERENCE_POOLS,
    NETWORK_PROFILE,
    Floor,
    below,
)
from inferfleet.cloud.gke.facts.sources import Source

READ = Source("a page", "https://example.com/page", "2026-04-06")
TCPXO = FABRICS["A3 Mega", "TCPXO"]
FLOORS = (
    INFERENCE_POOLS,
    DRA,
    NETWORK_PROFILE,
    IMAGE_CACHE,
    AUTOSCALED_UPGRADES,
    *CAPACITY.values(),
    *FAMILIES.values(),
    *FABRICS.values(),
)


def test_every_row_has_an_address_and_a_date() -> None:
    lacking = [
        row
        for row in (*FLOORS, *BROKEN.values())
        if not row.source.title
        or not row.source.url.startswith("https://")
        or not re.fullmatch(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}", row.source.date)
    ]
    assert lacking == []


def test_the_first_good_versions_of_a_row_are_of_rising_minor_versions() -> None:
    floors = [row.since for row in FLOORS]
    assert [since for since in floors if list(since) != sorted(since)] == []


@pytest.mark.parametrize(
    ("written", "needed"),
    [
        ("1.27", "1.28.15-gke.3163000"),
        ("1.30.13", "1.30.14-gke.1922000"),
        ("1.30", None),
        ("1.32.11-gke.1173999", "1.32.11-gke.1174000"),
        ("1.32.11-gke.1174000", None),
        ("1.33.0", None),
    ],
)
def test_what_is_needed_depends_on_the_minor_version(written: str, needed: str | None) -> None:
    assert TCPXO.needed(written) == needed


def test_minor_versions_between_two_that_are_named_are_good() -> None:
    floor = Floor(("1.30.5", "1.32.1"), READ)
    assert [floor.needed(version) for version in ("1.29", "1.30.4", "1.31", "1.32.0", "1.33")] == [
        "1.30.5",
        "1.30.5",
        None,
        "1.32.1",
        None,
    ]


@pytest.mark.parametrize(
    ("written", "needed", "old"),
    [
        ("1.31", "1.32.2-gke.1652000", True),
        ("1.32", "1.32.2-gke.1652000", False),
        ("1.32.1", "1.32.2-gke.1652000", True),
        ("1.32.2-gke.1651999", "1.32.2-gke.1652000", True),
        ("1.32.2-gke.1652000", "1.32.2-gke.1652000", False),
        ("1.33", "1.32.8", False),
        ("1.32.10", "1.32.8", False),
        ("1.34.1-gke.1829001", "1.34", False),
    ],
)
def test_a_version_may_be_any_that_begins_so(written: str, needed: str, old: bool) -> None:
    assert below(written, needed) is old
