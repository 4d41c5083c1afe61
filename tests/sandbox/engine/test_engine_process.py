"""The process that plays engines: told by lines, heard on addresses of pods, gone with its input."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from engine_process import Process
from own_addresses import own_address

from sandbox.engine.steering import PREFIX
from sandbox.verbs import chat


@pytest.fixture
def process() -> Iterator[Process]:
    made = Process()
    yield made
    made.close()


def status(url: str) -> int:
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=300) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
    except urllib.error.URLError:
        return 0


def until_running(url: str) -> None:
    """Returns when a request runs there."""
    for _ in range(1000):
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url + "/metrics") as response:
            if b'num_requests_running{engine="0",model_name="qwen"} 1' in response.read():
                return
    raise AssertionError("no request runs")


def test_pods_answer_on_their_own_addresses_until_they_are_stopped(process: Process) -> None:
    fast = {PREFIX + "tokens-per-second": "10000"}
    for number in (1, 2):
        process.send("start", number, annotations=fast)
        assert process.hears("started") == {"event": "started", "id": f"uid-{number}"}
        process.hears_log("startup complete")
        process.logs.clear()
    first, second = (f"http://{own_address(number)}:18000" for number in (1, 2))
    assert chat.model_of(first) == "qwen"
    text = "qwen on ml/q-2: you said 1 tokens, 'ping'"
    for stream in (False, True):
        assert chat.chat(second, "qwen", "ping", stream=stream) == chat.Answer(text, "qwen", "ml/q-2")
    with pytest.raises(chat.SandboxProblem, match="answered 404 Not Found"):
        chat.chat(first, "llama", "ping")
    process.send("stop", 1)
    assert process.hears("stopped") == {"event": "stopped", "id": "uid-1"}
    assert (status(first + "/health"), status(second + "/health")) == (0, 200)
    assert process.close() == 0
    assert status(second + "/health") == 0


@pytest.mark.parametrize(
    ("args", "graces", "answered"),
    [
        # Behind a shell without `exec` it never hears of it, serves on, and is killed with the grace's end.
        (("sh", "-c", "vllm serve qwen --port=18000"), (3, 0), [True, False]),
        # vLLM aborts unless it is told how long to wait, and is killed at the end of the pod's grace.
        (("--shutdown-timeout=30",), (30, 0), [True, False]),
        ((), (30, 0), [False, False]),
    ],
)
def test_what_runs_when_an_engine_is_stopped_ends_as_its_flag_and_its_grace_say(
    process: Process, args: tuple[str, ...], graces: tuple[int, int], answered: list[bool]
) -> None:
    slow = {PREFIX + "tokens-per-second": "10"}  # an answer of 9 tokens takes about a second
    for number in (6, 7):
        own = args if args[:1] == ("sh",) else ("--model=qwen", "--port=18000", *args)
        process.send("start", number, annotations=slow, args=[*own])
        process.hears_log("startup complete")
        process.logs.clear()
    with ThreadPoolExecutor() as clients:
        asked = [
            clients.submit(chat.chat, f"http://{own_address(number)}:18000", "qwen", "ping")
            for number in (6, 7)
        ]
        for number, grace in zip((6, 7), graces, strict=True):
            until_running(f"http://{own_address(number)}:18000")
            process.send("stop", number, grace=grace)
        assert {process.hears("stopped")["id"] for _ in range(2)} == {"uid-6", "uid-7"}
    assert [client.exception() is None for client in asked] == answered
    assert all(isinstance(client.exception(), chat.SandboxProblem | None) for client in asked)


def test_a_loading_engine_is_not_healthy_and_a_failing_one_says_why(process: Process) -> None:
    process.send("start", 3, annotations={PREFIX + "startup": "1h"})
    process.hears("started")
    loading = f"http://{own_address(3)}:18000"
    assert (status(loading + "/health"), status(loading + "/metrics")) == (503, 200)
    process.send("start", 4, annotations={PREFIX + "fail": "at start: CUDA out of memory"})
    assert process.hears("failed") == {"event": "failed", "id": "uid-4", "message": "CUDA out of memory"}
    process.send("start", 5, address=own_address(3))
    message = f"cannot listen on {own_address(3)}:18000: Address already in use"
    assert process.hears("failed") == {"event": "failed", "id": "uid-5", "message": message}
    process.send("start", 4)
    assert process.hears("started") == {"event": "started", "id": "uid-4"}
    process.send("stop", 9)
    assert process.hears("stopped") == {"event": "stopped", "id": "uid-9"}
