"""What pods say while an update waits: those of the latest template, each thing once."""

from datetime import UTC, datetime
from typing import Any

from inferfleet.clusters.update.pods import PodWatch
from inferfleet.desired.values import KubeObject

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
LABELS = {
    "inferfleet.dev/deployment": "web",
    "inferfleet.dev/role": "decode",
    "inferfleet.dev/placement": "h100",
}
READY = [{"type": "Ready", "status": "True"}]
CRASH = "engine ended with exit code 2: no such flag: --fast"
Pod = dict[str, Any]


def _ended(words: str = "no such flag: --fast", code: int = 2) -> dict[str, Any]:
    return {
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
        "lastState": {"terminated": {"exitCode": code, "message": words}},
    }


def _without_image(reason: str, message: str = "") -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason, "message": message}}}


def _pod(
    name: str, template: str, minute: int, *, ready: bool = False, init: bool = False, **status: Any
) -> Pod:
    container = {"name": "fetch" if init else "engine", **status}
    return {
        "metadata": {
            "name": name,
            "namespace": "ml",
            "labels": LABELS | {"pod-template-hash": template},
            "creationTimestamp": f"2026-08-01T11:{minute:02}:00Z",
        },
        "spec": {"nodeName": "n", "containers": [{"name": "engine"}]},
        "status": {
            "conditions": READY if ready else [],
            "initContainerStatuses" if init else "containerStatuses": [container],
        },
    }


def _heard(*looks: list[Pod], args: tuple[str, ...] = ()) -> PodWatch:
    engine = {"name": "engine", **({"args": list(args)} if args else {})}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web-decode-h100", "namespace": "ml", "labels": LABELS},
        "spec": {
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [engine]}},
        },
    }
    return _seen(manifest, *looks)


def _seen(manifest: dict[str, Any], *looks: list[Pod]) -> PodWatch:
    heard = PodWatch(KubeObject("east/ml/web-decode-h100", manifest))
    for pods in looks:
        heard.take_events(("MODIFIED", pod) for pod in pods)
        heard.take_pods(pods)
    return heard


def _sentences(*looks: list[Pod]) -> list[str]:
    return [sentence for _, sentence in _heard(*looks).sentences()]


OLD = _pod("old", "a", 1, ready=True, **_ended("out of memory", 137))


def test_of_pods_of_before_and_of_ready_ones_no_end_is_told() -> None:
    broken = _pod("broken", "a", 2, **_ended("of before"))
    assert _sentences([OLD]) == []
    assert _sentences([OLD, broken, _pod("new", "b", 3, **_ended())]) == [f"pod new: {CRASH}"]


def test_a_pod_that_ends_is_not_the_newest() -> None:
    """The document is as it was before, and its pods are older than those that crashed."""
    crashed = _pod("new", "b", 3, **_ended())
    crashed["metadata"]["deletionTimestamp"] = "2026-08-01T11:30:00Z"
    assert _sentences([OLD, crashed]) == []


def test_an_old_pod_that_is_made_anew_is_not_of_the_latest_template() -> None:
    """It was evicted, or more of them are wanted."""
    crashed = _pod("new", "b", 3, **_ended())
    anew = _pod("anew", "a", 4, **_ended("out of memory", 137))
    heard = _heard([OLD], [OLD, crashed], [crashed, anew])
    assert [sentence for _, sentence in heard.sentences()] == [f"pod new: {CRASH}"]
    assert heard.serving() == 0


def test_a_template_that_is_written_again_is_the_latest_though_it_has_older_pods() -> None:
    """The update before this one was cancelled half way, and pods of its template serve."""
    pods = [
        _with_args(_pod("former", "a", 1, ready=True), "--slow"),
        _with_args(_pod("between", "b", 3, ready=True), "--fast"),
        _with_args(_pod("again", "a", 4, **_ended()), "--slow"),
    ]
    told = {
        flag: [sentence for _, sentence in _heard(pods, args=(flag,)).sentences()]
        for flag in ("--slow", "--fast", "--of-neither")
    }
    assert told == {"--slow": [f"pod again: {CRASH}"], "--fast": [], "--of-neither": []}


def _with_args(pod: Pod, *args: str) -> Pod:
    pod["spec"]["containers"][0]["args"] = list(args)
    return pod


