"""When a command line is written, and which variables engines get."""

from typing import Any

import pytest
from declared import MODEL, declared, pod_of

from inferfleet.documents.kinds.workers import Position
from inferfleet.review.digest.texts import command_text
from inferfleet.serving.engines.command_line import (
    CommandLine,
    command_line,
    example,
    fields_by_flag,
    unwritable,
    variables,
    written_flags,
)
from inferfleet.tables.flags import flags as table_of

SERVE = ("vllm", "serve")
FLAGS = (MODEL, "--port=8000", "--shutdown-timeout=90")
OWN = {"command": ["sh", "-c", "exec vllm serve $INFERFLEET_MODEL"]}
PREFILL = {"workers": {"topology": {"tensor": 1}}}


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, CommandLine(SERVE, FLAGS)),
        ({"container": {"image": "vllm:1", "env": []}}, CommandLine(SERVE, FLAGS)),
        ({"container": {"command": [], "args": []}}, CommandLine(SERVE, FLAGS)),
        ({"engine": {"program": ["/opt/start", "serve"]}}, CommandLine(("/opt/start", "serve"), FLAGS)),
        ({"engine": {"program": "Image"}}, CommandLine((), FLAGS)),
        ({"engine": {"model": None}}, None),
        ({"container": {"command": ["serve"]}}, None),
        ({"container": {"args": ["--max-num-seqs=8"]}}, None),
        ({"engine": {"type": "Triton"}}, None),
    ],
)
def test_it_is_written_for_a_declared_model_where_the_container_has_neither_command_nor_args(
    fields: dict[str, Any], line: CommandLine | None
) -> None:
    assert command_line(pod_of(declared(**fields))) == line


def test_it_reads_as_a_shell_would_take_it() -> None:
    line = command_text(pod_of(declared(engine={"args": ["--x", "a b"]})))
    assert line == f"vllm serve {' '.join(FLAGS)} --x 'a b'"


def _variables(position: Position = "Entry", **fields: Any) -> dict[str, Any]:
    return {
        each["name"]: each.get("value", each.get("valueFrom"))
        for each in variables(pod_of(declared(**fields), position=position))
    }


