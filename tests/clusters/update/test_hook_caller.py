"""What calling a ready hook comes to: what it says, how it fails, and the Event at its workload."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from fake_cluster import FakeCluster, thing
from one_ready_hook import WORKLOAD, Greeting, hook_of

from inferfleet.clusters.update.hooks import hook_caller
from inferfleet.desired.values import Connection, Desired, DesiredCluster, HookOutcome, ReadyHook
from inferfleet.fleet.decisions import Plan
from inferfleet.plugins.contract import PluginError, Ready

PODS = "(deployment ml/web, role decode on east/h100)"
EVENTS = "/apis/events.k8s.io/v1/namespaces/ml/events"
CLUSTER = DesiredCluster(Connection("east", "existing/east", "active"), ())
DESIRED = Desired("prod", (CLUSTER,), Plan(), frozenset(), ())
LIVE = thing(
    "Deployment", "web-decode-h100", "ml", labels={"inferfleet.dev/stack": "s"}, metadata={"uid": "u-1"}
)


@pytest.fixture
def east() -> Iterator[FakeCluster]:
    cluster = FakeCluster(objects=[LIVE])
    yield cluster
    cluster.close()


def _told(hook: ReadyHook, east: FakeCluster, *, seconds: float = 300, **kubeconfigs: str) -> HookOutcome:
    texts = kubeconfigs or {"east": east.kubeconfig}
    return asyncio.run(_tell(hook, texts, seconds))


async def _tell(hook: ReadyHook, texts: dict[str, str], seconds: float) -> HookOutcome:
    return await hook_caller(DESIRED, texts, container_api="http://127.0.0.1:1", seconds=seconds)(hook)


def _greets(ready: Ready, config: Greeting) -> str:
    return f"{config.text} {ready.manifest['metadata']['name']}"


def test_each_link_is_called_with_its_config_and_an_event_says_what_it_said(east: FakeCluster) -> None:
    told = _told(hook_of(_greets, {"text": "hello"}, {"text": "and\nagain"}), east)
    said = "plugin registrar 1.2.0: hello web-decode-h100; and again web-decode-h100"
    assert told == HookOutcome(f"{said} {PODS}")
    [(path, event)] = east.posted
    event.pop("eventTime")
    assert (path, event) == (
        EVENTS,
        {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "generateName": "web-decode-h100-",
                "namespace": "ml",
                "labels": {"inferfleet.dev/stack": "s"},
            },
            "type": "Normal",
            "reason": "PluginReady",
            "action": "CallReadyHook",
            "note": said,
            "regarding": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "namespace": "ml",
                "name": "web-decode-h100",
                "uid": "u-1",
            },
            "reportingController": "inferfleet.dev",
            "reportingInstance": "inferfleet",
        },
    )


def test_a_hook_that_says_nothing_was_told_all_the_same(east: FakeCluster) -> None:
    told = _told(hook_of(lambda ready, config: None), east)
    assert told == HookOutcome(f"plugin registrar 1.2.0: was told that the pods are ready {PODS}")


def _raises(ready: Ready, config: Greeting) -> None:
    raise KeyError("model")


def _refuses(ready: Ready, config: Greeting) -> None:
    raise PluginError("the registry is closed; open it.")


def _exits(ready: Ready, config: Greeting) -> None:
    sys.exit(3)


def _prints(ready: Ready, config: Greeting) -> None:
    print("done")


def _interrupts(ready: Ready, config: Greeting) -> None:
    raise KeyboardInterrupt


def _counts(ready: Ready, config: Greeting) -> Any:
    return 3


def test_what_a_hook_prints_is_told_and_fails_nothing(east: FakeCluster) -> None:
    told = _told(hook_of(_prints), east)
    [warning] = told.warnings
    assert (told.failure, warning.severity) == (None, "warning")
    assert warning.what == f"plugin registrar 1.2.0 OnReady says: done {PODS}"


def test_what_other_threads_write_is_not_the_hooks(
    east: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    def waits(ready: Ready, config: Greeting) -> str:
        for stream in (sys.stdout, sys.stderr):
            other = threading.Thread(target=print, args=("of a library",), kwargs={"file": stream})
            other.start()
            other.join()
        return "greeted"

    told = _told(hook_of(waits), east)
    assert (told.failure, told.said.partition(" (")[0]) == (None, "plugin registrar 1.2.0: greeted")
    assert capsys.readouterr() == ("of a library\n", "of a library\n")


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (_raises, "KeyError: 'model' (at test_hook_caller.py:"),
        (_refuses, "the registry is closed; open it"),
        (_exits, "ended the program with sys.exit(3) (at test_hook_caller.py:"),
        (_interrupts, "raised KeyboardInterrupt"),
        (_counts, "returned 3, but ready returns a sentence or nothing"),
    ],
)
def test_what_a_hook_does_wrong_names_plugin_pods_and_link(east: FakeCluster, does: Any, said: str) -> None:
    told = _told(hook_of(does), east)
    failure = told.failure
    assert failure is not None
    assert failure.startswith(f"spec.plugins[0]: plugin registrar 1.2.0 OnReady: {said}")
    assert failure.endswith(
        f"{PODS}. The workload itself is up to date. Mend the plugin: the next update calls it again"
    )
    assert (failure.count(PODS), told.said.count(PODS)) == (1, 1)
    [(_, event)] = east.posted
    assert (event["type"], event["reason"]) == ("Warning", "PluginFailed")
    assert PODS not in event["note"]
    assert event["note"].startswith(f"plugin registrar 1.2.0 OnReady: {said}")


def test_a_hook_that_never_returns_fails_after_its_time_and_gives_the_output_back(
    east: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    end = threading.Event()

    def waits(ready: Ready, config: Greeting) -> str:
        print("asks the catalogue")
        return str(end.wait(300))

    told = _told(hook_of(waits), east, seconds=0.2)
    print("of the program")
    assert capsys.readouterr().out == "of the program\n"
    end.set()
    assert told.failure is not None
    assert "did not come back within 0 s" in told.failure
    [warning] = told.warnings
    assert warning.what == f"plugin registrar 1.2.0 OnReady says: asks the catalogue {PODS}"


def test_a_hook_cannot_change_what_the_next_one_is_told(east: FakeCluster) -> None:
    def greedy(ready: Ready, config: Greeting) -> str:
        config.seen.append("me")
        ready.manifest["spec"] = None
        return " ".join(config.seen)

    hook = hook_of(greedy)
    assert [_told(hook, east).said, WORKLOAD.manifest["spec"]["replicas"]] == [
        f"plugin registrar 1.2.0: me {PODS}",
        2,
    ]
    assert _told(hook, east).said == f"plugin registrar 1.2.0: me {PODS}"


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (403, "the credentials may not create this. Give them the right to create it"),
        (500, "the API server failed. Check the health of the API server, then try again"),
    ],
)
def test_an_event_that_cannot_be_written_is_a_warning(east: FakeCluster, status: int, why: str) -> None:
    east.status[EVENTS] = status
    told = _told(hook_of(_greets), east)
    [warning] = told.warnings
    assert (told.failure, warning.severity) == (None, "warning")
    assert str(warning).endswith(
        "no Event was written at Deployment east/ml/web-decode-h100 (plugin registrar 1.2.0: hello "
        f"web-decode-h100): cluster 'east' refused POST {EVENTS} ({status}): {why}"
    )


def test_without_a_kubeconfig_there_is_no_event(east: FakeCluster) -> None:
    [warning] = _told(hook_of(_greets), east, west="").warnings
    assert warning.what.endswith("the run has no kubeconfig of it")
    assert east.asked == []


def test_a_cluster_that_took_no_event_is_not_asked_again_in_the_same_run(east: FakeCluster) -> None:
    east.status[EVENTS] = 403

    async def twice() -> list[int]:
        tell = hook_caller(DESIRED, {"east": east.kubeconfig}, container_api="http://127.0.0.1:1")
        return [len((await tell(hook_of(_greets))).warnings) for _ in range(2)]

    assert (asyncio.run(twice()), len(east.posted)) == ([1, 0], 1)


def test_hooks_of_two_fleets_run_one_after_the_other(east: FakeCluster) -> None:
    begun, ended = threading.Event(), threading.Event()
    overlapping: list[bool] = []

    def slow(_: Ready, __: Greeting) -> str:
        begun.set()
        # Time for the other hook, if nothing keeps it back.
        overlapping.append(ended.wait(1))
        return "slow"

    def quick(_: Ready, __: Greeting) -> str:
        ended.set()
        return "quick"

    async def both() -> None:
        one, other = (
            hook_caller(DESIRED, {"east": east.kubeconfig}, container_api="http://127.0.0.1:1")
            for _ in range(2)
        )
        first = asyncio.create_task(one(hook_of(slow)))
        await asyncio.to_thread(begun.wait)
        await asyncio.gather(first, other(hook_of(quick)))

    asyncio.run(both())
    assert (overlapping, ended.is_set()) == ([False], True)
