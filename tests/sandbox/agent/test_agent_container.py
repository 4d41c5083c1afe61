"""A container is started, probed, restarted with back-off and stopped as a kubelet would."""

import asyncio
from pathlib import Path
from typing import Any

from hurried import run

from sandbox.agent.container import Container
from sandbox.agent.logs import ContainerLog
from sandbox.agent.pod import PodContainers
from sandbox.agent.program import CannotStart, Exit
from sandbox.agent.status import ContainerView

PROBE: dict[str, Any] = {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 10}


class Scripted:
    """A program that ends after the given seconds, with the given exits; then it runs for ever."""

    def __init__(self, *runs: tuple[float, Exit], cannot: int = 0) -> None:
        self.runs = list(runs)
        self.cannot = cannot
        self.starts: list[float] = []
        self.stops: list[float] = []

    async def start(self) -> None:
        self.starts.append(asyncio.get_running_loop().time())
        if self.cannot:
            self.cannot -= 1
            raise CannotStart("CreateContainerConfigError", 'configmaps "x" not found')

    async def ended(self) -> Exit:
        if not self.runs:
            await asyncio.Event().wait()
        seconds, how = self.runs.pop(0)
        await asyncio.sleep(seconds)
        return how

    async def stop(self, grace: float) -> None:
        self.stops.append(round(grace))


class Answers:
    """A check that fails from one second to another, on the loop's clock from its first use."""

    def __init__(self, *failing: tuple[float, float]) -> None:
        self.failing = failing
        self.begun: float | None = None

    async def __call__(self, probe: dict[str, Any]) -> str:
        now = asyncio.get_running_loop().time()
        self.begun = self.begun if self.begun is not None else now
        return "HTTP status 503" if any(a <= now - self.begun < b for a, b in self.failing) else ""


def _watched(
    tmp_path: Path,
    program: Scripted,
    seconds: float,
    *,
    check: Answers | None = None,
    stop: float | None = None,
    policy: str = "Always",
    **spec: Any,
) -> list[tuple[int, ContainerView]]:
    """Views of the container as they changed, with the second of each."""

    async def watch() -> list[tuple[int, ContainerView]]:
        loop, seen = asyncio.get_running_loop(), []
        begun = loop.time()
        container = Container(
            {"name": "epp", **spec},
            program,
            ContainerLog(tmp_path, "epp"),
            check or Answers(),
            view=ContainerView("epp", "image"),
            changed=lambda: seen.append((round(loop.time() - begun), container.view)),
        )
        task = asyncio.create_task(container.run(policy))
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if stop is not None:
            await container.stop(stop)
            seen.append((round(loop.time() - begun), container.view))
        return seen

    return run(watch())


def _last(seen: list[tuple[int, ContainerView]]) -> ContainerView:
    return seen[-1][1]


def test_what_ends_starts_again_at_once_and_then_after_10_and_20_seconds(tmp_path: Path) -> None:
    crash = (1.0, Exit(1, "bad flag"))
    program = Scripted(crash, crash, crash)
    view = _last(_watched(tmp_path, program, 60))
    assert [round(second - program.starts[0]) for second in program.starts] == [0, 1, 12, 33]
    assert view.restarts == 3


def test_while_it_waits_its_own_last_words_are_to_be_seen(tmp_path: Path) -> None:
    crash = (1.0, Exit(1, "usage\ninvalid argument"))
    view = _last(
        _watched(tmp_path, Scripted(crash, crash), 5, terminationMessagePolicy="FallbackToLogsOnError")
    )
    assert view.state["waiting"]["reason"] == "CrashLoopBackOff"
    assert view.last_state["terminated"]["message"] == "usage\ninvalid argument"
    assert view.complaint == "it ended with code 1: invalid argument"
    assert not view.ready


def test_without_the_policy_for_it_nobody_writes_the_message(tmp_path: Path) -> None:
    view = _last(_watched(tmp_path, Scripted((1.0, Exit(1, "words")), (1.0, Exit(1, "words"))), 5))
    assert "message" not in view.last_state["terminated"]
    assert view.complaint == "it ended with code 1"


def test_what_cannot_start_says_why_each_time_it_tries(tmp_path: Path) -> None:
    seen = _watched(tmp_path, Scripted(cannot=2), 20)
    assert [view.state["waiting"]["message"] for _, view in seen if "waiting" in view.state] == [
        'configmaps "x" not found',
        'configmaps "x" not found (attempt 2)',
    ]
    assert _last(seen).ready


def test_a_container_is_ready_when_its_startup_and_its_readiness_probe_succeed(tmp_path: Path) -> None:
    probes: dict[str, Any] = {"startupProbe": {**PROBE, "failureThreshold": 9}, "readinessProbe": PROBE}
    seen = _watched(tmp_path, Scripted(), 60, check=Answers((0, 35)), **probes)
    assert "startup probe: HTTP status 503" in {view.complaint for _, view in seen}
    assert [view.ready for second, view in seen if second < 40] == [False] * len(seen[:-2])
    assert _last(seen).ready


