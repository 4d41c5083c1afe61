"""Commands of one's own: where their plain words are not what the document declares."""

from typing import Any

import pytest
from declared import MODEL, declared, pod_of

from inferfleet.documents.kinds.workers import Position
from inferfleet.documents.pods.template import script_at
from inferfleet.serving.engines.own_command import differences

ADD = "or leave the command out: inferfleet writes it where engine.model is declared"
CHANGE = "Change one of the two"


def _said(
    command: list[str], args: list[str] | None = None, position: Position = "Entry", **fields: Any
) -> list[tuple[str, str, str]]:
    fields.setdefault("engine", {})
    fields["engine"] = {"model": None, **fields["engine"]}
    pod = pod_of(declared(container={"command": command}, **fields), position=position)
    return [
        (severity, mistake.what, mistake.next_step)
        for mistake, severity in differences(pod, command, args or [])
    ]


VLLM = ["vllm", "serve", "m"]
SGLANG = ["python3", "-m", "sglang.launch_server", "--host=0.0.0.0"]
SGLANG_TYPE = {"type": "SGLang"}
PINNED = {"repository": "m", "revision": "abc"}
IS_ABC = "engine.model.revision is abc"
GRPC = (
    "error",
    "the command starts vLLM's gRPC server, and gateways and probes reach engines by HTTP/1.1",
    "Start its server by HTTP instead",
)


def _differs(flag: str, given: str, field: str, wanted: str) -> tuple[str, str, str]:
    return "error", f"{flag} is {given}, and {field} of the document is {wanted}", CHANGE


def _absent(flag: str, wanted: str, because: str) -> tuple[str, str, str]:
    what = f"the words of the command lack {flag} ({because})"
    return "warning", what, f"Add {flag}{wanted}, {ADD}"


