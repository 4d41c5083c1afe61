"""Locks of two branches, merged entry by entry."""

from collections.abc import Mapping
from random import Random

import pytest
from small_fleet import spot

from inferfleet.fleet.lock.lock import Lock, LockedCluster, parse, text
from inferfleet.fleet.lock.merging import Merged, merge

FILE = "stacks/prod/placement.lock"
# Next to each other in the file, and the beginning of one another.
NAMES = [f"m{number}{end}" for number in range(4) for end in ("", "-a", "-b", "0")]
PLACES = ["east/l4", "east/l40", "west/h100", "west/l4"]


def _merged(base: str | Lock, ours: str | Lock, theirs: str | Lock) -> Merged:
    texts = (side if isinstance(side, str) else text(side) for side in (base, ours, theirs))
    return merge(*texts, file=FILE)


def _lock(merged: Merged) -> Lock:
    assert merged.problems == ()
    return parse(merged.text, file=FILE, stack="test")


def _of(*lines: str) -> str:
    return "\n".join(["version: 1", "stack: test", "placements:", *(f"  ml/{line}" for line in lines), ""])


@pytest.mark.parametrize("seed", range(300))
def test_a_merge_has_the_edits_of_both_branches(seed: int) -> None:
    random = Random(seed)
    base = Lock(stack="test")
    for name in random.sample(NAMES, 10):
        base = _with(base, name, {place: random.randint(1, 3) for place in random.sample(PLACES, 2)})
    edited = random.sample(NAMES, random.randint(1, 12))
    half = random.randint(0, len(edited) - 1)
    # The last edit is one that both branches made alike.
    alike = _edit(base, edited[-1], random)
    ours, theirs, both = ({edited[-1]: alike}, {edited[-1]: alike}, {})
    for name in edited[:half]:
        ours[name] = _edit(base, name, random)
    for name in edited[half:-1]:
        theirs[name] = _edit(base, name, random)
    both = ours | theirs
    sides = [_all(base, edits) for edits in (ours, theirs, both)]
    merged = _merged(base, *sides[:2])
    assert _lock(merged) == sides[2]
    assert [line.partition("  #")[0] for line in merged.text.splitlines()] == text(sides[2]).splitlines()


def _edit(base: Lock, name: str, random: Random) -> dict[str, int]:
    """Return where a deployment is after it was scaled, moved, added or removed."""
    places = {
        f"{spot.cluster}/{spot.pools[0][1]}": n for spot, n in base.placements.items() if spot.name == name
    }
    kind = random.choice(("scale", "scale", "move", "remove", "place"))
    if kind == "remove":
        return {}
    if kind == "place" or not places:
        return places | {random.choice(PLACES): random.randint(1, 3)}
    place = random.choice(sorted(places))
    if kind == "scale":
        return places | {place: random.randint(1, 5)}
    number = places.pop(place)
    return places | {random.choice(PLACES): number}


def _all(base: Lock, edits: Mapping[str, Mapping[str, int]]) -> Lock:
    for name, places in edits.items():
        base = _with(base, name, places)
    return base


def _with(lock: Lock, name: str, places: Mapping[str, int]) -> Lock:
    """Return the lock with a deployment there and nowhere else, and a service that leads to it."""
    placements = {known: number for known, number in lock.placements.items() if known.name != name}
    placements |= {spot(f"{name} {place}"): number for place, number in places.items()}
    key = f"ml/{name}"
    services = {known: clusters for known, clusters in lock.services.items() if known != key}
    services |= {key: tuple(sorted({place.partition("/")[0] for place in places}))} if places else {}
    return Lock("test", placements=placements, services=services)


def test_a_branch_changes_a_line_beside_one_that_the_other_added() -> None:
    base = _of("m1 east decode=l4: 2", "m3 east decode=l4: 2")
    more = _of("m1 east decode=l4: 2", "m2 east decode=l4: 1", "m3 east decode=l4: 2")
    for changed in (
        _of("m1 east decode=l4: 1", "m3 east decode=l4: 2"),
        _of("m1 east decode=l4: 2", "m3 east decode=l4: 3"),
        _of("m1 west decode=l4: 2", "m3 east decode=l4: 2"),
        _of("m3 east decode=l4: 2"),
    ):
        both = parse(changed, file=FILE, stack="test").placements | {spot("m2 east/l4"): 1}
        assert _lock(_merged(base, changed, more)).placements == both
        assert _lock(_merged(base, more, changed)).placements == both


