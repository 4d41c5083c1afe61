"""Pickers that refuse what they are given say why, and models that load are waited for."""

from concurrent.futures import Future

from refused import LOADING, REFUSED, Course

SLOW = "Deployment west/ml/slow-decode-l4"


def test_an_update_fails_in_the_own_words_of_pickers_and_status_tells_them_too(going: Future[Course]) -> None:
    course = going.result()
    assert course.failed.code != 0
    output = course.failed.output.replace("\\", "")
    for name, (_, words) in REFUSED.items():
        assert f"Deployment (west/ml/{name}-epp)" in output
        assert words in output
        assert words in course.broken[f"Deployment ml/{name}-epp"]
    assert "Traceback" not in output


def test_an_update_waits_for_a_model_that_loads(going: Future[Course]) -> None:
    assert going.result().failed.seconds[SLOW] >= LOADING


def test_an_update_that_is_told_so_does_not_wait_and_status_tells_the_truth(going: Future[Course]) -> None:
    course = going.result()
    assert course.applied.code == 0, course.applied.output
    assert course.applied.seconds[SLOW] < LOADING
    meanwhile = course.meanwhile
    assert (meanwhile.returncode, "Starting" in meanwhile.stdout) == (5, True), meanwhile.stdout
