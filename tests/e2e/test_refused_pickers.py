"""Pickers that refuse what they are given say why, and models that load are waited for."""

from collections.abc import Iterator

import pytest
import refused
from refused import LOADING, REFUSED, Course
from sandboxes import running

SLOW = "Deployment west/ml/slow-decode-l4"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    with running(tmp_path_factory.mktemp("refused"), refused.STACK, refused.cluster()) as project:
        yield refused.course(project)


def test_an_update_fails_in_the_own_words_of_pickers_and_status_tells_them_too(course: Course) -> None:
    assert course.failed.code != 0
    output = course.failed.output.replace("\\", "")
    for name, (_, words) in REFUSED.items():
        assert f"Deployment (west/ml/{name}-epp)" in output
        assert words in output
        assert words in course.broken[f"Deployment ml/{name}-epp"]
    assert "Traceback" not in output


def test_an_update_waits_for_a_model_that_loads(course: Course) -> None:
    assert course.failed.seconds[SLOW] >= LOADING


def test_an_update_that_is_told_so_does_not_wait_and_status_tells_the_truth(course: Course) -> None:
    assert course.applied.code == 0, course.applied.output
    assert course.applied.seconds[SLOW] < course.failed.seconds[SLOW]
    meanwhile = course.meanwhile
    assert (meanwhile.returncode, "Starting" in meanwhile.stdout) == (5, True), meanwhile.stdout
