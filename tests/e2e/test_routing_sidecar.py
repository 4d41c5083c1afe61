"""The real routing sidecar between stand-ins: who computes a prompt, who answers, and what fails how."""

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from engine_process import Process
from own_addresses import own_address

from sandbox.toolchain.edits import LISTEN_ADDRESS
from sandbox.toolchain.parts import LLM_D
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import make_tools
from sandbox.verbs.chat import Answer, chat

PREFILL, DECODE, OTHER = (own_address(number) for number in (10, 11, 12))
LONG = " ".join(["long"] * 400)
_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


@pytest.fixture(scope="module")
def program() -> Path:
    return make_tools(Progress(), (LLM_D,)).folder(LLM_D.name) / "pd-sidecar"


@contextmanager
def sidecar(program: Path, *args: str, **variables: str) -> Iterator[str]:
    """A sidecar in the decode pod, and its URL."""
    command = [program, "--port=8000", "--vllm-port=8200", "--secure-proxy=false", *args]
    env = {LISTEN_ADDRESS: DECODE, "OTEL_TRACES_SAMPLER_ARG": "0", **variables}
    with subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://{DECODE}:8000"
            until = time.monotonic() + 300
            while _status(f"{url}/health") != 200:
                assert time.monotonic() < until
                assert process.poll() is None
            yield url
        finally:
            process.terminate()


def _status(url: str) -> int:
    try:
        with _open(url, timeout=300) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


@pytest.fixture
def engines() -> Iterator[Process]:
    made = Process()
    yield made
    made.close()


def vllm(
    engines: Process, number: int, *args: str, config: dict[str, Any] | None = None, **more: Any
) -> None:
    address = own_address(number)
    transfer = {"kv_connector": "NixlConnector", "kv_role": "kv_both", **(config or {})}
    port = 8200 if address == DECODE else 8000
    env = {"VLLM_NIXL_SIDE_CHANNEL_HOST": address, **more.pop("env", {})}
    words = ["vllm", "serve", "Q", "--served-model-name=qwen", f"--port={port}", *args]
    words += [f"--kv-transfer-config={json.dumps(transfer)}"]
    start = {"args": words, "env": env, "port": port, "image": "vllm/vllm-openai:v0.11.0", "gpus": 1}
    engines.send("start", number, address=address, **start | more)
    engines.hears_log("startup complete")
    engines.logs.clear()


def sglang(engines: Process, number: int, mode: str) -> None:
    address = own_address(number)
    port = 8200 if address == DECODE else 8000
    words = ["python3", "-m", "sglang.launch_server", "--model-path=Q", "--served-model-name=qwen"]
    words += [f"--port={port}", "--host=0.0.0.0", "--enable-metrics", f"--disaggregation-mode={mode}"]
    engines.send("start", number, address=address, engine="sglang", args=words, port=port)
    engines.hears_log("startup complete")
    engines.logs.clear()


def ask(
    url: str, text: str, *, prefill: str = "", stream: bool = False, **body: Any
) -> tuple[int, str, str, str]:
    """Status, the pods that answered and prefilled, and the text."""
    request = urllib.request.Request(f"{url}/v1/chat/completions", method="POST")
    request.add_header("content-type", "application/json")
    if prefill:
        port = "" if ":" in prefill else ":8000"
        request.add_header("x-prefiller-host-port", f"{prefill}{port}")
    asked = {"model": "qwen", "messages": [{"role": "user", "content": text}], "stream": stream, **body}
    request.data = json.dumps(asked).encode()
    try:
        with _open(request, timeout=300) as response:
            headers, said = response.headers, response.read().decode()
            pods = headers.get("x-inference-pod", ""), headers.get("x-inference-prefill-pod", "")
            return response.status, *pods, said
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("x-inference-pod", ""), "", error.read().decode()


def counts(address: str, *, rank: int = 0) -> tuple[int, int, int]:
    """Prompts computed by an engine, had from another one, and refused."""
    port = (8200 if address == DECODE else 8000) + rank
    with _open(f"http://{address}:{port}/metrics", timeout=300) as response:
        lines = response.read().decode().splitlines()
    names = ("sandbox_prefills_total", "sandbox_kv_transfers_total", "sandbox_kv_transfers_refused_total")
    values = dict(line.rsplit(" ", 1) for line in lines if line.startswith("sandbox_"))
    return tuple(int(values[f'{name}{{model_name="qwen"}}']) for name in names)  # type: ignore[return-value]


def test_a_long_prompt_is_computed_by_the_prefill_and_answered_by_the_decode(
    program: Path, engines: Process
) -> None:
    vllm(engines, 10)
    vllm(engines, 11)
    with sidecar(program, "--connector=nixlv2") as url:
        status, pod, prefill, said = ask(url, LONG, prefill=PREFILL)
        assert (status, pod, prefill) == (200, "ml/q-11", "ml/q-10")
        answer = json.loads(said)
        assert answer["choices"][0]["message"]["content"].startswith("qwen on ml/q-11, prefilled by ml/q-10:")
        assert answer["usage"]["prompt_tokens"] == 400
        assert "kv_transfer_params" not in answer
        status, pod, prefill, said = ask(url, LONG, prefill=PREFILL, stream=True)
        assert (status, pod, prefill) == (200, "ml/q-11", "ml/q-10")
        assert said.endswith("data: [DONE]\n\n")
        assert chat(url, "qwen", "short") == Answer(
            "qwen on ml/q-11: you said 1 tokens, 'short'", "qwen", "ml/q-11"
        )
        assert _status(f"{url}/v1/models") == _status(f"{url}/metrics") == 200
    assert (counts(PREFILL), counts(DECODE)) == ((2, 0, 0), (1, 2, 0))


