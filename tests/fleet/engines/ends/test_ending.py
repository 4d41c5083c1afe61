"""What a pod that ends does with requests in hand, by its engine, and the number to write."""

from typing import Any

import pytest
from inferfleet.fleet.engines.ends.cut_short import ending_mistakes
from inferfleet.fleet.engines.ends.ending import grace_needed

from inferfleet.profiles.engines import engine

VLLM = ("vllm", "serve", "m")
SLEEP = {"preStop": {"sleep": {"seconds": 30}}}
ABORTS = (
    "without --shutdown-timeout vLLM aborts the requests in hand at SIGTERM, 30 s after its pod begins to "
    "end, and routes let them take 3600 s"
)


def _spec(*command: str, lifecycle: Any = SLEEP, env: Any = (), **spec: Any) -> dict[str, Any]:
    container = {"name": "engine", "command": list(command), "env": list(env)}
    return {"containers": [container | ({"lifecycle": lifecycle} if lifecycle else {})], **spec}


def _said(
    spec: dict[str, Any], kind: str = "vLLM", *, image: str = "vllm/vllm-openai:v0.30.0", follows: bool = True
) -> list[tuple[str, str]]:
    found = ending_mistakes(
        spec, engine(kind), engine=kind, image=image, grace=130, follows=follows, longest=3600
    )
    return [(mistake.what, mistake.next_step) for mistake in found]


@pytest.mark.parametrize(
    ("image", "added"),
    [
        ("vllm/vllm-openai:v0.30.0", "Add --shutdown-timeout=90"),
        ("ours:1", "Add --shutdown-timeout=90 (vLLM has it from 0.19.0 on)"),
        (
            "vllm/vllm-openai:v0.17.1",
            "Take an image of vLLM 0.19.0 or newer, and add --shutdown-timeout=90",
        ),
    ],
)
def test_vllm_without_its_flag_is_told_the_seconds_that_the_grace_period_has_room_for(
    image: str, added: str
) -> None:
    step = (
        f"{added}, for which the grace period of 130 s has room; for longer requests write their seconds "
        "there, and the grace period follows"
    )
    assert _said(_spec(*VLLM), image=image) == [(ABORTS, step)]


def test_a_grace_period_of_the_team_is_its_own_to_raise() -> None:
    [(_, step)] = _said(_spec(*VLLM, terminationGracePeriodSeconds=300), follows=False)
    assert step == (
        "Add --shutdown-timeout=260, for which the grace period of 300 s has room; for longer requests raise "
        "terminationGracePeriodSeconds with it"
    )


def test_triton_gives_requests_half_a_minute_unless_it_is_told_otherwise() -> None:
    assert _said(_spec("tritonserver", "--model-repository=/m"), "Triton") == [
        (
            "without --exit-timeout-secs Triton gives requests in hand 30 s at SIGTERM, 30 s after its pod "
            "begins to end, and routes let them take 3600 s",
            "Add --exit-timeout-secs=90, for which the grace period of 130 s has room; for longer requests "
            "write their seconds there, and the grace period follows",
        )
    ]
    assert _said(_spec("tritonserver", "--exit-timeout-secs", "90"), "Triton") == []


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (("python3", "-m", "sglang.launch_server", "--model-path=m"), "SGLang"),
        (("trtllm-serve", "m"), "TensorRT-LLM"),
        (("serve-ours",), "Other"),
    ],
)
def test_engines_that_wait_for_their_last_request_need_no_flag(command: tuple[str, ...], kind: str) -> None:
    assert _said(_spec(*command), kind) == []


@pytest.mark.parametrize("name", ["SGLANG_FORCE_SHUTDOWN", "SGL_FORCE_SHUTDOWN"])
def test_a_variable_with_which_sglang_waits_for_nothing_is_told(name: str) -> None:
    command = ("sglang", "serve", "--model-path=m")
    assert _said(_spec(*command, env=[{"name": name, "value": "1"}]), "SGLang") == [
        (
            f"variable {name} is set, with which SGLang ends at SIGTERM whatever it has in hand, and routes "
            "let requests take 3600 s",
            f"Remove {name}: without it SGLang ends when its last request has",
        )
    ]
    assert _said(_spec(*command, env=[{"name": name, "value": "false"}]), "SGLang") == []


