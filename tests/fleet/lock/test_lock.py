"""placement.lock as text: one form, read strictly, every problem with its line."""

from contextlib import suppress

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from work import least_cpu

from inferfleet.documents.problems import InvalidDocuments, Where
from inferfleet.fleet.lock.lock import Lock, LockedCluster, matches, parse, text
from inferfleet.fleet.spot import Spot

UID = "6e0c0d4e-0000-4000-8000-000000000000"
CODER = Spot("ml/qwen3-coder", "east", (("decode", "h100"),))
SPLIT = Spot("ml/deepseek", "dc1", (("decode", "h200"), ("prefill", "h100")))
LOCK = Lock(
    stack="prod",
    clusters={"dc1": LockedCluster("Existing", UID), "east": LockedCluster("Existing")},
    placements={CODER: 2, SPLIT: 1},
    services={"ml/coder": ("dc1", "east")},
    nodes={"dc1/h200": 1, "dc1/h100": 0},
)
TEXT = f"""\
version: 1
stack: prod
clusters:
  dc1: {{source: Existing, uid: {UID}}}
  east: {{source: Existing}}
pools:
  dc1/h100: {{nodes: 0}}
  dc1/h200: {{nodes: 1}}
placements:
  ml/deepseek dc1 decode=h200 prefill=h100: 1
  ml/qwen3-coder east decode=h100: 2
services:
  ml/coder: [dc1, east]
"""


def _parse(content: str | None, stack: str = "prod") -> Lock:
    return parse(content, file="placement.lock", stack=stack)


def test_a_lock_is_written_in_one_form() -> None:
    assert text(LOCK) == TEXT


def test_a_lock_is_read_with_the_line_of_each_entry() -> None:
    read = _parse(TEXT)
    assert read == LOCK
    assert read.lines == {
        "clusters/dc1": Where("placement.lock", 4),
        "clusters/east": Where("placement.lock", 5),
        "pools/dc1/h100": Where("placement.lock", 7),
        "pools/dc1/h200": Where("placement.lock", 8),
        "placements/ml/deepseek dc1 decode=h200 prefill=h100": Where("placement.lock", 10),
        "placements/ml/qwen3-coder east decode=h100": Where("placement.lock", 11),
        "services/ml/coder": Where("placement.lock", 13),
    }


def test_no_file_is_an_empty_lock() -> None:
    assert _parse(None) == Lock(stack="prod")
    assert text(Lock(stack="prod")) == "version: 1\nstack: prod\n"


def test_comments_blank_lines_and_windows_line_ends_are_read() -> None:
    assert (
        _parse("\ufeff# moved by hand\n\n" + TEXT.replace(": 2\n", ": 2  # two\n").replace("\n", "\r\n"))
        == LOCK
    )


