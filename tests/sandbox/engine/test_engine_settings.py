"""The stand-in reads a command line as the engine does, and refuses what the engine refuses."""

from collections import Counter
from typing import Any

import pytest

from sandbox.engine.ending import Ending, ending_of
from sandbox.engine.failure import EngineFailure
from sandbox.engine.group import Group
from sandbox.engine.protocol import BadCommand, Resolved, Start, Stop, command
from sandbox.engine.settings import Settings, settings
from sandbox.engine.steering import PREFIX, Steering, steering


def read(*args: str, engine: str = "vllm", gpus: int = 1, port: int | None = None, **more: Any) -> Settings:
    start = Start(
        id="uid",
        name="ml/qwen-1",
        address="127.1.0.2",
        port=port or (30000 if engine == "sglang" else 8000),
        engine=engine,
        args=args,
        gpus=gpus,
        **more,
    )
    return settings(start, Steering(end="abort"))


def serving(*names: str, **more: Any) -> Settings:
    return Settings(
        **{"engine": "vllm", "names": names, "port": 8000, "metrics_port": 8000, "slots": 16}
        | {"ending": Ending(0, "abort"), "version": "0.32.0"}
        | more
    )


SGLANG = {
    "engine": "sglang",
    "version": "0.5.23",
    "ending": Ending(),
    "port": 30000,
    "metrics_port": 30000,
    "any_model": True,
    "health_paths": ("/health", "/health_generate"),
}


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (read("--model=Qwen/Q"), serving("Qwen/Q")),
        (read("vllm", "serve", "Qwen/Q"), serving("Qwen/Q")),
        (read("--enforce-eager", "Qwen/Q", "--port", "8000"), serving("Qwen/Q")),
        (read("python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "Q"), serving("Q")),
        (read("python3", "-m", "vllm.entrypoints.openai.api_server", "Q"), serving("Qwen/Qwen3-0.6B")),
        (read(), serving("Qwen/Qwen3-0.6B")),
        (
            read("Q", "--served-model-name", "a", "b", "--seed", "1"),
            serving("a", "b", roots={"a": "Q", "b": "Q"}),
        ),
        (read("Q", "--tensor_parallel_size", "2", gpus=2), serving("Q")),
        (read("Q", "--enable-dbo", "--dbo-decode-token-threshold=32", "--moe-backend=triton"), serving("Q")),
        (read("Q", "--max-cudagraph-capture-size=64", "--kv-cache-memory-bytes=25.6g"), serving("Q")),
        (
            read("Q", "-tp=2", "--data-parallel-size=4", "--data-parallel-size-local=2", gpus=4),
            serving(
                "Q",
                group=Group(
                    "copies", "127.0.0.1", 29550, 4, count=2, alike="tensor 2, pipeline 1, data 4"
                ),
            ),
        ),
        (
            read("Q", "-tp=8", "-pp=2", "--nnodes=2", gpus=8),
            serving(
                "Q",
                group=Group("nodes", "127.0.0.1", 29501, 2, alike="--nnodes 2, tensor 8, pipeline 2, data 1"),
            ),
        ),
        (read("Q", "--max-num-seqs=4", "--max-model-len=32k"), serving("Q", slots=4, max_length=32000)),
        (
            read("Q", "--enable-lora", "--lora-modules", "sql=/a", "chat=/b", "--max-loras=2"),
            serving(
                *("Q", "sql", "chat"),
                adapters=("sql", "chat"),
                roots={"sql": "/a", "chat": "/b"},
                max_loras=2,
            ),
        ),
        (
            read("sh", "-c", "echo hi\nexec vllm serve $M \\\n -tp 2 > log", env={"M": "Q"}, gpus=2),
            serving("Q"),
        ),
        (read("$(MODEL)", env={"MODEL": "Q"}), serving("Q")),
        (
            read("sglang.launch_server", "--model-path=D", "--tp=8", "--host=0.0.0.0", "--enable-metrics",
                 engine="sglang", gpus=8),
            serving("D", **SGLANG),
        ),
        (
            read("--model-path=D", "--tp=4", "--dp=4", "--enable-dp-attention", "--host=::",
                 "--enable-metrics", engine="sglang", gpus=4),
            serving("D", **SGLANG),
        ),
        (
            read("sglang", "serve", "D", "--tp-size=4", "--attn-dp-size=4", "--host=::", "--enable-metrics",
                 engine="sglang", gpus=4),
            serving("D", **SGLANG),
        ),
        (
            read("trtllm-serve", "Q", "--host", "0.0.0.0", "--tp_size", "2", "--max_batch_size", "3",
                 engine="trtllm-serve", gpus=2),
            serving("Q", engine="trtllm-serve", version="", metrics_path="/prometheus/metrics",
                    any_model=True, slots=3, ending=Ending()),
        ),
        (
            read("--anything", engine="triton-tensorrt-llm", model="ens"),
            serving(
                "ens",
                engine="triton-tensorrt-llm",
                version="",
                ending=Ending(30),
                metrics_port=8002,
                any_model=True,
                health_paths=("/v2/health/ready", "/v2/health/live"),
                notes=("WARNING the arguments of a triton-tensorrt-llm engine are not checked",),
            ),
        ),
    ],
)  # fmt: skip
def test_arguments_say_what_is_served(actual: Settings, expected: Settings) -> None:
    assert actual == expected


