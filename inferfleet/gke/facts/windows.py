"""How long a recurring maintenance window is open: arithmetic on rules of RFC 5545, by whole days."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DAY = f"[-+]?[0-9]{{0,2}}({'|'.join(_DAYS)})"
_NUMBER = "[-+]?[0-9]{1,3}"
_KNOWN = re.compile(
    "FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)"
    f"(;(INTERVAL=[1-9][0-9]{{0,3}}|BYDAY={_DAY}(,{_DAY})*|(BYMONTHDAY|BYMONTH)={_NUMBER}(,{_NUMBER})*|WKST=[A-Z]{{2}}))*"
)
# So long a rule is looked at: what comes every other year has a gap of its own length by then.
_HORIZON = timedelta(days=3 * 366)
# Later ones leave no room for the horizon before the end of the calendar.
_LAST_YEAR = 9990
_Part = Callable[[date], bool]


def least_hours(start: datetime, end: datetime, recurrence: str, *, days: int) -> float | None:
    """Return the fewest hours for which a window is open in any stretch of so many days.

    None for rules that end, and for those with parts that are seldom written (BYSETPOS, BYWEEKNO, BYYEARDAY).
    """
    if not _KNOWN.fullmatch(recurrence) or start.year >= _LAST_YEAR:
        return None
    matches = _matcher(dict(part.split("=", 1) for part in recurrence.split(";")), start.date())
    if matches is None:
        return None
    length, stretch = end - start, timedelta(days=days)
    last = start + _HORIZON
    open_at = [moment for moment in _daily(start, last) if matches(moment.date())]
    spans = _merged((moment, moment + length) for moment in open_at)
    # The fewest are in a stretch that begins where a window has just closed, or with the first.
    sums = [_open(spans, start, stretch)]
    for place, (_, closed) in enumerate(spans):
        if closed + stretch <= last:
            sums.append(_open(spans[place + 1 : place + 1 + days], closed, stretch))
    return min(sums) / timedelta(hours=1)


def _open(spans: list[tuple[datetime, datetime]], begin: datetime, stretch: timedelta) -> timedelta:
    end = begin + stretch
    return sum((max(timedelta(), min(closed, end) - opened) for opened, closed in spans), timedelta())


def _daily(start: datetime, last: datetime) -> Iterator[datetime]:
    while start <= last:
        yield start
        start += timedelta(days=1)


def _merged(spans: Iterator[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    merged: list[tuple[datetime, datetime]] = []
    for opened, closed in spans:
        if merged and opened <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(closed, merged[-1][1]))
        else:
            merged.append((opened, closed))
    return merged


def _matcher(rule: Mapping[str, str], first: date) -> _Part | None:
    """Return whether a day is one of the rule's, None for a rule that is not understood."""
    every, frequency = int(rule.get("INTERVAL", "1")), rule["FREQ"]
    by_day = re.findall(r"([-+]?[0-9]*)([A-Z]{2})(?:,|$)", rule.get("BYDAY", ""))
    numbered = any(number for number, _ in by_day)
    if numbered and not (frequency == "MONTHLY" or (frequency == "YEARLY" and "BYMONTH" in rule)):
        return None
    parts: list[_Part] = [lambda day: _passed(frequency, first, day) % every == 0]
    if "BYMONTH" in rule:
        months = {int(month) for month in rule["BYMONTH"].split(",")}
        parts.append(lambda day: day.month in months)
    if "BYMONTHDAY" in rule:
        month_days = {int(day) for day in rule["BYMONTHDAY"].split(",")}
        parts.append(lambda day: bool(month_days & {day.day, day.day - _length(day) - 1}))
    if by_day:
        parts.append(lambda day: any(_is(day, number, name) for number, name in by_day))
    elif frequency == "WEEKLY":
        parts.append(lambda day: day.weekday() == first.weekday())
    elif frequency in ("MONTHLY", "YEARLY") and "BYMONTHDAY" not in rule:
        parts.append(lambda day: day.day == first.day)
        if frequency == "YEARLY" and "BYMONTH" not in rule:
            parts.append(lambda day: day.month == first.month)
    return lambda day: all(part(day) for part in parts)


def _passed(frequency: str, first: date, day: date) -> int:
    """Return how many days, weeks, months or years begin between the two."""
    if frequency == "WEEKLY":
        mondays = [each - timedelta(days=each.weekday()) for each in (first, day)]
        return (mondays[1] - mondays[0]).days // 7
    if frequency == "MONTHLY":
        return (day.year - first.year) * 12 + day.month - first.month
    return day.year - first.year if frequency == "YEARLY" else (day - first).days


def _is(day: date, number: str, name: str) -> bool:
    """Return whether a day is that of the week, and the so-and-so-many-th of its month where there is one."""
    if _DAYS[day.weekday()] != name:
        return False
    counts = {(day.day - 1) // 7 + 1, -((_length(day) - day.day) // 7 + 1)}
    return not number.strip("+") or int(number) in counts


def _length(day: date) -> int:
    next_month = day.replace(day=28) + timedelta(days=4)
    return (next_month - timedelta(days=next_month.day)).day