KEEPS = {"VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "3700"}


def test_a_written_engine_gets_its_token_and_keeps_connections_longer_than_gateways() -> None:
    model = {"repository": MODEL, "token": {"secretRef": {"name": "hf"}}}
    token = {"HF_TOKEN": {"secretKeyRef": {"name": "hf", "key": "token"}}}
    assert (_variables(), _variables(engine={"model": model})) == (KEEPS, token | KEEPS)


def test_a_command_of_ones_own_gets_what_the_document_declares() -> None:
    assert _variables(
        container=OWN, engine={"servedNames": ["chat", "code"], "port": 9000, "drain": "5m"}
    ) == KEEPS | {
        "INFERFLEET_MODEL": MODEL,
        "INFERFLEET_SERVED_NAMES": "chat code",
        "INFERFLEET_PORT": "9000",
        "INFERFLEET_TENSOR": "1",
        "INFERFLEET_PIPELINE": "1",
        "INFERFLEET_DATA": "1",
        "INFERFLEET_DATA_LOCAL": "1",
        "INFERFLEET_DRAIN": "300",
    }


@pytest.mark.parametrize("position", ["Entry", "Follower"])
def test_pods_of_a_group_know_their_leader_their_rank_and_how_many_they_are(position: Position) -> None:
    found = _variables(
        position,
        topology={"tensor": 8, "data": 4, "dataLocal": 2},
        container=OWN,
        engine={"model": None},
    )
    assert found == KEEPS | {
        "INFERFLEET_PORT": "8000",
        "INFERFLEET_TENSOR": "8",
        "INFERFLEET_PIPELINE": "1",
        "INFERFLEET_DATA": "4",
        "INFERFLEET_DATA_LOCAL": "2",
        "INFERFLEET_DRAIN": "90",
        "INFERFLEET_LEADER": "$(LWS_LEADER_ADDRESS)",
        "INFERFLEET_RANK": "$(LWS_WORKER_INDEX)",
        "INFERFLEET_PODS": "$(LWS_GROUP_SIZE)",
    }


def test_engines_of_prefill_and_decode_know_where_they_listen_and_where_prefill_tells_the_way() -> None:
    found = _variables(container=OWN, prefill=PREFILL)
    assert (found["INFERFLEET_PORT"], found["INFERFLEET_BOOTSTRAP_PORT"]) == ("8200", "8998")


SGLANG_COMMAND = (
    f"command: [python3, -m, sglang.launch_server, --model-path={MODEL}, --host=0.0.0.0, "
    "--port=$(INFERFLEET_PORT)]"
)
TRT, SGLANG = {"type": "TensorRT-LLM"}, {"type": "SGLang"}


@pytest.mark.parametrize(
    ("fields", "pods", "why", "command"),
    [
        (
            {"engine": {"type": "Triton"}},
            1,
            "for type Triton no command line is written",
            f"command: [tritonserver, --model-repository={MODEL}, --http-port=$(INFERFLEET_PORT)]",
        ),
        (
            {"engine": {"type": "Other"}},
            1,
            "for type Other no command line is written",
            f"command: [PROGRAM, --model={MODEL}, --port=$(INFERFLEET_PORT)]",
        ),
        (
            {"engine": TRT, "topology": {"tensor": 16}},
            2,
            "for TensorRT-LLM in several pods, or with copies, no command line is written: mpirun starts it",
            f"command: [trtllm-llmapi-launch, trtllm-serve, {MODEL}, --host=0.0.0.0, "
            "--port=$(INFERFLEET_PORT)]",
        ),
        (
            {"engine": TRT, "topology": {"tensor": 1, "data": 2, "dataLocal": 2}},
            1,
            "for TensorRT-LLM in several pods, or with copies, no command line is written: mpirun starts it",
            f"command: [trtllm-llmapi-launch, trtllm-serve, {MODEL}, --host=0.0.0.0, "
            "--port=$(INFERFLEET_PORT)]",
        ),
        (
            {"engine": SGLANG, "topology": {"tensor": 8, "data": 2}},
            2,
            "for SGLang with topology.data over several pods no command line is written",
            SGLANG_COMMAND,
        ),
    ],
)
def test_where_none_is_written_there_is_a_command_to_begin_from(
    fields: dict[str, Any], pods: int, why: str, command: str
) -> None:
    document = declared(**fields)
    assert (unwritable(document, "decode", pods), example(document, "decode")) == (why, command)


SIZES = {"tensor": 2, "data": 4, "dataLocal": 2, "attention": 2, "expert": True}
ALL = {"model": {"repository": MODEL, "revision": "abc"}, "servedNames": ["chat"]}


@pytest.mark.parametrize(("kind", "version"), [("vLLM", "0.32"), ("SGLang", "0.5.23"), ("TensorRT-LLM", "1")])
@pytest.mark.parametrize("topology", [SIZES, {**SIZES, "pipeline": 2}])
@pytest.mark.parametrize("balance", ["Engine", "Port"])
def test_each_written_flag_is_one_that_args_may_not_have(
    kind: str, version: str, topology: dict[str, Any], balance: str
) -> None:
    document = declared(topology, engine={**ALL, "type": kind}, workers={"balance": balance}, prefill=PREFILL)
    table = table_of(kind, version)
    both: tuple[Position, ...] = ("Entry", "Follower")
    for role in ("decode", "prefill"):
        pods = [pod_of(document, role, position) for position in both]
        written = [word for pod in pods for word in written_flags(pod) if word.startswith("--")]
        names = {word: table.options_of(word) if table else (word.partition("=")[0],) for word in written}
        assert [word for word in written if not {*names[word]} & {*fields_by_flag(pods[0])}] == []
