"""The budget of a run: what many parts of it take together is refused, wherever it is too much."""

import pytest

from inferfleet.documents import work
from inferfleet.documents.problems import InvalidDocuments

REFUSED = "planning takes this run past 50,000,000 steps, the budget of all that one run does"


def test_what_parts_of_a_run_take_adds_up() -> None:
    with work.counted():
        work.spend(work.MAX_UNITS - 1, "reading")
        work.count(1)
        work.spend(0, "reading")
        with pytest.raises(InvalidDocuments) as raised:
            work.spend(1, "planning")
    assert [problem.what for problem in raised.value.problems] == [REFUSED]


def test_each_run_has_a_budget_of_its_own_and_nothing_is_counted_outside() -> None:
    for _ in range(2):
        with work.counted():
            work.spend(work.MAX_UNITS, "planning")
    work.spend(2 * work.MAX_UNITS, "planning")
