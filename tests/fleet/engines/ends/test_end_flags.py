"""Flags about the end of an engine are refused where the engine refuses them for certain."""

import pytest
from inferfleet.fleet.engines.ends.end_flags import refused_endings
from inferfleet.fleet.engines.flags import flags_of
from inferfleet.fleet.engines.words import command_of

from inferfleet.profiles.engines import engine

VLLM = ("vllm", "serve", "m")
TRITON = ("tritonserver", "--model-repository=/m")


def _refused(kind: str, *command: str) -> list[tuple[str, str]]:
    read = command_of({"containers": [{"name": "engine", "command": list(command)}]})
    found = refused_endings(read, flags_of(read, engine(kind)), engine(kind), engine=kind)
    return [(mistake.what, mistake.next_step) for mistake in found]


@pytest.mark.parametrize(
    ("kind", "command", "flag", "has"),
    [
        ("vLLM", (*VLLM, "--shutdown-timeout=ninety"), "--shutdown-timeout", "the value 'ninety'"),
        ("vLLM", (*VLLM, "--shutdown-timeout", "90.5"), "--shutdown-timeout", "the value '90.5'"),
        ("vLLM", (*VLLM, "--shutdown-timeout=-1"), "--shutdown-timeout", "the value '-1'"),
        ("vLLM", (*VLLM, "--shutdown_timeout="), "--shutdown_timeout", "the value ''"),
        ("vLLM", (*VLLM, "--shutdown-timeout"), "--shutdown-timeout", "no value"),
        ("vLLM", (*VLLM, "--shutdown-timeout", "--port=8000"), "--shutdown-timeout", "no value"),
        ("Triton", (*TRITON, "--exit-timeout-secs=soon"), "--exit-timeout-secs", "the value 'soon'"),
    ],
)
def test_what_is_no_number_of_seconds_is_refused(
    kind: str, command: tuple[str, ...], flag: str, has: str
) -> None:
    assert _refused(kind, *command) == [
        (
            f"{flag} has {has}, with which {kind} does not start: it takes whole seconds",
            f"Write {flag}=90, or the seconds that your longest requests take",
        )
    ]


def test_triton_does_not_start_with_more_seconds_than_its_parser_counts() -> None:
    [(what, _)] = _refused("Triton", *TRITON, "--exit-timeout-secs=2147483648")
    assert what == (
        "--exit-timeout-secs has the value '2147483648', with which Triton does not start: it takes whole "
        "seconds, at most 2147483647"
    )
    assert _refused("Triton", *TRITON, "--exit-timeout-secs=2147483647") == []
    assert _refused("vLLM", *VLLM, "--shutdown-timeout=99999999999") == []


@pytest.mark.parametrize(
    ("kind", "command", "other", "step"),
    [
        (
            "SGLang",
            ("python3", "-m", "sglang.launch_server", "--shutdown-timeout=90"),
            "--shutdown-timeout is a flag of vLLM",
            "Remove it: SGLang ends when its last request has",
        ),
        (
            "TensorRT-LLM",
            ("trtllm-serve", "m", "--exit-timeout-secs", "90"),
            "--exit-timeout-secs is a flag of Triton",
            "Remove it: TensorRT-LLM ends when its last request has",
        ),
        (
            "vLLM",
            ("sh", "-c", "exec vllm serve m --exit-timeout-secs=90"),
            "--exit-timeout-secs is a flag of Triton",
            "Write --shutdown-timeout instead",
        ),
    ],
)
def test_a_flag_of_another_engine_is_refused(
    kind: str, command: tuple[str, ...], other: str, step: str
) -> None:
    assert _refused(kind, *command) == [(f"{other}, and {kind} does not start with it", step)]


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("vLLM", (*VLLM, "--shutdown-timeout=0")),
        ("vLLM", (*VLLM, "--shutdown-timeout", "90")),
        ("vLLM", (*VLLM, "--shutdown-timeout=$(SECONDS_FROM_A_SECRET)")),
        ("vLLM", ("sh", "-c", "if true; then vllm serve m --shutdown-timeout=x; fi")),
        # It reads the digits, and takes less than none for none.
        ("Triton", (*TRITON, "--exit-timeout-secs=90.5")),
        ("Triton", (*TRITON, "--exit-timeout-secs=-1")),
        ("SGLang", ("/start.sh", "--shutdown-timeout=90")),
        ("SGLang", ("sh", "-c", "watch --shutdown-timeout=90 & sglang serve --model-path=m")),
        ("Other", ("serve-ours", "--shutdown-timeout=soon")),
    ],
)
def test_what_engines_take_or_nobody_knows_is_left_alone(kind: str, command: tuple[str, ...]) -> None:
    assert _refused(kind, *command) == []
