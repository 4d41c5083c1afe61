"""Merge of placement.lock: what two branches made of the lock that both began with, entry by entry.

What one branch alone changed wins, what both changed alike is taken once, and an entry that they changed in
two ways is a conflict, with git's markers around both lines. The clusters of a service are merged one by one,
because each is a fact of its own. A deployment that one branch removed and the other changed stays as the
other has it: documents say whether it is still there, and a plan drops the lines of one that is not. Comments
go with their entries.

Behind a line with more replicas than in the base is a note for the planner (`fleet/lock/parted.py`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from inferfleet.api.problems import InvalidDocuments, Problem, Where
from inferfleet.api.wording import shown
from inferfleet.fleet.lock import entries as lock_entries
from inferfleet.fleet.lock.lock import SECTIONS, Lock, lines, parse
from inferfleet.fleet.lock.parted import Parted
from inferfleet.fleet.lock.text import entries, quoted
from inferfleet.fleet.spot import Spot

OURS, MIDDLE, THEIRS = "<<<<<<< ours", "=======", ">>>>>>> theirs"
_T = TypeVar("_T")
_Key = tuple[str, str | Spot]
# Stands for what is behind the last entry.
_END: _Key = "", ""


@dataclass(frozen=True)
class Merged:
    """The text of a merged lock, a problem for each conflict in it, and whether planners find notes in it."""

    text: str
    problems: tuple[Problem, ...]
    noted: bool = False


class _Comments(NamedTuple):
    """Comments of an entry: whole lines before it, and what is behind it on its line."""

    above: tuple[str, ...] = ()
    behind: str = ""


class _Side(NamedTuple):
    """One of the three locks, as value, as lines and with its comments."""

    lock: Lock
    lines: Mapping[_Key, str]
    comments: Mapping[_Key, _Comments]


_NOTHING = _Side(Lock(), {}, {})


def merge(base: str, ours: str, theirs: str, *, file: str) -> Merged:
    """Return the merge of two locks that both began as `base`, which is "" where each branch made its own.

    Conflicts that are in `base` count as nothing: so git merges several bases into one. Locks that cannot be
    read are one conflict as a whole.
    """
    problems: list[Problem] = []
    sides = []
    for name, text in (("base", _decided(base)), ("ours", ours), ("theirs", theirs)):
        try:
            sides.append(_side(text, f"{file} ({name})") if text.strip() or name != "base" else _NOTHING)
        except InvalidDocuments as invalid:
            problems += invalid.problems
    if not problems:
        before, one, other = sides
        both = _with_changed(one, before, other), _with_changed(other, before, one)
        ended = _ended_apart(*(_by_deployment(side.lock) for side in (before, *both)))
        return _Merging(before, *(_with(side, before, ended) for side in both)).merged(file)
    what = f"{file} is one conflict as a whole, because it was not read on all sides"
    step = "Keep one side, remove the other one and the markers, and run inferfleet plan --write"
    whole = (OURS, ours.rstrip("\n"), MIDDLE, theirs.rstrip("\n"), THEIRS, "")
    return Merged("\n".join(whole), (*problems, Problem(what, step, where=Where(file, 1))))


def _decided(base: str) -> str:
    """Return the base without what is between markers of conflicts."""
    kept, inside = [], False
    for line in base.split("\n"):
        inside = inside or line.startswith("<<<<<<<")
        kept += [] if inside else [line]
        inside = inside and not line.startswith(">>>>>>>")
    return "\n".join(kept)


def _side(text: str, file: str) -> _Side:
    """Return a lock with its comments. Raises InvalidDocuments."""
    listed, _ = entries(text, file)
    stack = next((entry.value for entry in listed if (entry.section, entry.key) == ("", "stack")), "")
    lock = parse(text, file=file, stack=stack)
    raw, last = text.split("\n"), 0
    comments: dict[_Key, _Comments] = {}
    for entry in listed:
        above = _lines_of(raw[last : entry.where.line - 1])
        key = lock_entries.placement(entry)[0] if entry.section == "placements" else entry.key
        comments[entry.section, key] = _Comments(above, lock_entries.remark(entry))
        last = entry.where.line
    comments[_END] = _Comments(_lines_of(raw[last:]))
    return _Side(lock, _by_key(lock), comments)


def _by_key(lock: Lock) -> dict[_Key, str]:
    return {(line.section, line.key): line.text for line in lines(lock)}


def _with_changed(side: _Side, base: _Side, other: _Side) -> _Side:
    """Return a side with the deployments that it removed and the other changed, as they are in the base."""
    before, now, changed = (_by_deployment(one.lock) for one in (base, side, other))
    gone = {name for name in before.keys() & changed.keys() - now.keys() if before[name] != changed[name]}
    if not gone:
        return side
    placements = {spot: number for name in gone for spot, number in before[name].items()}
    return _with(side, base, placements)


def _with(side: _Side, base: _Side, placements: Mapping[Spot, int]) -> _Side:
    """Return a side with these placements of the base."""
    if not placements:
        return side
    lock = replace(side.lock, placements={**side.lock.placements, **placements})
    return _Side(lock, _by_key(lock), {**base.comments, **side.comments})


def _ended_apart(
    base: Mapping[str, dict[Spot, int]],
    ours: Mapping[str, dict[Spot, int]],
    theirs: Mapping[str, dict[Spot, int]],
) -> dict[Spot, int]:
    """Return the placements of the base that one branch alone made smaller, of deployments of which together
    they would keep fewer replicas that ran than either does: each ended others. Of these a plan with the
    merged documents ends as many as are too many.
    """
    ended: dict[Spot, int] = {}
    for name in base.keys() & ours.keys() & theirs.keys():
        before, one, other = base[name], ours[name], theirs[name]
        values = {spot: _three_way(before[spot], one.get(spot, 0), other.get(spot, 0)) for spot in before}
        kept = [sum(min(number, of.get(spot, 0)) for spot, number in before.items()) for of in (one, other)]
        if sum(min(before[spot], *value) for spot, value in values.items()) < min(kept):
            lowered = {spot: number for spot, number in before.items() if min(values[spot]) < number}
            ended |= {
                spot: number
                for spot, number in lowered.items()
                if number in (one.get(spot, 0), other.get(spot, 0))
            }
    return ended


def _by_deployment(lock: Lock) -> dict[str, dict[Spot, int]]:
    placements: dict[str, dict[Spot, int]] = {}
    for spot, replicas in lock.placements.items():
        placements.setdefault(spot.deployment, {})[spot] = replicas
    return placements


def _lines_of(raw: Iterable[str]) -> tuple[str, ...]:
    return tuple(line.rstrip() for line in raw if line.strip())


def _three_way(base: _T, ours: _T, theirs: _T) -> tuple[_T, ...]:
    """Return the value that one branch alone changed or both alike, or else both values."""
    if ours in (theirs, base):
        return (theirs,)
    return (ours,) if theirs == base else (ours, theirs)


class _Merging:
    """The merge of three locks that can be read."""

    def __init__(self, base: _Side, ours: _Side, theirs: _Side) -> None:
        self._sides = base, ours, theirs
        self._parted = Parted(base.lock, ours.lock, theirs.lock)
        self._noted = False

    def merged(self, file: str) -> Merged:
        """Return the merge; its problems name the lines of the conflicts in it."""
        written: list[str] = []
        problems: list[Problem] = []
        section = ""
        for key in self._keys():
            values = self._values(key)
            if values == (None,):
                continue
            if key[0] != section:
                section = key[0]
                written += self._with_comments(("", section), f"{section}:")
            if len(values) == 1:
                written += self._with_comments(key, self._with_note(key, values[0]))
                continue
            written += self._comments(key).above
            problems.append(_conflict(key, values, Where(file, len(written) + 1)))
            ours, theirs = (
                [_before(self._with_note(key, line), side.comments[key].behind)] if line else []
                for side, line in zip(self._sides[1:], values, strict=True)
            )
            written += [OURS, *ours, MIDDLE, *theirs, THEIRS]
        written += self._comments(_END).above
        return Merged("\n".join([*written, ""]), tuple(problems), self._noted)

    def _keys(self) -> list[_Key]:
        """Return what one of the three has a line for, in the order of the file."""
        keys: set[_Key] = {key for side in self._sides for key in side.lines}
        head: list[_Key] = [("", "version"), ("", "stack")]
        return head + sorted(keys.difference(head), key=lambda key: (SECTIONS.index(key[0]), key[1]))

    def _values(self, key: _Key) -> tuple[str | None, ...]:
        """Return the line that counts, None for no line; where the branches contradict each other, both."""
        section, name = key
        if section != "services":
            base, ours, theirs = (side.lines.get(key) for side in self._sides)
            return _three_way(base, ours, theirs)
        before, one, other = (set(side.lock.services.get(str(name), ())) for side in self._sides)
        clusters = (one & other) | (one - before) | (other - before)
        whole = Lock(services={str(name): tuple(sorted(clusters))} if clusters else {})
        return (next((line.text for line in lines(whole) if line.section), None),)

    def _with_note(self, key: _Key, line: str | None) -> str:
        if line is None or not isinstance(key[1], Spot):
            return line or ""
        note = self._parted.note(key[1], int(line.rpartition(" ")[2]))
        self._noted = self._noted or bool(note)
        return line + note

    def _with_comments(self, key: _Key, line: str) -> list[str]:
        above, behind = self._comments(key)
        return [*above, _before(line, behind)]

    def _comments(self, key: _Key) -> _Comments:
        """Return the comments of an entry; where the branches changed them in two ways, those of both."""
        base, ours, theirs = (side.comments.get(key, _Comments()) for side in self._sides)
        above = _three_way(base.above, ours.above, theirs.above)
        behind = _three_way(base.behind, ours.behind, theirs.behind)
        return _Comments(
            tuple(dict.fromkeys(line for lines in above for line in lines)), "  ".join(filter(None, behind))
        )


def _before(line: str, comment: str) -> str:
    return f"{line}  {comment}" if comment else line


def _conflict(key: _Key, values: tuple[str | None, ...], where: Where) -> Problem:
    ours, theirs = (quoted(line.strip()) if line else "no line" for line in values)
    return Problem(
        f"both branches changed {shown(str(key[1]))}: ours has {ours}, theirs has {theirs}",
        "Keep the line that fits the merged documents, remove the other one and the markers, and run "
        "inferfleet plan --write",
        where=where,
    )
