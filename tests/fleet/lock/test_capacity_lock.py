"""capacity.lock as text: one line for each pool, read strictly."""

from datetime import date

import pytest

from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet.lock.capacity import Amounts, Observation, parse, text

DAY = date(2026, 11, 23)
SEEN = {
    ("west", "h100"): Observation(DAY, 2, (), 8, 190_500, 2**40, (), 3, daemons=Amounts(884, 626 * 2**20)),
    ("east", "l4"): Observation(
        DAY, 1, (0, 4), 4, 15_890, 58 * 2**30, (1, 1, 2), others=(Amounts(500, 0), Amounts(4000, 2**30))
    ),
    ("east", "t4"): Observation(DAY, 2, labels={"disk": (None, "", "fast"), "example.com/rack": ("1",)}),
    ("east", "cpu"): Observation(DAY, 0, missing=3),
}
TEXT = """\
version: 1
stack: prod
pools:
  east/cpu: {seen: "2026-11-23", nodes: 0, missing: 3}
  east/l4: {seen: "2026-11-23", nodes: 1, held: [0, 4], gpus: 4, cpu: "15890m", memory: "59392Mi", \
foreign: [1, 1, 2], others: ["500m 0Mi", "4000m 1024Mi"]}
  east/t4: {seen: "2026-11-23", nodes: 2, labels: ["!disk", "disk=", "disk=fast", "example.com/rack=1"]}
  west/h100: {seen: "2026-11-23", nodes: 2, gpus: 8, cpu: "190500m", memory: "1048576Mi", \
daemons: "884m 626Mi", most: 3}
"""


def _wrong(written: str) -> list[str]:
    with pytest.raises(InvalidDocuments) as raised:
        parse(written, file="capacity.lock", stack="prod")
    return [f"{problem.where}: {problem.what}" for problem in raised.value.problems]


def test_the_file_has_one_line_for_each_pool_sorted_and_says_the_same_again() -> None:
    assert text("prod", SEEN) == TEXT
    assert parse(TEXT, file="capacity.lock", stack="prod") == SEEN


@pytest.mark.parametrize("written", [None, text("prod", {})])
def test_without_a_file_nothing_was_seen(written: str | None) -> None:
    assert parse(written, file="capacity.lock", stack="prod") == {}


@pytest.mark.parametrize(
    ("written", "lacking"),
    [
        ("", "version and stack"),
        ("\n", "version and stack"),
        ("# nothing yet\n", "version and stack"),
        ("version: 1\n", "stack"),
        ("stack: prod\npools:\n", "version"),
    ],
)
def test_a_file_that_lacks_its_head_is_refused_with_what_it_lacks(written: str, lacking: str) -> None:
    with pytest.raises(InvalidDocuments) as raised:
        parse(written, file="capacity.lock", stack="prod")
    assert str(raised.value) == (
        f"capacity.lock:1: the file lacks {lacking}, so it says nothing of pools. Delete the file; "
        "inferfleet capacity --write makes it anew"
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('east/l4: {seen: "2026-11-23"}', "east/l4 says no number of nodes"),
        ("east/l4: {seen: now, nodes: 2}", "is no day on which it was seen"),
        ("east/l4: {nodes: 2}", "the pool has no day on which it was seen, such as 2026-11-23"),
        ('east/l4: {seen: "2026-11-23", nodes: -1}', "does not have the form"),
        ('east/l4: {seen: "2026-11-23", nodes: 1, held: 2}', "does not have the form"),
        ('east/l4: {seen: "2026-11-23", nodes: 1, missing: -1}', "does not have the form"),
        ('east/l4: {seen: "2026-11-23", nodes: 1, foreign: [x]}', "does not have the form"),
        (
            'east/l4: {seen: "2026-11-23", nodes: 1, daemons: 1m}',
            "'1m', which is no pair such as '884m 626Mi'",
        ),
        ('east/l4: {seen: "2026-11-23", nodes: 1, others: 1m 2Mi}', "has others that are no list"),
        ('east/l4: {seen: "2026-11-23", nodes: 1, labels: rack=a}', "has labels that are no list"),
        ('east/l4: {seen: "2026-11-23", nodes: 1, labels: [rack]}', "'rack', which is no label such as"),
        ('east/l4: {seen: "2026-11-23", nodes: 1, others: [lots 2Mi]}', "lots"),
        ('east/l4: {seen: "2026-11-23", nodes: 1, node: 1}', "unknown field node"),
        ('east/l4: {seen: "2026-11-23", nodes: 1, cpu: lots}', "lots"),
        ('east: {seen: "2026-11-23", nodes: 1}', "does not have the form"),
        ("east/l4: 3", "is not a mapping"),
        ("<<<<<<< HEAD", "marks an unresolved merge conflict"),
        ("nonsense", "is not a line of a capacity lock"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(line: str, problem: str) -> None:
    (said,) = _wrong(f"version: 1\nstack: prod\npools:\n{line if line[0] == '<' else '  ' + line}\n")
    assert said.startswith("capacity.lock:4: ")
    assert problem in said


def test_another_stack_another_version_and_a_pool_twice_are_refused() -> None:
    line = '  east/l4: {seen: "2026-11-23", nodes: 1}\n'
    assert len(_wrong(f"version: 2\nstack: other\nnodes: 1\npools:\n{line}{line}")) == 4