def _group(name: str, revision: str, minute: int, **status: Any) -> Pod:
    made = _pod(name, "", minute, **status)
    del made["metadata"]["labels"]["pod-template-hash"]
    lws = "leaderworkerset.sigs.k8s.io"
    made["metadata"]["labels"] |= {
        f"{lws}/name": "web-decode-h100",
        f"{lws}/group-index": name.split("-")[1],
        f"{lws}/template-revision-hash": revision,
    }
    return made


def _groups(*looks: list[Pod]) -> PodWatch:
    metadata = {"name": "web-decode-h100", "namespace": "ml", "labels": LABELS}
    return _seen({"kind": "LeaderWorkerSet", "metadata": metadata, "spec": {"replicas": 2}}, *looks)


def test_of_groups_of_the_former_revision_nothing_is_told() -> None:
    """The update mends what ended them."""
    broken, former = _group("kimi-0", "a", 1, **_ended()), _group("kimi-1", "a", 1, ready=True)
    loads = _group("kimi-1", "b", 3, state={"running": {"startedAt": "2026-08-01T11:59:00Z"}})
    heard = _groups([broken, former], [broken, loads])
    assert (list(heard.sentences()), list(heard.waits(NOW)), heard.serving()) == ([], ["kimi-1 Starting"], 0)
    serves = _group("kimi-0", "a", 1, ready=True)
    assert _groups([serves, former], [serves, loads]).serving() == 1


def test_a_group_that_is_gone_until_it_is_made_anew_is_still_of_the_latest_revision() -> None:
    broken, crashed = _group("kimi-0", "a", 1, **_ended("of before")), _group("kimi-1", "b", 3, **_ended())
    said = [sentence for _, sentence in _groups([broken, crashed], [broken]).sentences()]
    assert said == [f"pod kimi-1: {CRASH}"]


def test_groups_above_their_number_that_are_gone_are_not_the_latest() -> None:
    more = _group("kimi-2", "a", 1, **_ended("of before"))
    crashed = _group("kimi-1", "b", 3, **_ended())
    assert [sentence for _, sentence in _groups([more], [crashed]).sentences()] == [f"pod kimi-1: {CRASH}"]


def test_ends_that_differ_in_numbers_alone_are_one() -> None:
    first, again = _ended("(pid=31) at 11:02:07 failed"), _ended("(pid=52) at 11:04:51 failed")
    killed = _ended("(pid=52) at 11:04:51 failed", 137)
    keys = [
        next(key for key, _ in _heard([_pod("new", "b", 3, **status)]).sentences())
        for status in (first, again, killed)
    ]
    assert (keys[0] == keys[1], keys[1] == keys[2]) == (True, False)


def test_init_containers_and_images_are_told_of_too() -> None:
    fetch = _pod("new", "b", 3, init=True, **_ended("no such bucket", 1))
    assert _sentences([fetch]) == ["pod new: fetch ended with exit code 1: no such bucket"]
    pulls = [
        _heard([_pod("new", "b", 3, **_without_image(reason, "vllm:v0: not found"))]).sentences()
        for reason in ("ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError", "InvalidImageName")
    ]
    told = [said for each in pulls for said in each]
    assert {key for key, _ in told} == {"engine does not start"}
    assert told[0][1] == "pod new: engine ErrImagePull: vllm:v0: not found"
    assert _sentences([_pod("new", "b", 3, **_without_image("ContainerCreating"))]) == []


def test_at_last_each_thing_is_said_once_and_pods_of_before_are_counted() -> None:
    heard = _heard([OLD, _pod("new", "b", 3, **_ended())])
    assert list(heard.waits(NOW)) == [
        "new Failed: engine CrashLoopBackOff: ended with exit code 2: no such flag: --fast"
    ]
    assert heard.serving() == 1
    running = _pod("new", "b", 3, state={"running": {"startedAt": "2026-08-01T11:59:00Z"}})
    heard.take_pods([OLD, running])
    assert list(heard.waits(NOW)) == ["new Starting", f"new before: {CRASH}"]


def test_pods_of_groups_with_the_same_labels_are_not_its_own() -> None:
    of_group = _pod("web-0", "b", 3, **_ended())
    of_group["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/name"] = "web"
    assert _sentences([of_group]) == []
