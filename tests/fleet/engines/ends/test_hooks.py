"""What a preStop hook takes, and what is told of one whose time is not known."""

from typing import Any

import pytest
from inferfleet.fleet.engines.ends.cut_short import ending_mistakes
from inferfleet.fleet.engines.ends.ending import grace_needed
from inferfleet.fleet.engines.ends.hooks import sleep_of, time_of

from inferfleet.profiles.engines import engine

DRAINS = {"preStop": {"exec": {"command": ["/drain.sh"]}}}
ASKS = {"preStop": {"httpGet": {"path": "/drain", "port": 8000}}}
SCRIPT = {"preStop": {"exec": {"command": ["sh", "-c", "sleep 60"]}}}
UNKNOWN = "preStop takes a time that is not known here"


def _spec(lifecycle: Any, *flags: str, kind: str = "vLLM", **spec: Any) -> dict[str, Any]:
    command = {"vLLM": ["vllm", "serve", "m"], "SGLang": ["sglang", "serve"], "Triton": ["tritonserver"]}[
        kind
    ]
    return {"containers": [{"name": "engine", "command": [*command, *flags], "lifecycle": lifecycle}], **spec}


def _said(spec: dict[str, Any], kind: str = "vLLM", *, grace: int = 130) -> list[tuple[str, str]]:
    found = ending_mistakes(
        spec,
        engine(kind),
        engine=kind,
        image="vllm/vllm-openai:v0.30.0",
        grace=grace,
        follows="terminationGracePeriodSeconds" not in spec,
        longest=3600,
    )
    return [(mistake.what, mistake.next_step) for mistake in found]


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        (["sleep", "60"], 60),
        (["/bin/sleep", "60s"], 60),
        (["sleep", "1m"], 60),
        (["sleep", "1m", "0.5"], 61),
        (["sh", "-c", "sleep 60"], 60),
        (["/bin/sh", "-c", "exec sleep 60"], 60),
        (["bash", "-ec", " /bin/sleep 1m ;\n"], 60),
        (["sh", "-c", "sleep 60; rm /tmp/ready"], None),
        (["sh", "-c", "while pgrep vllm; do sleep 1; done"], None),
        (["sh", "-c", "sleep $SECONDS"], None),
        (["sh", "-c", "sleep 60 &"], None),
        (["sh", "-c", "sleep '60"], None),
        (["sh", "-c", ""], None),
        (["sleep", "infinity"], None),
        (["/drain.sh"], None),
    ],
)
def test_a_command_that_only_sleeps_takes_its_seconds(command: list[str], seconds: int | None) -> None:
    assert time_of({"lifecycle": {"preStop": {"exec": {"command": command}}}}) == seconds


def test_generated_grace_periods_follow_no_script_so_that_no_pod_restarts() -> None:
    assert sleep_of({"lifecycle": SCRIPT}) is None
    assert grace_needed(_spec(SCRIPT, "--shutdown-timeout=600"), engine("vLLM"), grace=130) == 610


def test_a_script_that_sleeps_counts_in_what_is_advised() -> None:
    assert _said(_spec(SCRIPT, "--shutdown-timeout=600"), grace=610) == [
        (
            "preStop sleeps 60 s and --shutdown-timeout is 600, so requests in hand should have 660 s, but "
            "the pod is killed after 610 s",
            "Write terminationGracePeriodSeconds: 670, or --shutdown-timeout=540",
        )
    ]


@pytest.mark.parametrize("lifecycle", [DRAINS, ASKS])
def test_beside_a_hook_of_unknown_time_no_number_is_told_that_presumes_one(lifecycle: Any) -> None:
    beside = (
        " with the seconds that your longest requests take, and terminationGracePeriodSeconds: those, what "
        "preStop takes and 10 s more"
    )
    assert _said(_spec(lifecycle)) == [
        (
            "without --shutdown-timeout vLLM aborts the requests in hand at SIGTERM, and routes let them "
            f"take 3600 s; {UNKNOWN}",
            f"Add --shutdown-timeout{beside}",
        )
    ]
    assert _said(_spec(lifecycle, "--shutdown-timeout=0")) == [
        (
            "with --shutdown-timeout=0 vLLM aborts the requests in hand at SIGTERM, and routes let them "
            f"take 3600 s; {UNKNOWN}",
            f"Write --shutdown-timeout{beside}",
        )
    ]
    assert _said(_spec(lifecycle, kind="Triton"), "Triton") == [
        (
            "without --exit-timeout-secs Triton gives requests in hand 30 s at SIGTERM, and routes let them "
            f"take 3600 s; {UNKNOWN}",
            f"Add --exit-timeout-secs{beside}",
        )
    ]
    assert _said(_spec(lifecycle, kind="SGLang"), "SGLang") == []


