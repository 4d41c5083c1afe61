"""How long a picker goes on, and how long it gives its streams once it is told to end."""

from dataclasses import replace

import pytest

from inferfleet.manifests.picker.ending import Ending, ending
from inferfleet.profiles.table import profile


@pytest.mark.parametrize(
    ("drain", "told"),
    [(130, Ending(95, 30)), (40, Ending(5, 30)), (10, Ending(5, 30)), (3600, Ending(535, 30))],
)
def test_a_picker_that_takes_no_new_streams_once_told_is_told_late(drain: int, told: Ending) -> None:
    assert ending(drain, profile("gie-1.5"), {}) == told


@pytest.mark.parametrize(
    ("drain", "told"),
    [(130, Ending(5, 120)), (40, Ending(5, 30)), (10, Ending(5, 30)), (3600, Ending(5, 560))],
)
def test_a_picker_that_serves_on_is_told_as_soon_as_gateways_know(drain: int, told: Ending) -> None:
    assert ending(drain, profile("llm-d-0.9"), {}) == told


def test_the_time_in_a_flag_is_reckoned_with() -> None:
    made = ending(130, profile("router-0.10"), {"drain-timeout": "1m30s"})
    assert (made, made.grace) == (Ending(35, 90), 130)
    assert ending(130, profile("router-0.10"), {"drain-timeout": "5m"}) == Ending(5, 300)


def test_both_times_end_before_the_pod_is_killed() -> None:
    row = profile("llm-d-0.9")
    for drain in (10, 40, 130, 570, 3600):
        for each in (row, replace(row, drain_flag=None)):
            made = ending(drain, each, {})
            assert made.sleep + made.stop < made.grace <= 575
