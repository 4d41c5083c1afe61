"""Sizes of pickers: by the next power of two of endpoints, by the scrape interval, and by long prompts."""

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
    assert sized(endpoints, interval=0.15, long_prompts=False) == size


@pytest.mark.parametrize(
    ("interval", "long_prompts", "size"),
    [
        (0.05, False, _size("2", "512Mi")),
        (0.15, False, _size("1", "512Mi")),
        (1.0, False, _size("1", "512Mi")),
        (5.0, False, _size("500m", "512Mi")),
        (0.05, True, _size("4", "2Gi")),
        (0.15, True, _size("2", "2Gi")),
    ],
)
def test_scraping_often_and_long_prompts_cost(interval: float, long_prompts: bool, size: Resources) -> None:
    assert sized(8, interval=interval, long_prompts=long_prompts) == size