@pytest.mark.parametrize(
    ("actual", "ending"),
    [
        (read("vllm", "serve", "Q"), Ending(0, "abort")),
        (read("vllm", "serve", "Q", "--shutdown-timeout", "90"), Ending(90, "abort", listens=True)),
        (read("sh", "-c", "vllm serve Q"), Ending(deaf=True)),
        (read("--model-path=D", "--host=::", engine="sglang"), Ending()),
        (read("--model-path=D", "--host=::", engine="sglang", env={"SGL_FORCE_SHUTDOWN": "1"}), Ending(0)),
        (read("--model-path=D", "--host=::", engine="sglang", env={"SGLANG_FORCE_SHUTDOWN": "1"}), Ending()),
        (read("trtllm-serve", "Q", engine="trtllm-serve"), Ending()),
        (read("tritonserver", "--exit-timeout-secs=90", engine="triton-tensorrt-llm"), Ending(90)),
        (read("tritonserver", "--exit-timeout-secs", "90", engine="triton-tensorrt-llm"), Ending(90)),
        (read("anything", engine="other"), Ending()),
    ],
)
def test_an_engine_ends_as_its_type_and_its_flag_say(actual: Settings, ending: Ending) -> None:
    assert actual.ending == ending


def test_what_becomes_of_requests_at_once_follows_from_the_name_as_often_as_it_was_seen() -> None:
    def left(pod: str, seconds: int | None) -> str:
        made = {"seconds": seconds, "env": {}, "signalled": "heard", "wanted": None}
        return ending_of("vllm", pod=pod, **made)[0].left

    pods = [f"ml/qwen-{number}" for number in range(1600)]
    for seconds, shares in (
        (None, {"hang": 8 / 16, "abort": 6 / 16, "error": 2 / 16}),
        (60, {"hang": 2 / 3, "error": 1 / 3}),
    ):
        seen = Counter(left(pod, seconds) for pod in pods)
        assert {kind: round(count / 1600, 1) for kind, count in seen.items()} == {
            kind: round(share, 1) for kind, share in shares.items()
        }
        assert [left(pod, seconds) for pod in pods[:9]] == [left(pod, seconds) for pod in pods[:9]]


@pytest.mark.parametrize(
    ("actual", "note"),
    [
        (read("Q", port=8080), "WARNING listens on port 8000; the container's port is 8080"),
        (read("Q", "-tp=2", gpus=0),
         "WARNING the container asks for no GPU that the sandbox can count: tensor size not checked"),
        (read("--model-path=D", "--enable-metrics", engine="sglang"),
         "WARNING listens on 127.0.0.1:30000: nothing outside the pod reaches it; pass --host 0.0.0.0"),
        (read("--model-path=D", "--host=0.0.0.0", engine="sglang"),
         "WARNING has no /metrics without --enable-metrics: endpoint pickers cannot see its load"),
    ],
)  # fmt: skip
def test_what_would_surprise_on_real_hardware_is_in_the_log(actual: Settings, note: str) -> None:
    assert actual.notes == (note,)


