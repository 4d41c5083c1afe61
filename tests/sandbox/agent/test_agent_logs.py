"""The last lines of a container are kept, within bounds, and found by its pod's name."""

from pathlib import Path

import pytest

from sandbox.agent import logs
from sandbox.agent.logs import ContainerLog, pod_folder, trim
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.verbs.pod_logs import find, lines, logged_pods


def _pod(places: StackPlaces, cluster: str, name: str, **said: str) -> None:
    metadata = {"namespace": "ml", "name": name, "uid": "1"}
    folder = pod_folder(places.cluster_folder(cluster), {"metadata": metadata})
    for container, text in said.items():
        ContainerLog(folder / "logs", container).write(text)


@pytest.fixture
def places(tmp_path: Path) -> StackPlaces:
    made = StackPlaces(tmp_path, "local")
    _pod(made, "east", "qwen-decode-a", engine="loads\nserves")
    _pod(made, "east", "qwen-decode-b", engine="loads")
    _pod(made, "west", "qwen-epp", epp="picks", side="cars")
    return made


def test_last_words_are_those_of_this_run_only(tmp_path: Path) -> None:
    log = ContainerLog(tmp_path, "epp")
    log.write("of the run before")
    log.begin()
    assert log.last_words() == ""
    log.write("one")
    log.write("two\n")
    assert log.last_words() == "one\ntwo"


def test_last_words_are_no_longer_than_a_termination_message_and_begin_with_a_line(tmp_path: Path) -> None:
    log = ContainerLog(tmp_path, "epp")
    log.begin()
    for number in range(1000):
        log.write(f"line {number:04}")
    words = log.last_words()
    assert len(words) <= logs.MESSAGE_BYTES
    assert words.splitlines() == [f"line {number:04}" for number in range(920, 1000)]


def test_a_log_that_grows_too_long_keeps_its_latest_part_and_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "LIMIT", 10)
    places = StackPlaces(tmp_path, "local")
    _pod(places, "east", "qwen", engine="a line too long")
    pod = find(logged_pods(places), "qwen")
    trim(pod.containers["engine"])
    _pod(places, "east", "qwen", engine="more")
    trim(pod.containers["engine"])
    assert lines(pod, None) == ("a line too long", "more")


def test_a_line_for_a_pod_that_is_gone_is_nobody_s(tmp_path: Path) -> None:
    log = ContainerLog(tmp_path / "pod", "engine")
    (tmp_path / "pod").rmdir()
    log.write("late")
    assert log.last_words() == ""


@pytest.mark.parametrize("wanted", ["qwen-epp", "ml/qwen-epp", "qwen-e", "ml/qwen-e"])
def test_a_pod_is_found_by_its_name_or_by_how_that_begins(places: StackPlaces, wanted: str) -> None:
    assert str(find(logged_pods(places), wanted)) == "ml/qwen-epp on west"


def test_of_several_containers_each_line_says_whose_it_is(places: StackPlaces) -> None:
    pod = find(logged_pods(places), "qwen-epp")
    assert lines(pod, None) == ("[epp] picks", "[side] cars")
    assert lines(pod, "epp") == ("picks",)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (
            "qwen-decode",
            "the names of 2 pods begin with 'qwen-decode'. Write more of the name:\n"
            "  ml/qwen-decode-a on east",
        ),
        (
            "other/qwen-epp",
            "no pod with logs is called 'other/qwen-epp'. Name one of these:\n  ml/qwen-decode-a",
        ),
    ],
)
def test_a_name_of_several_pods_or_of_none_lists_them(places: StackPlaces, wanted: str, said: str) -> None:
    with pytest.raises(SandboxProblem) as problem:
        find(logged_pods(places), wanted)
    assert str(problem.value).startswith(said)


def test_a_container_without_a_log_is_a_problem_that_names_those_that_have_one(places: StackPlaces) -> None:
    with pytest.raises(SandboxProblem, match=r"no log of container 'x' \(it has: epp, side\)"):
        lines(find(logged_pods(places), "qwen-epp"), "x")