def test_a_grace_period_without_room_for_a_hook_of_unknown_time_is_told() -> None:
    flag = "--shutdown-timeout=600"
    told = [
        (
            f"{UNKNOWN}, and the grace period of 610 s may not have room for it and for the 600 s of "
            "--shutdown-timeout",
            "Write terminationGracePeriodSeconds: 610 plus what preStop takes",
        )
    ]
    assert _said(_spec(DRAINS, flag), grace=610) == told
    assert _said(_spec(DRAINS, flag, terminationGracePeriodSeconds=610)) == told
    # Who wrote more may have counted the hook.
    assert _said(_spec(DRAINS, flag, terminationGracePeriodSeconds=640)) == []


def test_grace_periods_that_are_too_short_or_too_long_are_told_with_the_hook() -> None:
    more = "what your longest requests and preStop take and 10 s more"
    long = _spec(DRAINS, terminationGracePeriodSeconds=2**33, kind="SGLang")
    assert [step for _, step in _said(long, "SGLang")] == [f"Write 3610 plus what preStop takes, or {more}"]
    short = _spec(DRAINS, terminationGracePeriodSeconds=5, kind="SGLang")
    assert [step for _, step in _said(short, "SGLang")] == [
        f"Leave terminationGracePeriodSeconds out, or write {more}"
    ]
    endless = _spec(DRAINS, "--shutdown-timeout=86401", terminationGracePeriodSeconds=130)
    assert [step for _, step in _said(endless)] == [
        "Write --shutdown-timeout=3600 and terminationGracePeriodSeconds: 3610 plus what preStop takes, or "
        "the seconds that your longest requests take"
    ]


@pytest.mark.parametrize(
    ("kind", "seconds", "flags", "grace"),
    [
        ("SGLang", 130, (), 130),
        ("SGLang", 131, (), 231),
        ("SGLang", 90_000, (), 130),
        ("vLLM", 131, (), 231),
        ("vLLM", 131, ("--shutdown-timeout=90",), 231),
        ("vLLM", 600, ("--shutdown-timeout=3600",), 4210),
    ],
)
def test_a_grace_period_that_nobody_wrote_follows_a_long_sleep(
    kind: str, seconds: int, flags: tuple[str, ...], grace: int
) -> None:
    spec = _spec({"preStop": {"sleep": {"seconds": seconds}}}, *flags, kind=kind)
    assert grace_needed(spec, engine(kind), grace=130) == grace


def test_a_long_sleep_beside_the_engine_counts_as_well() -> None:
    spec = _spec({"preStop": {"sleep": {"seconds": 30}}})
    spec["initContainers"] = [{"name": "proxy", "lifecycle": {"preStop": {"sleep": {"seconds": 200}}}}]
    assert grace_needed(spec, engine("vLLM"), grace=130) == 300


def test_a_sleep_that_leaves_requests_no_time_is_told_with_what_it_takes() -> None:
    lifecycle = {"preStop": {"sleep": {"seconds": 120}}}
    step = "what your longest requests take and 130 s more"
    told = _said(_spec(lifecycle, kind="SGLang"), "SGLang")
    assert [next_step for _, next_step in told] == [f"Write terminationGracePeriodSeconds: {step}"]
    # What is written is longer than the sleep, as what would be generated is.
    told = _said(_spec(lifecycle, kind="SGLang", terminationGracePeriodSeconds=125), "SGLang")
    assert [next_step for _, next_step in told] == [f"Write terminationGracePeriodSeconds: {step}"]


@pytest.mark.parametrize(
    ("signal", "kind", "what"),
    [
        ("SIGKILL", "vLLM", "which ends vLLM at once, with all it has in hand"),
        ("SIGINT", "SGLang", "and SGLang is only known to let requests in hand end at SIGTERM"),
    ],
)
def test_another_signal_than_the_one_at_which_engines_drain_is_told(
    signal: str, kind: str, what: str
) -> None:
    spec = _spec({"stopSignal": signal}, kind=kind)
    told = [(f"lifecycle.stopSignal is {signal}, {what}", "Remove it, or write SIGTERM")]
    assert _said(spec, kind) == told
    assert _said(_spec({"stopSignal": "SIGTERM"}, kind="SGLang"), "SGLang") == []