def test_a_container_that_does_not_start_in_its_time_is_restarted(tmp_path: Path) -> None:
    program = Scripted()
    probe = {**PROBE, "failureThreshold": 2}
    seen = _watched(tmp_path, program, 15, check=Answers((0, 1000)), startupProbe=probe)
    assert _last(seen).restarts == 1
    assert _last(seen).last_state["terminated"]["exitCode"] == 137
    assert program.stops == [30]


def test_three_failures_of_the_liveness_probe_restart_a_container(tmp_path: Path) -> None:
    program = Scripted()
    _watched(tmp_path, program, 60, check=Answers((10, 45)), livenessProbe=PROBE)
    assert program.stops == [30]


def test_a_container_that_fails_its_readiness_probe_is_out_until_it_answers(tmp_path: Path) -> None:
    seen = _watched(tmp_path, Scripted(), 100, check=Answers((10, 45)), readinessProbe=PROBE)
    changes = [view.ready for _, view in seen]
    assert [
        change for change, before in zip(changes, [None, *changes], strict=False) if change is not before
    ] == [
        False,
        True,
        False,
        True,
    ]


def test_prestop_sleeps_first_and_the_program_gets_the_rest_of_the_grace_period(tmp_path: Path) -> None:
    program = Scripted()
    lifecycle = {"preStop": {"sleep": {"seconds": 30}}}
    seen = _watched(tmp_path, program, 1, stop=130, lifecycle=lifecycle)
    assert (program.stops, seen[-1][0]) == ([100], 31)


def test_prestop_is_cut_short_by_the_grace_period(tmp_path: Path) -> None:
    program = Scripted()
    lifecycle = {"preStop": {"sleep": {"seconds": 30}}}
    seen = _watched(tmp_path, program, 1, stop=5, lifecycle=lifecycle)
    assert (program.stops, seen[-1][0]) == ([0], 6)


def test_what_never_ran_has_no_prestop(tmp_path: Path) -> None:
    lifecycle = {"preStop": {"sleep": {"seconds": 30}}}
    seen = _watched(tmp_path, Scripted(cannot=99), 1, stop=130, lifecycle=lifecycle)
    assert seen[-1][0] == 1


def test_a_restart_policy_of_never_leaves_it_ended(tmp_path: Path) -> None:
    view = _last(_watched(tmp_path, Scripted((1.0, Exit(0))), 60, policy="Never"))
    assert view.state["terminated"]["reason"] == "Completed"
    assert view.restarts == 0


class Noted(Scripted):
    """A program that notes in a common diary when it starts and is stopped, and how long it may take."""

    def __init__(self, name: str, diary: list[tuple[str, str]], *runs: tuple[float, Exit]) -> None:
        super().__init__(*runs)
        self.name, self.diary = name, diary

    async def start(self) -> None:
        self.diary.append((self.name, "start"))
        await super().start()

    async def stop(self, grace: float) -> None:
        self.diary.append((self.name, f"stop {grace:.0f}"))
        if self.name == "engine":
            await asyncio.sleep(min(grace, 7))


def _pod(tmp_path: Path, seconds: float, *proxy_runs: tuple[float, Exit]) -> list[tuple[str, str]]:
    """What happens in a pod with a sidecar whose startup probe fails for 5 seconds."""
    diary: list[tuple[str, str]] = []

    def container(name: str, *runs: tuple[float, Exit], **spec: Any) -> Container:
        return Container(
            {"name": name, **spec},
            Noted(name, diary, *runs),
            ContainerLog(tmp_path, name),
            Answers((0, 5)),
            view=ContainerView(name, "image"),
            changed=lambda: diary.append((name, "started")) if _begins(name) else None,
        )

    def _begins(name: str) -> bool:
        view = views[name].view
        return view.started and (name, "started") not in diary

    views = {
        "proxy": container(
            "proxy", *proxy_runs, startupProbe={**PROBE, "periodSeconds": 1, "failureThreshold": 30}
        ),
        "engine": container("engine"),
    }

    async def watch() -> list[tuple[str, str]]:
        containers = PodContainers((views["proxy"],), (views["engine"],))
        task = asyncio.create_task(containers.run("Always"))
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await containers.stop(30)
        return diary

    return run(watch())


def test_a_sidecar_has_started_before_the_engine_starts_and_ends_after_it(tmp_path: Path) -> None:
    assert _pod(tmp_path, 20) == [
        ("proxy", "start"),
        ("proxy", "started"),
        ("engine", "start"),
        ("engine", "started"),
        ("engine", "stop 30"),
        ("proxy", "stop 23"),
    ]


def test_a_sidecar_that_crashes_starts_again_and_the_engine_goes_on(tmp_path: Path) -> None:
    diary = _pod(tmp_path, 40, (15, Exit(137)), (9, Exit(137)))
    starts = [name for name, what in diary if what == "start"]
    assert starts == ["proxy", "engine", "proxy", "proxy"]