def test_a_merge_notes_how_many_replicas_there_were() -> None:
    base = _of("a east decode=p: 1", "b east decode=p: 1", "l east decode=p: 1", "m east decode=p: 3")
    ours = _of(
        "a east decode=p: 2",
        "b east decode=p: 1",
        "c east decode=p: 1",
        "l east decode=p: 1",
        "m east decode=p: 3",
    )
    theirs = _of(
        "a east decode=p: 1",
        "b east decode=p: 1",
        "l west decode=p: 2",
        "m east decode=p: 2",
        "z east decode=p: 1",
    )
    merged = _merged(base, ours, theirs)
    assert merged.text == _of(
        "a east decode=p: 2  # was 1",
        "b east decode=p: 1",
        "c east decode=p: 1  # was 0",
        "l west decode=p: 2  # was 0, 1 moved here",
        "m east decode=p: 2",
        "z east decode=p: 1  # was 0",
    )
    lock = _lock(merged)
    assert lock.was == {spot("a east/p"): 1, spot("c east/p"): 0, spot("l west/p"): 0, spot("z east/p"): 0}
    assert {spot: number for spot, number in lock.moved.items() if number} == {spot("l west/p"): 1}
    assert merged.noted
    assert "#" not in text(lock)


def test_notes_of_a_merge_that_nobody_planned_with_stay() -> None:
    base = _of("a east decode=p: 2  # was 0, 1 moved here", "m east decode=p: 1  # was 0")
    ours = base.replace("m east decode=p: 1  # was 0", "m east decode=p: 1")
    theirs = base.replace("p: 2", "p: 3")
    assert _merged(base, base, base).text == base
    assert _merged(base, ours, base).text == ours
    assert _merged(base, ours, theirs).text == theirs.replace(
        "m east decode=p: 1  # was 0", "m east decode=p: 1"
    )


def test_what_one_branch_moved_and_the_other_added_ran_before() -> None:
    base = _of("a east decode=p: 1")
    moved, added = _of("a west decode=p: 1"), _of("a east decode=p: 1", "a west decode=p: 1")
    assert _merged(base, moved, added).text == _of("a west decode=p: 1  # was 0, 1 moved here")


def test_a_lock_of_both_branches_without_a_base_merges_too() -> None:
    own, other = _of("a east decode=p: 1"), _of("a east decode=p: 1", "b east decode=p: 1")
    assert _merged("", own, other).text == _of("a east decode=p: 1  # was 0", "b east decode=p: 1  # was 0")


def test_comments_and_other_sections_survive() -> None:
    base = """\
# reviewed by the platform team
version: 1
stack: test  # not prod
clusters:
  # ends in May
  east: {source: Existing, uid: 6e0c0d4e-1f0b-4b8e-9a55-0a1b2c3d4e5f}
pools:
  west/h100: {name: h100-1a2b3c, nodeConfig.spot: true}  # cheap
placements:
  ml/a@3fa01c east decode=l4 prefill=l4: 1  # first
  # the last one
  ml/m east decode=l4: 1
services:  # routes
  ml/all: [east, west]
# end
"""
    ours = base.replace("l4: 1  # first", "l4: 2  # first").replace("# end\n", "# the end\n")
    theirs = base.replace("[east, west]", "[east, north, west]")
    other = base.replace("[east, west]", "[west]")
    expected = ours.replace("prefill=l4: 2  # first", "prefill=l4: 2  # was 1  # first")
    merged = _merged(base, ours, theirs)
    assert _merged(base, base, base).text == base
    assert merged.text == expected.replace("[east, west]", "[east, north, west]")
    assert "  ml/all: [north, west]\n" in _merged(base, other, theirs).text


