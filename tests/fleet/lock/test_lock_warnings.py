"""A lock that is gone, and one whose deployments are; and a capacity.lock of other pools and days."""

from pathlib import Path

from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, TODAY, together

from inferfleet.documents import load
from inferfleet.documents.problems import Problem, Where
from inferfleet.fleet.lock.capacity import observation_problems
from inferfleet.fleet.lock.capacity import parse as parse_capacity
from inferfleet.fleet.lock.lock import Lock, lock_problems, parse

TEXT = "version: 1\nstack: prod\nplacements:\n  ml/gone east decode=l4: 2\n  ml/qwen east decode=l4: 1\n"


def _doubts(tmp_path: Path, text: str, lock: str | None) -> list[Problem]:
    (tmp_path / "a.yaml").write_text(text)
    documents = load([tmp_path], catalogue=None)
    known = parse(lock, file="placement.lock", stack="prod") if lock else Lock("prod")
    return list(lock_problems(documents, known, file="placement.lock", exists=lock is not None))


def test_replicas_without_a_lock_are_a_warning(tmp_path: Path) -> None:
    whole = together(CLASS, CLUSTER, DEPLOYMENT)
    (warning,) = _doubts(tmp_path, whole, None)
    assert (warning.severity, warning.what) == (
        "warning",
        "there is no placement.lock, so all replicas are placed as if none ran yet",
    )
    assert _doubts(tmp_path, whole.replace("replicas: 1", "replicas: 0"), None) == []


def test_a_lock_of_which_no_deployment_has_a_document_is_a_warning(tmp_path: Path) -> None:
    (warning,) = _doubts(tmp_path, together(CLASS, CLUSTER), TEXT)
    assert (warning.severity, warning.where, warning.what) == (
        "warning",
        Where("placement.lock", 4),
        "no deployment in the lock has a document (of 2), so the next update ends whatever runs "
        "(replicas: 3)",
    )
    assert _doubts(tmp_path, together(CLASS, CLUSTER, DEPLOYMENT), TEXT) == []


def _doubted(tmp_path: Path, *lines: str) -> list[str]:
    (tmp_path / "a.yaml").write_text(together(CLASS, CLUSTER))
    written = "\n".join(["version: 1", "stack: prod", "pools:", *(f"  {line}" for line in lines), ""])
    seen = parse_capacity(written, file="capacity.lock", stack="prod")
    problems = list(observation_problems(load([tmp_path], catalogue=None), seen, today=TODAY))
    assert {problem.severity for problem in problems} <= {"warning"}
    return [f"{problem.where}: {problem.what}. {problem.next_step}" for problem in problems]


def test_what_was_seen_of_pools_that_no_document_has_is_a_warning(tmp_path: Path) -> None:
    step = "Correct the name, or run inferfleet capacity --write, which drops the line"
    lines = [f'{pool}: {{seen: "{TODAY}", nodes: 1}}' for pool in ("east/l4", "east/x", "west/l4", "west/x")]
    assert _doubted(tmp_path, *lines) == [
        f"capacity.lock:5: capacity.lock has pool x of cluster east, which has no such pool. {step}",
        f"capacity.lock:6: capacity.lock has pools l4, x of cluster west, which has no document. {step}",
    ]


def test_what_was_seen_on_a_day_to_come_is_a_warning(tmp_path: Path) -> None:
    """A day ahead may be today somewhere else."""
    assert _doubted(tmp_path, 'east/l4: {seen: "2026-11-24", nodes: 1}') == []
    assert _doubted(tmp_path, 'east/l4: {seen: "2027-11-23", nodes: 1}') == [
        "capacity.lock:4: capacity.lock has pool east/l4 as of 2027-11-23, 365 days ahead. Nobody can have "
        "seen that, and it would long not be old: run inferfleet capacity --write"
    ]
