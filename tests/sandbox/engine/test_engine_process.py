"""The process that plays engines: told by lines, heard on addresses of pods, gone with its input."""

import urllib.error
import urllib.request
from collections.abc import Iterator

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
    assert process.hears("stopped") == {"event": "stopped", "id": "uid-1", "code": 137}
    assert (status(first + "/health"), status(second + "/health")) == (0, 200)
    assert process.close() == 0
    assert status(second + "/health") == 0


def test_a_loading_engine_is_not_healthy_and_a_failing_one_says_why(process: Process) -> None:
    process.send("start", 3, annotations={PREFIX + "startup": "1h"})
    process.hears("started")
    loading = f"http://{own_address(3)}:18000"
    assert (status(loading + "/health"), status(loading + "/metrics")) == (503, 200)
    process.send("start", 4, annotations={PREFIX + "fail": "at start: CUDA out of memory"})
    failed = {"event": "failed", "id": "uid-4", "message": "CUDA out of memory", "code": 1}
    assert process.hears("failed") == failed
    process.send("start", 5, address=own_address(3))
    message = f"cannot listen on {own_address(3)}:18000: Address already in use"
    assert process.hears("failed") == {"event": "failed", "id": "uid-5", "message": message, "code": 1}
    process.send("start", 4)
    assert process.hears("started") == {"event": "started", "id": "uid-4"}
    process.send("stop", 9)
    assert process.hears("stopped") == {"event": "stopped", "id": "uid-9", "code": 0}


def test_an_engine_that_refuses_its_command_line_ends_with_its_own_words_and_code(process: Process) -> None:
    process.send("start", 8, args=["vllm", "serve", "qwen", "--port=18000", "--max-nums-seqs=4"])
    message = "vllm: error: unrecognized arguments: --max-nums-seqs=4"
    assert process.hears("failed") == {"event": "failed", "id": "uid-8", "message": message, "code": 2}
    assert process.logs == [message]
