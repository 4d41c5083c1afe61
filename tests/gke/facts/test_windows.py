"""How long recurring maintenance windows are open in any stretch of days."""

from datetime import UTC, datetime, timedelta

import pytest

from inferfleet.gke.facts.windows import least_hours

SATURDAY = datetime(2026, 12, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("rule", "hours", "in_32", "in_92"),
    [
        ("FREQ=DAILY", 4, 128, 368),
        ("FREQ=DAILY;INTERVAL=3", 4, 40, 120),
        ("FREQ=DAILY;BYDAY=SA", 4, 16, 52),
        ("FREQ=WEEKLY;BYDAY=SA,SU", 6, 48, 156),
        ("FREQ=WEEKLY", 4, 16, 52),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=SA", 4, 8, 24),
        ("FREQ=WEEKLY;BYDAY=MO;BYMONTH=1", 24, 0, 0),
        ("FREQ=MONTHLY;BYDAY=1SA", 24, 0, 48),
        ("FREQ=MONTHLY;BYDAY=-1SU", 24, 0, 48),
        ("FREQ=MONTHLY;BYMONTHDAY=1,-1", 12, 24, 72),
        ("FREQ=MONTHLY", 8, 8, 24),
        ("FREQ=YEARLY", 4, 0, 0),
        ("FREQ=YEARLY;BYMONTH=1;BYDAY=1MO", 4, 0, 0),
        ("FREQ=DAILY;WKST=MO", 30, 768, 2208),
        ("FREQ=WEEKLY;COUNT=3", 4, None, None),
        ("FREQ=WEEKLY;UNTIL=20270101T000000Z", 4, None, None),
        ("FREQ=MONTHLY;BYDAY=SA;BYSETPOS=1", 4, None, None),
        ("FREQ=YEARLY;BYDAY=1MO", 4, None, None),
        ("FREQ=WEEKLY;INTERVAL=0", 4, None, None),
        ("FREQ=WEEKLY;INTERVAL=X", 4, None, None),
        ("FREQ=WEEKLY;BYMONTH=SA", 4, None, None),
    ],
)
def test_the_fewest_hours_count(rule: str, hours: int, in_32: float | None, in_92: float | None) -> None:
    end = SATURDAY + timedelta(hours=hours)
    assert [least_hours(SATURDAY, end, rule, days=days) for days in (32, 92)] == [in_32, in_92]


def test_windows_at_the_end_of_the_calendar_are_not_counted() -> None:
    late = datetime(9999, 12, 31, tzinfo=UTC)
    assert least_hours(late, late, "FREQ=DAILY", days=92) is None