@pytest.mark.parametrize(
    "command",
    [
        (*VLLM, "--shutdown-timeout=90"),
        (*VLLM, "--shutdown_timeout", "90"),
        (*VLLM, "--shutdown-timeout=$(SECONDS_FROM_A_SECRET)"),
        (*VLLM, "--config=/etc/vllm.yaml"),
        ("sh", "-c", "if true; then vllm serve m; fi"),
        ("/start.sh",),
    ],
)
def test_what_is_told_or_may_be_told_elsewhere_is_left_alone(command: tuple[str, ...]) -> None:
    assert _said(_spec(*command)) == []


@pytest.mark.parametrize(
    ("flag", "told"),
    [
        ("--shutdown-timeout=0", "aborts the requests in hand at SIGTERM"),
        ("--shutdown_timeout=5", "gives requests in hand 5 s at SIGTERM"),
    ],
)
def test_fewer_seconds_than_the_pod_has_are_told(flag: str, told: str) -> None:
    name, _, seconds = flag.partition("=")
    # The last counts.
    assert _said(_spec(*VLLM, "--shutdown-timeout=90", flag)) == [
        (
            f"with {flag} vLLM {told}, and routes let them take 3600 s",
            f"Write {name}=90, for which the grace period of 130 s has room, or, where no request takes "
            f"longer, terminationGracePeriodSeconds: {30 + int(seconds) + 10}",
        )
    ]


def test_triton_takes_less_than_no_time_for_none() -> None:
    [(what, _)] = _said(_spec("tritonserver", "--exit-timeout-secs=-1"), "Triton")
    assert what == (
        "with --exit-timeout-secs=-1 Triton aborts the requests in hand at SIGTERM, and routes let them take "
        "3600 s"
    )


@pytest.mark.parametrize(
    ("command", "kind", "grace", "sleep", "more"),
    [
        (VLLM, "vLLM", 20, 10, "; and add --shutdown-timeout with their seconds"),
        (VLLM, "vLLM", 0, 0, "; and add --shutdown-timeout with their seconds"),
        ((*VLLM, "--shutdown-timeout=0"), "vLLM", 5, 2, ""),
        (("sglang", "serve", "--model-path=m"), "SGLang", 5, 2, ""),
    ],
)
def test_a_grace_period_that_leaves_requests_no_time_is_told(
    command: tuple[str, ...], kind: str, grace: int, sleep: int, more: str
) -> None:
    lifecycle = {"preStop": {"sleep": {"seconds": sleep}}} if sleep else None
    slept = f", {sleep} s of which preStop sleeps" if sleep else ""
    spec = _spec(*command, lifecycle=lifecycle, terminationGracePeriodSeconds=grace)
    assert _said(spec, kind, follows=False) == [
        (
            f"the pod is killed {grace} s after it begins to end{slept}, and routes let requests take 3600 s",
            "Leave terminationGracePeriodSeconds out, or write what your longest requests take and 40 s more"
            + more,
        )
    ]


@pytest.mark.parametrize("hook", [{"sleep": {"seconds": 0}}, {"exec": {"command": ["/bin/sleep", "0"]}}])
def test_a_sleep_of_no_time_is_told(hook: dict[str, Any]) -> None:
    assert _said(_spec("sglang", "serve", lifecycle={"preStop": hook}), "SGLang") == [
        (
            "preStop sleeps 0 s, so gateways and pickers do not learn in time that the pod ends, and what "
            "they still send there fails",
            "Let it sleep for 30 s, or leave preStop out, which does the same",
        )
    ]


@pytest.mark.parametrize(
    "image",
    [
        "vllm/vllm-openai:v0.17.1",
        "vllm/vllm-openai:v0.10.1.1",
        "vllm/vllm-openai-rocm:v0.18.0",
        "vllm/vllm-tpu:v0.18.0",
        "reg.example/vllm-openai:v0.10.2",
    ],
)
def test_an_image_from_before_the_flag_is_told(image: str) -> None:
    assert _said(_spec(*VLLM, "--shutdown-timeout=90"), image=image) == [
        (
            "vLLM has --shutdown-timeout from 0.19.0 on, and the image is an older one, which does not start "
            "with it",
            "Take an image of vLLM 0.19.0 or newer, or remove the flag",
        )
    ]


