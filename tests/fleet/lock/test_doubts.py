"""A lock that is gone, and one whose deployments are."""

from pathlib import Path

from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, together

from inferfleet.api import load
from inferfleet.api.problems import Problem, Where
from inferfleet.fleet.lock.doubts import doubts
from inferfleet.fleet.lock.lock import Lock, parse

TEXT = "version: 1\nstack: prod\nplacements:\n  ml/gone east decode=l4: 2\n  ml/qwen east decode=l4: 1\n"


def _doubts(tmp_path: Path, text: str, lock: str | None) -> list[Problem]:
    (tmp_path / "a.yaml").write_text(text)
    documents = load([tmp_path], catalogue=None)
    known = parse(lock, file="placement.lock", stack="prod") if lock else Lock("prod")
    return list(doubts(documents, known, file="placement.lock", exists=lock is not None))


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
