"""In which order tests run, and which of them stay in one process."""

import json
from pathlib import Path
from typing import Any

import pytest
import sharing
from sharing import SHARED_FIXTURE, group, record, share_out

END_TO_END = Path("/project/tests/e2e")


class _Test:
    """A test of a file, as much of it as is looked at."""

    def __init__(self, path: str, *fixtures: str) -> None:
        self.path = Path("/project/tests") / path
        self.fixturenames = fixtures
        self._markers: list[Any] = []

    def add_marker(self, marker: Any) -> None:
        self._markers.append(marker.mark)

    def get_closest_marker(self, name: str) -> Any:
        return next((marker for marker in self._markers if marker.name == name), None)


@pytest.fixture
def tests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    (tmp_path / "durations.json").write_text(json.dumps({"short": 1, "long": 9, "a": 3, "b": 2, "c": 2}))
    monkeypatch.setattr(sharing, "RECORD", tmp_path / "durations.json")
    shared = [_Test(f"e2e/{name}.py", SHARED_FIXTURE) for name in ("a", "b", "c")]
    return [_Test("fleet/x.py"), _Test("e2e/short.py"), *shared, _Test("e2e/long.py"), _Test("gke/y.py")]


ALL = ["long", "b", "c", "a", "short"]


@pytest.mark.parametrize(("first", "order"), [(True, [*ALL, "x", "y"]), (False, ["x", "y", *ALL])])
def test_end_to_end_tests_begin_with_the_longest_before_or_after_all_others(
    tests: list[Any], first: bool, order: list[str]
) -> None:
    share_out(tests, END_TO_END, first=first)
    assert [test.path.stem for test in tests] == order


def test_files_that_share_clusters_are_in_groups_that_take_equally_long(tests: list[Any]) -> None:
    share_out(tests, END_TO_END, first=True)
    assert {test.path.stem: group(test) for test in tests} == {
        "long": "long",
        "short": "short",
        "a": "shared-clusters-1",
        "b": "shared-clusters-2",
        "c": "shared-clusters-2",
        "x": "",
        "y": "",
    }


def test_a_file_that_was_never_measured_begins_as_early_as_a_usual_one(tests: list[Any]) -> None:
    tests.append(_Test("e2e/new.py"))
    share_out(tests, END_TO_END, first=True)
    assert [test.path.stem for test in tests][:5] == ["long", "b", "c", "new", "a"]


def test_what_some_files_took_is_recorded_beside_the_others_that_are_there(
    tests: list[Any], tmp_path: Path
) -> None:
    for name in ("test_new", "test_long"):
        (tmp_path / f"{name}.py").touch()
    sharing.RECORD.write_text(json.dumps({"test_gone": 5, "test_long": 9}))
    record({"test_new": 1.6}, tmp_path)
    assert json.loads(sharing.RECORD.read_text()) == {"test_long": 9, "test_new": 2}