@pytest.mark.parametrize(
    ("lifecycle", "slept", "seconds"),
    [
        (None, "", 120),
        ({"preStop": {"exec": {"command": ["/bin/sleep", "15"]}}}, ", 15 s after its pod begins to end", 105),
        (
            {"preStop": {"exec": {"command": ["sh", "-c", "sleep 60"]}}},
            ", 60 s after its pod begins to end",
            60,
        ),
    ],
)
def test_the_sleep_counts_as_far_as_its_seconds_are_known(lifecycle: Any, slept: str, seconds: int) -> None:
    [(what, step)] = _said(_spec(*VLLM, lifecycle=lifecycle))
    assert f"at SIGTERM{slept}, and" in what
    assert step.startswith(f"Add --shutdown-timeout={seconds},")


def test_a_pod_that_is_killed_before_its_engine_ends_is_told_the_grace_period() -> None:
    spec = _spec(*VLLM, "--shutdown-timeout=300", terminationGracePeriodSeconds=130)
    assert _said(spec) == [
        (
            "preStop sleeps 30 s and --shutdown-timeout is 300, so requests in hand should have 330 s, but "
            "the pod is killed after 130 s",
            "Write terminationGracePeriodSeconds: 340, or --shutdown-timeout=90",
        )
    ]


@pytest.mark.parametrize("seconds", ["86401", "99999999999", "9" * 30])
def test_more_seconds_than_any_request_takes_are_told_with_those_of_routes(seconds: str) -> None:
    flag = f"--shutdown-timeout={seconds}"
    what = f"--shutdown-timeout is {seconds}, and routes let requests take 3600 s"
    own = ", or the seconds that your longest requests take"
    assert _said(_spec(*VLLM, flag)) == [(what, f"Write --shutdown-timeout=3600{own}")]
    assert _said(_spec(*VLLM, flag, terminationGracePeriodSeconds=130)) == [
        (what, f"Write --shutdown-timeout=3600 and terminationGracePeriodSeconds: 3640{own}")
    ]


def test_a_grace_period_of_more_than_a_day_is_told_once_with_what_routes_need() -> None:
    told = (
        "the pod may take 8589934592 s to end, and routes let requests take 3600 s: an engine that hangs "
        "holds updates and drains of nodes for all of it",
        "Write 3640, or what your longest requests take and 40 s more",
    )
    long = _spec(*VLLM, "--shutdown-timeout=3600", terminationGracePeriodSeconds=2**33)
    assert _said(long) == [told]
    assert _said(_spec("sglang", "serve", terminationGracePeriodSeconds=2**33), "SGLang") == [told]
    # As generated, for the longest flag that a grace period follows.
    assert _said(_spec(*VLLM, "--shutdown-timeout=86400", terminationGracePeriodSeconds=86_440)) == []


def test_no_engine_is_told_more_seconds_than_routes_let_requests_take() -> None:
    assert _said(_spec(*VLLM, "--shutdown-timeout=3600", terminationGracePeriodSeconds=7200)) == []
    [(_, step)] = _said(_spec(*VLLM, "--shutdown-timeout=90", terminationGracePeriodSeconds=7200))
    assert step.startswith("Write --shutdown-timeout=3600, for which the grace period of 7200 s has room")
    [(_, step)] = _said(_spec(*VLLM, terminationGracePeriodSeconds=7200), follows=False)
    assert step.startswith("Add --shutdown-timeout=3600, for which the grace period of 7200 s has room")


@pytest.mark.parametrize(
    ("args", "lifecycle", "grace"),
    [
        ((), None, 130),
        (("--shutdown-timeout=90",), None, 130),
        (("--shutdown-timeout=100",), None, 130),
        (("--shutdown-timeout=101",), None, 141),
        (("--shutdown-timeout=3600",), None, 3640),
        (("--shutdown-timeout=120",), {"preStop": {"sleep": {"seconds": 5}}}, 130),
        (("--shutdown-timeout=999999999",), None, 130),
    ],
)
def test_the_grace_period_follows_the_flag_only_where_it_has_no_room(
    args: tuple[str, ...], lifecycle: Any, grace: int
) -> None:
    spec = _spec(*VLLM, *args, lifecycle=lifecycle)
    assert grace_needed(spec, engine("vLLM"), grace=130) == grace
