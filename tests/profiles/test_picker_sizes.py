"""Sizes of pickers: by the next power of two of endpoints, and by the scrape interval."""

import pytest

from inferfleet.profiles.pickers.sizes import sized
from inferfleet.profiles.profile import Resources


def _size(cpu: str, memory: str) -> Resources:
    return Resources({"cpu": cpu, "memory": memory}, {"memory": "16Gi"})


@pytest.mark.parametrize(
    ("endpoints", "size"),
    [
        (0, _size("500m", "512Mi")),
        (1, _size("500m", "512Mi")),
        (4, _size("500m", "512Mi")),
        (5, _size("1", "512Mi")),
        (8, _size("1", "512Mi")),
        (9, _size("2", "1Gi")),
        (16, _size("2", "1Gi")),
        (20, _size("4", "2Gi")),
        (33, _size("8", "4Gi")),
        (100, _size("8", "8Gi")),
        (5000, _size("8", "8Gi")),
    ],
)
def test_a_picker_grows_with_its_endpoints(endpoints: int, size: Resources) -> None:
    assert sized(endpoints, interval=0.15) == size


@pytest.mark.parametrize(
    ("interval", "size"),
    [
        (0.05, _size("2", "512Mi")),
        (0.15, _size("1", "512Mi")),
        (1.0, _size("1", "512Mi")),
        (5.0, _size("500m", "512Mi")),
    ],
)
def test_scraping_often_costs(interval: float, size: Resources) -> None:
    assert sized(8, interval=interval) == size