@pytest.mark.parametrize(
    ("args", "more", "says"),
    [
        (["--model=Other"], {}, "NIXL compatibility hash mismatch"),
        (["--dtype=float16"], {}, "dtype 'auto' here and 'float16' there"),
        ([], {"image": "vllm/vllm-openai:v0.12.0"}, "version 'vllm-openai:v0.11.0' here"),
        (["--block-size=128"], {}, "different page/block size is not supported yet. local=16, remote=128"),
        (["-tp=3"], {"gpus": 3}, "Local tensor parallel size 2 is not divisible by remote"),
        ([], {"env": {"VLLM_NIXL_SIDE_CHANNEL_HOST": "localhost"}}, "Remote NIXL agent engine ID mismatch"),
    ],
    ids=["model", "dtype", "version", "block size", "tensor", "host"],
)
def test_a_prefill_that_does_not_fit_is_refused_and_counted(
    program: Path, engines: Process, args: list[str], more: dict[str, Any], says: str
) -> None:
    vllm(engines, 10, *args, **more)
    vllm(engines, 11, "-tp=2", gpus=2)
    with sidecar(program) as url:
        status, pod, _, said = ask(url, LONG, prefill=PREFILL)
    assert (status, pod) == (500, "ml/q-11")
    assert says in json.loads(said)["error"]["message"]
    assert counts(DECODE) == (0, 0, 1)


def test_a_decode_that_may_recompute_computes_what_it_cannot_have(program: Path, engines: Process) -> None:
    vllm(engines, 10, "--block-size=128")
    vllm(engines, 11, config={"kv_load_failure_policy": "recompute"})
    with sidecar(program) as url:
        assert ask(url, LONG, prefill=PREFILL)[:3] == (200, "ml/q-11", "")
    assert counts(DECODE) == (1, 0, 1)


def test_without_the_prefill_the_sidecar_asks_the_decode_alone(program: Path, engines: Process) -> None:
    vllm(engines, 10)
    vllm(engines, 11)
    with sidecar(program) as url:
        engines.send("stop", 10)
        engines.hears("stopped")
        assert ask(url, LONG, prefill=PREFILL)[:3] == (200, "ml/q-11", "")
    assert counts(DECODE) == (1, 0, 0)


def test_each_copy_behind_a_sidecar_has_a_port_and_a_channel_of_its_own(
    program: Path, engines: Process
) -> None:
    copies = ("--data-parallel-size=2", "--data-parallel-size-local=2", "-dpm")
    for number in (10, 11):
        vllm(engines, number, *copies, gpus=2)
    with sidecar(program, "--data-parallel-size=2") as url:
        second = url.replace(":8000", ":8001")
        for prefill in (PREFILL, f"{PREFILL}:8001"):
            for at in (url, second):
                assert ask(at, LONG, prefill=prefill)[:3] == (200, "ml/q-11", "ml/q-10")
    assert counts(PREFILL) == counts(PREFILL, rank=1) == (2, 0, 0)
    assert counts(DECODE) == counts(DECODE, rank=1) == (0, 2, 0)


def test_a_refusal_of_the_prefill_goes_to_the_client(program: Path, engines: Process) -> None:
    vllm(engines, 10, "--max-model-len=100")
    vllm(engines, 11)
    with sidecar(program) as url:
        status, pod, _, said = ask(url, LONG, prefill=PREFILL)
    assert (status, pod) == (400, "ml/q-10")
    assert "maximum context length is 100 tokens" in said


def test_over_a_shared_storage_the_decode_finds_what_the_prefill_stored(
    program: Path, engines: Process
) -> None:
    storage = {
        "kv_connector": "SharedStorageConnector",
        "kv_connector_extra_config": {"shared_storage_path": "/mnt/kv"},
    }
    vllm(engines, 10, config=storage | {"kv_role": "kv_producer"})
    vllm(engines, 11, config=storage | {"kv_role": "kv_consumer"})
    with sidecar(program, "--connector=shared-storage") as url:
        assert ask(url, LONG)[:3] == (200, "ml/q-11", "")
        # With a threshold the sidecar asks the decode first, which has nothing yet.
        for stream in (False, True):
            text = f"{LONG} {stream}"
            answer = ask(url, text, prefill=PREFILL, stream=stream, cache_hit_threshold=0.5)
            assert answer[:3] == (200, "ml/q-11", "ml/q-10")
        assert ask(url, text, prefill=OTHER, cache_hit_threshold=0.5)[:3] == (200, "ml/q-11", "ml/q-10")
        status, *_ = ask(url, f"{LONG} again", prefill=OTHER)
    assert status == 502
    assert (counts(PREFILL), counts(DECODE)) == ((2, 0, 0), (1, 3, 0))


def test_sglang_s_engines_meet_in_a_room_of_the_prefill(program: Path, engines: Process) -> None:
    sglang(engines, 10, "prefill")
    sglang(engines, 11, "decode")
    with sidecar(program, "--connector=sglang") as url, ThreadPoolExecutor() as clients:
        for stream in (False, True):
            asked = [clients.submit(ask, url, LONG, prefill=PREFILL, stream=stream) for _ in range(4)]
            assert {answer.result()[:3] for answer in asked} == {(200, "ml/q-11", "ml/q-10")}
        status, _, _, said = ask(url, "short")
        assert (status, "without bootstrap room id" in said) == (400, True)
        engines.send("stop", 10)
        engines.hears("stopped")
        status, _, _, said = ask(url, LONG, prefill=PREFILL)
        assert (status, "handshake with" in said) == (500, True)
    assert counts(DECODE) == (0, 8, 1)