@pytest.mark.parametrize(
    ("command", "fields", "said"),
    [
        (VLLM, {"engine": {"model": MODEL}}, [_differs("--model", "m", "engine.model", MODEL)]),
        (
            ["vllm", "serve", "--model", "m"],
            {"engine": {"model": MODEL}},
            [_differs("--model", "m", "engine.model", MODEL)],
        ),
        (
            ["vllm", "serve", "--model=$(INFERFLEET_MODEL)"],
            {"engine": {"model": MODEL}},
            [],
        ),
        (VLLM, {"engine": {"model": PINNED}}, [_absent("--revision", "=abc", IS_ABC)]),
        (
            [*VLLM, "--revision", "main"],
            {"engine": {"model": PINNED}},
            [_differs("--revision", "main", "engine.model.revision", "abc")],
        ),
        ([*VLLM, "--revision=abc"], {"engine": {"model": PINNED}}, []),
        (
            [*SGLANG, "--model-path=m"],
            {"engine": {**SGLANG_TYPE, "model": PINNED}},
            [_absent("--revision", "=abc", IS_ABC)],
        ),
        (
            ["trtllm-serve", "m", "--host=0.0.0.0"],
            {"engine": {"type": "TensorRT-LLM", "model": PINNED}},
            [_absent("--revision", "=abc", IS_ABC)],
        ),
        ([*VLLM, "--port=9000"], {}, [_differs("--port", "9000", "engine.port", "8000")]),
        ([*VLLM, "--port", "9000"], {"engine": {"port": 9000}}, []),
        (["vllm", "serve", "--port", "8000", "m"], {}, []),
        ([*VLLM, "--grpc"], {}, [GRPC]),
        (["python3", "-m", "vllm.entrypoints.grpc_server", "--model", "m"], {}, [GRPC]),
        (VLLM, {"engine": {"port": 9000}}, [_absent("--port", "=9000", "engine.port is 9000")]),
        ([*VLLM, "-tp=4"], {"topology": {"tensor": 4}}, []),
        (
            [*VLLM, "--tensor_parallel_size", "4"],
            {"topology": {"tensor": 2}},
            [_differs("--tensor-parallel-size", "4", "topology.tensor", "2")],
        ),
        (
            VLLM,
            {"topology": {"tensor": 2}},
            [_absent("--tensor-parallel-size", "=2", "topology.tensor is 2")],
        ),
        (
            [*VLLM, "-tp=8"],
            {"topology": {"tensor": 8, "pipeline": 2}},
            [_absent("--pipeline-parallel-size", "=2", "topology.pipeline is 2")],
        ),
        (
            VLLM,
            {"topology": {"tensor": 1, "data": 2, "dataLocal": 2}},
            [_absent("--data-parallel-size", "=2", "topology.data is 2")],
        ),
        (
            [*VLLM, "--served-model-name", "code", "chat"],
            {"engine": {"servedNames": ["chat", "code"]}},
            [],
        ),
        (
            [*VLLM, "--served-model-name", "qwen"],
            {"engine": {"servedNames": ["chat", "code"]}},
            [_differs("--served-model-name", "qwen", "engine.servedNames", "chat, code")],
        ),
        (
            VLLM,
            {"engine": {"servedNames": ["chat"]}},
            [_absent("--served-model-name", "=chat", "engine.servedNames is chat")],
        ),
        (
            VLLM,
            {"engine": {"servedNames": ["chat", "code"]}},
            [_absent("--served-model-name", " chat code", "engine.servedNames is chat code")],
        ),
        ([*SGLANG, "--model-path=m"], {"engine": SGLANG_TYPE}, []),
        (
            ["python3", "-m", "sglang.launch_server"],
            {"engine": SGLANG_TYPE},
            [
                _absent(
                    "--host",
                    "=0.0.0.0",
                    "SGLang listens on 127.0.0.1 without it, where nothing reaches it",
                )
            ],
        ),
        (
            ["python3", "-m", "sglang.launch_server", "--host", "localhost"],
            {"engine": SGLANG_TYPE},
            [
                (
                    "error",
                    "--host is localhost, where nothing outside of the pod reaches the engine",
                    "Write 0.0.0.0",
                )
            ],
        ),
        (
            [*SGLANG, "--tp=8", "--dp-size=8", "--enable-dp-attention"],
            {"engine": SGLANG_TYPE, "topology": {"tensor": 8, "attention": 8}},
            [],
        ),
        (
            ["trtllm-serve", "m", "--host=0.0.0.0", "--tp_size=2"],
            {"engine": {"type": "TensorRT-LLM"}, "topology": {"tensor": 4}},
            [_differs("--tp_size", "2", "topology.tensor", "4")],
        ),
        (
            ["tritonserver", "--http-port=9000"],
            {"engine": {"type": "Triton"}},
            [_differs("--http-port", "9000", "engine.port", "8000")],
        ),
        (
            ["/usr/local/bin/vllm", "serve", "m"],
            {"engine": SGLANG_TYPE},
            [
                (
                    "error",
                    "the command starts vLLM, and engine.type is SGLang",
                    "Write type: vLLM, or another command",
                )
            ],
        ),
        (["/opt/start", "--port=9000"], {}, []),
        (["vllm", "serve", "m", "--port=9000"], {"engine": {"type": "Other"}}, []),
    ],
)
def test_another_value_is_an_error_and_a_missing_one_a_warning(
    command: list[str], fields: dict[str, Any], said: list[tuple[str, str, str]]
) -> None:
    assert _said(command, **fields) == said


def test_args_alone_are_those_of_the_images_own_program() -> None:
    given = [*["m", "--port", "9000"], "-tp=2"]
    fields = {"engine": {"model": "m"}, "topology": {"tensor": 2}}
    assert _said([], given, **fields) == [_differs("--port", "9000", "engine.port", "8000")]
    assert _said([], ["vllm", "serve", *given], **fields) == _said([], given, **fields)


def test_followers_that_serve_nothing_need_no_port_and_no_name() -> None:
    engine = {"port": 9000, "servedNames": ["chat"]}
    fields = {"engine": engine, "topology": {"tensor": 8, "pipeline": 2}}
    sizes = [*VLLM, "-tp=8", "-pp=2"]
    assert _said(sizes, position="Follower", **fields) == []
    assert _said(sizes, **fields) == [
        (
            "warning",
            "the words of the command lack --port (engine.port is 9000), --served-model-name "
            "(engine.servedNames is chat)",
            f"Add --port=9000, --served-model-name=chat, {ADD}",
        )
    ]


@pytest.mark.parametrize("script", ["vllm serve m --port 9000", "cd /models\nexec sglang serve m"])
def test_the_script_of_a_shell_is_not_looked_at(script: str) -> None:
    assert _said(["sh", "-c", script]) == []


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["sh", "-c", "x"], 2),
        (["bash", "-o", "pipefail", "-c", "x"], 4),
        (["env", "A=1", "sh", "-ec", "x"], 4),
        (["sh", "-c"], None),
        (["sh", "/start.sh"], None),
        (["vllm", "serve", "-c", "x"], None),
        ([], None),
    ],
)
def test_a_script_is_what_follows_a_shells_option_for_one(words: list[str], place: int | None) -> None:
    assert script_at(words) == place