@pytest.mark.parametrize(
    ("args", "more", "says"),
    [
        (("Q", "-tp=4"), {"gpus": 2}, "World size (4) is larger than the number of available GPUs (2)"),
        (("Q",), {"gpus": 2}, "World size (1) is smaller than the 2 GPUs of the container"),
        (("Q", "-dp=4", "--tensor-parallel-size=2"), {"gpus": 4}, "World size (8) is larger"),
        (
            ("Q", "--tensor-parallel-size=two"),
            {},
            "argument --tensor-parallel-size/-tp: invalid int value: 'two'",
        ),
        (("Q", "-tp", "0"), {}, "--tensor-parallel-size must be greater than 0, got 0"),
        (("Q", "--gpu-memory-utilization=1.5"), {}, "--gpu-memory-utilization must be in (0, 1]. Got 1.5"),
        (("Q", "--gpu-memory-utilization=most"), {}, "invalid float value: 'most'"),
        (("Q", "--max-num-seqs=0"), {}, "--max-num-seqs must be greater than 0"),
        (("Q", "--max-model-len"), {}, "argument --max-model-len: expected one argument"),
        (("--tp=1",), {"engine": "sglang"}, "the following arguments are required: --model-path/--model"),
        (("-m", "sglang.launch_server", "Q"), {"engine": "sglang"}, "are required: --model-path/--model"),
        (
            ("--model-path=Q", "--tp=4", "--dp=2", "--attn-dp-size=2"),
            {"engine": "sglang", "gpus": 4},
            "--dp-size 2 with --attn-dp-size 2: data-parallel replicas combined",
        ),
        (("--model-path=Q", "--tp=4", "--attn-dp-size=3"), {"engine": "sglang"}, "attn_dp_size=3"),
        ((), {"engine": "trtllm-serve"}, "the following arguments are required: MODEL"),
        (("sh", "-c", "vllm serve 'Q"), {}, "syntax error in the script of the container"),
    ],
)
def test_an_engine_refuses_what_it_cannot_run(args: tuple[str, ...], more: dict[str, Any], says: str) -> None:
    with pytest.raises(EngineFailure) as refusal:
        read(*args, **more)
    assert says in str(refusal.value)


def annotated(**annotations: str) -> Steering:
    return steering(
        {PREFIX + name.replace("_", "-"): text for name, text in annotations.items()} | {"x/y": "z"}
    )


def test_annotations_steer_the_stand_in() -> None:
    assert annotated() == Steering()
    assert annotated(startup="40s", slots="4", tokens_per_second="200", fail="after 10s: gone") == Steering(
        startup=40, fail_after=10, fail_message="gone", slots=4, tokens_per_second=200
    )
    assert annotated(fail="at start: CUDA out of memory") == Steering(
        fail_after=0, fail_message="CUDA out of memory"
    )
    assert annotated(end="hang") == Steering(end="hang")
    assert annotated(fail="after 2m") == Steering(
        fail_after=120, fail_message="ended because of annotation sandbox.inferfleet.dev/fail: after 2m"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"slots": "0"},
        {"slots": "many"},
        {"tokens_per_second": "nan"},
        {"startup": "40"},
        {"fail": "soon"},
        {"end": "cut"},
    ],
)
def test_an_annotation_that_says_nothing_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(EngineFailure, match=r"annotation sandbox\.inferfleet\.dev/"):
        annotated(**wrong)


def test_commands_are_lines_of_json() -> None:
    line = (
        '{"op": "start", "id": "u", "name": "ml/q", "address": "127.1.0.2", "port": 8000, "engine": "vllm"}'
    )
    assert command(line) == Start("u", "ml/q", "127.1.0.2", 8000, "vllm")
    assert command('{"op": "stop", "id": "u", "grace": 3}') == Stop("u", 3)
    resolved = '{"op": "resolved", "id": "u", "name": "k-0.k.ml", "address": %s}'
    assert command(resolved % '"127.1.0.2"') == Resolved("u", "k-0.k.ml", "127.1.0.2")
    assert command(resolved % "null") == Resolved("u", "k-0.k.ml", None)


@pytest.mark.parametrize(
    "line", ["", "[]", "{}", '{"op": "start", "id": "u"}', '{"op": "sing", "id": "u"}', "7"]
)
def test_a_line_that_is_no_command_is_refused(line: str) -> None:
    with pytest.raises(BadCommand, match="is not a command"):
        command(line)