def test_what_both_branches_changed_in_two_ways_is_a_conflict_between_markers() -> None:
    base = _of("a east decode=p: 2", "b east decode=p: 1", "c east decode=p: 1  # why")
    ours = _of("a east decode=p: 3", "b west decode=p: 1", "c east decode=p: 1  # why")
    theirs = _of(
        "a east decode=p: 1",
        "b east decode=p: 4  # big",
        "c east decode=p: 1  # why",
        "d east decode=p: 1",
    )
    merged = _merged(base, ours, theirs)
    assert merged.text == (
        "version: 1\n"
        "stack: test\n"
        "placements:\n"
        "<<<<<<< ours\n"
        "  ml/a east decode=p: 3  # was 2\n"
        "=======\n"
        "  ml/a east decode=p: 1\n"
        ">>>>>>> theirs\n"
        "<<<<<<< ours\n"
        "=======\n"
        "  ml/b east decode=p: 4  # was 1  # big\n"
        ">>>>>>> theirs\n"
        "  ml/b west decode=p: 1  # was 0, 1 moved here\n"
        "  ml/c east decode=p: 1  # why\n"
        "  ml/d east decode=p: 1  # was 0\n"
    )
    step = (
        "Keep the line that fits the merged documents, remove the other one and the markers, and run "
        "inferfleet plan --write"
    )
    assert [str(problem) for problem in merged.problems] == [
        f"{FILE}:4: both branches changed ml/a east decode=p: ours has 'ml/a east decode=p: 3', theirs has "
        f"'ml/a east decode=p: 1'. {step}",
        f"{FILE}:9: both branches changed ml/b east decode=p: ours has no line, theirs has "
        f"'ml/b east decode=p: 4'. {step}",
    ]


@pytest.mark.parametrize(
    ("ours", "merged"),
    [
        (("a east decode=l4: 1", "b west decode=l4: 1"), ()),
        (("a north decode=l4: 1", "a west decode=l4: 1"), ("a north decode=l4: 1  # was 0",)),
    ],
    ids=["both scaled it", "ours moved one"],
)
def test_of_a_deployment_both_branches_made_smaller_elsewhere_what_ran_stays_for_a_plan_to_end(
    ours: tuple[str, ...], merged: tuple[str, ...]
) -> None:
    """Else nothing that ran would be left: each branch ended what the other kept."""
    base = ("a east decode=l4: 1", "a west decode=l4: 1")
    theirs = "a east decode=l4: 1" if "a west decode=l4: 1" in ours else "a west decode=l4: 1"
    added = tuple(f"{line}  # was 0" for line in ours if line.startswith("b"))
    both = _merged(_of(*base), _of(*ours), _of(theirs))
    assert both.text == _of(*sorted((*base, *merged)), *added)


def test_a_deployment_that_one_branch_removed_and_the_other_changed_stays_whole() -> None:
    """Documents say whether it is still there; without its other lines, what runs would be forgotten."""
    base = (
        "version: 1\n"
        "stack: test\n"
        "placements:\n"
        "  ml/a east decode=p: 1\n"
        "  # near its data\n"
        "  ml/a west decode=p: 1\n"
        "  ml/b east decode=p: 1\n"
    )
    ours = _of("b east decode=p: 1")
    theirs = base.replace("west decode=p: 1", "west decode=p: 3")
    expected = base.replace("west decode=p: 1", "west decode=p: 3  # was 1")
    for merged in (_merged(base, ours, theirs), _merged(base, theirs, ours)):
        assert (merged.text, merged.problems) == (expected, ())
    assert _merged(base, ours, base).text == ours


def test_a_lock_that_cannot_be_read_is_one_conflict_as_a_whole() -> None:
    base, twice = _of("a east decode=p: 1"), _of("a east decode=p: 1", "a east decode=p: 2")
    merged = _merged(base, twice, base)
    assert merged.text == f"<<<<<<< ours\n{twice}=======\n{base}>>>>>>> theirs\n"
    assert [str(problem.where) for problem in merged.problems] == [f"{FILE} (ours):5", f"{FILE}:1"]
    assert _merged(base, "", base).text == f"<<<<<<< ours\n\n=======\n{base}>>>>>>> theirs\n"


def test_conflicts_in_a_base_that_git_made_of_several_count_as_nothing() -> None:
    base = _of("a east decode=p: 1")
    conflict = _merged(base, base.replace("p: 1", "p: 2"), base.replace("p: 1", "p: 3")).text
    side = _of("a east decode=p: 2")
    assert _lock(_merged(conflict, side, side)).placements == {spot("a east/p"): 2}


def test_clusters_that_two_branches_know_more_of_are_a_conflict() -> None:
    base = Lock("test", {"east": LockedCluster("Existing")})
    one, other = (Lock("test", {"east": LockedCluster("Existing", uid=uid)}) for uid in ("a-1", "b-1"))
    assert _lock(_merged(base, base, other)) == other
    assert len(_merged(base, one, other).problems) == 1