@pytest.mark.parametrize(
    ("line", "instead", "problem"),
    [
        (
            "version: 1",
            "version: 2",
            "placement.lock:1: the lock has version '2', but this inferfleet reads version 1 only",
        ),
        ("stack: prod", "stack: dev", "placement.lock:2: this is the lock of stack 'dev', not of 'prod'"),
        ("stack: prod\n", "", "placement.lock:1: the lock has no field stack"),
        (
            "services:",
            "routes:",
            "placement.lock:12: unknown field 'routes': a lock has version, stack, clusters",
        ),
        (
            "decode=h100: 2",
            "decode=h100: 0",
            "placement.lock:11: '0' is not a number of replicas (1 to 99999)",
        ),
        ("decode=h100: 2", "decode=h100: two", "placement.lock:11: 'two' is not a number of replicas"),
        (
            "  ml/qwen3-coder east decode=h100: 2",
            "  qwen3-coder east: 2",
            "placement.lock:11: 'qwen3-coder east' does not have the form",
        ),
        (" prefill=h100: 1", " decode=h100: 1", "names a role twice"),
        (
            "  ml/coder: [dc1, east]",
            "  ml/coder: [dc1, dc1]",
            "placement.lock:13: service ml/coder names a cluster twice",
        ),
        (
            "  ml/coder: [dc1, east]",
            "  ml/coder: []",
            "placement.lock:13: 'ml/coder: []' does not have the form",
        ),
        (
            "  ml/coder: [dc1, east]",
            "  ml/coder: [dc1",
            "placement.lock:13: 'ml/coder: [dc1' does not have the form",
        ),
        (
            "east: {source: Existing}",
            "east: {source: Cloud}",
            "placement.lock:5: cluster east has source 'Cloud'",
        ),
        (
            "dc1/h200: {nodes: 1}",
            "dc1/h200: {}",
            "placement.lock:8: pool dc1/h200 has nodes None; it must be the number of nodes that it was",
        ),
        ("dc1/h200: {nodes: 1}", "dc1/h200: {nodes: true}", "placement.lock:8: pool dc1/h200 has nodes True"),
        ("dc1/h200: {nodes: 1}", "dc1/h200: {nodes: -1}", "placement.lock:8: pool dc1/h200 has nodes -1"),
        (
            "dc1/h200: {nodes: 1}",
            "dc1/h200: {nodes: 1, a: b}",
            "placement.lock:8: pool dc1/h200 has a and no name; only a pool that GKE has by a name may have",
        ),
        ("clusters:", "clusters: {}", "placement.lock:3: clusters has '{}' on its own line"),
        ("stack: prod", "stack: prod\nstack: prod", "placement.lock:3: the lock has stack twice"),
        (
            "  east: {source: Existing}",
            "  east: {source: Existing}\n  east: {source: Existing}",
            "placement.lock:6: east is listed twice in clusters, first on line 5",
        ),
        ("placements:", "\x00\x01", "placement.lock:9: '\\x00\\x01' is not a line of a placement lock"),
    ],
)
def test_a_damaged_lock_says_file_line_value_and_rule(line: str, instead: str, problem: str) -> None:
    with pytest.raises(InvalidDocuments) as raised:
        _parse(TEXT.replace(line, instead))
    assert problem in str(raised.value)


def test_all_problems_of_a_lock_come_at_once() -> None:
    with pytest.raises(InvalidDocuments) as raised:
        _parse(TEXT.replace("version: 1", "version: 9").replace("prod", "dev").replace(": 2", ": many"))
    assert [str(problem.where) for problem in raised.value.problems] == [
        f"placement.lock:{line}" for line in (1, 2, 11)
    ]


def test_merge_conflict_markers_are_named_and_nothing_else_is() -> None:
    conflict = TEXT.replace(
        "  ml/qwen3-coder east decode=h100: 2\n",
        "<<<<<<< HEAD\n  ml/qwen3-coder east decode=h100: 2\n=======\n"
        "  ml/qwen3-coder east decode=h100: 3\n>>>>>>> branch\n",
    )
    with pytest.raises(InvalidDocuments) as raised:
        _parse(conflict)
    assert str(raised.value) == (
        "placement.lock:11: '<<<<<<< HEAD' marks an unresolved merge conflict: two branches changed the "
        "lock. Take the lock of BASE, the branch that yours goes to, and write it anew: "
        "git checkout BASE -- placement.lock, then inferfleet plan --stack prod --write"
    )


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file_is_damage_and_not_an_empty_lock(content: str) -> None:
    with pytest.raises(InvalidDocuments, match="so every running replica would be placed as if it were new"):
        _parse(content)


def test_a_missing_uid_never_makes_a_mismatch_and_a_different_one_does() -> None:
    known, unknown, other = (
        Lock(stack="prod", clusters={"east": LockedCluster("Existing", uid)}) for uid in ("a", None, "b")
    )
    assert [matches(known, unknown), matches(unknown, known), matches(known, other)] == [True, True, False]
    assert not matches(Lock(stack="prod"), known)


def test_another_number_of_nodes_is_a_mismatch() -> None:
    locks = [Lock(stack="prod", nodes=nodes) for nodes in ({"east/l4": 1}, {"east/l4": 2}, {})]
    assert [matches(locks[0], lock) for lock in locks] == [True, False, False]


_names = st.from_regex(r"\A[a-z][-a-z0-9]{0,8}[a-z0-9]\Z") | st.sampled_from(
    ["no", "on", "y", "true", "null", "nan"]
)
_keys = st.tuples(_names, _names).map("/".join)
_spots = st.builds(
    lambda key, cluster, pools: Spot(key, cluster, tuple(sorted(pools.items()))),
    _keys,
    _names,
    st.dictionaries(_names, _names, min_size=1, max_size=3),
)
_locks = st.builds(
    Lock,
    stack=st.from_regex(r"\A[A-Za-z0-9][-A-Za-z0-9_.]{0,8}\Z"),
    clusters=st.dictionaries(
        _names, st.builds(LockedCluster, st.just("Existing"), st.none() | st.uuids().map(str)), max_size=3
    ),
    placements=st.dictionaries(_spots, st.integers(1, 10_000), max_size=4),
    nodes=st.dictionaries(_keys, st.integers(0, 15_000), max_size=3),
    services=st.dictionaries(
        _keys, st.sets(_names, min_size=1, max_size=3).map(lambda s: tuple(sorted(s))), max_size=3
    ),
)


@given(_locks)
def test_what_is_written_reads_back(lock: Lock) -> None:
    assert _parse(text(lock), lock.stack) == lock


@given(_locks)
def test_a_yaml_reader_sees_the_same_names(lock: Lock) -> None:
    seen = yaml.safe_load(text(lock))
    assert seen["stack"] == lock.stack
    assert set(seen.get("clusters", {})) == set(lock.clusters)
    assert {key: tuple(value) for key, value in seen.get("services", {}).items()} == lock.services


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(content: str) -> None:
    with suppress(InvalidDocuments):
        _parse(content)


HEAD = "version: 1\nstack: prod\n"


@pytest.mark.parametrize(
    "line",
    [
        "placements:\n  x{spaces}y",
        "placements:\n{spaces}:",
        "placements:\n  {colons}x",
        "placements:\n  {letters}: 1",
        "placements:\n  a/b c {pairs}: 1",
        "placements:\n  a/b c d=e: {letters}",
        "clusters:\n  {letters}: {{source: X}}",
        "clusters:\n  east: {{source: {letters}}}",
        "clusters:\n  east: {{source: [{letters}]}}",
        "clusters:\n  east: {{source: Existing, uid: [{letters}]}}",
        "clusters:\n  east: {{source: Existing, {letters}: 1}}",
        "clusters:\n  east: {{source: GKE, {letters}: null}}",
        "clusters:\n  east: {{{letters}",
        "pools:\n  east/h100: {{name: [{letters}]}}",
        "pools:\n  east/{letters}: {{name: 1}}",
        "services:\n  ml/a: [{commas}]",
        "services:\n  ml/{letters}: [a, a]",
        "services:\n  ml/{letters}: [a]\n  ml/{letters}: [a]",
        "{letters}: 1",
        "stack: {letters}",
        "{letters}",
    ],
)
def test_a_line_of_any_length_is_read_at_once_and_quoted_in_part(line: str) -> None:
    def read(n: int) -> InvalidDocuments:
        content = HEAD + line.format(
            spaces=" " * n, colons=": " * n, letters="a" * n, pairs="d=e " * n, commas="a," * n
        )
        with pytest.raises(InvalidDocuments) as raised:
            _parse(content)
        return raised.value

    assert all(len(str(problem)) < 400 for problem in read(400_000).problems)
    # In linear time it is 4 times as much, in quadratic time, in which the first line took hours, 16 times.
    assert least_cpu(lambda: read(400_000)) < 10 * least_cpu(lambda: read(100_000))


@pytest.mark.parametrize("line", ["x", "  x", "  x: y"])
def test_a_file_that_is_no_lock_is_not_told_line_by_line(line: str) -> None:
    with pytest.raises(InvalidDocuments) as raised:
        _parse(f"{HEAD}placements:\n" + f"{line}\n" * 200_000)
    problems = raised.value.problems
    assert (len(problems), problems[-1].what) == (
        102,
        "the lock is not read further: too many of its lines have problems",
    )
