"""What clients see of an engine at SIGTERM, by its flag, its pod and the grace period."""

import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest
from engine_process import Process
from own_addresses import own_address

from sandbox.engine.steering import PREFIX

# No answer of so many tokens ends within a test, and one of ENDS does.
ENDLESS, ENDS = 10_000, 20
SPEED = 10
PLAIN, STREAM = False, True
# What metrics of both engines say of two requests.
RUN = re.compile(r"num_(requests_running|running_reqs)\{[^}]*\} 2")


class Seen(NamedTuple):
    """What a client got: a status, 0 where the answer is cut off, and why the answer ended."""

    status: int
    why: str = ""


@pytest.fixture
def process() -> Iterator[Process]:
    made = Process()
    yield made
    made.close()


def base(number: int) -> str:
    return f"http://{own_address(number)}:18000"


def opened(request: str | urllib.request.Request) -> tuple[int, str]:
    """Status and text of an answer; 0 where there is none, or not all of it."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            return int(answer.status), answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except (OSError, http.client.HTTPException):
        return 0, ""


def asked(number: int, tokens: int, stream: bool) -> Seen:
    body = {"model": "qwen", "prompt": "ping", "max_tokens": tokens, "ignore_eos": True, "stream": stream}
    url = f"{base(number)}/v1/completions"
    status, text = opened(urllib.request.Request(url, json.dumps(body).encode()))
    if not status:
        return Seen(0)
    if stream and status == 200:
        *_, last, done = text.strip().split("\n\n")
        assert done == "data: [DONE]"
        text = last.removeprefix("data: ")
    said: dict[str, Any] = json.loads(text)
    return Seen(status, said["error"]["message"] if "error" in said else said["choices"][0]["finish_reason"])


class Engine:
    """An engine that runs a plain request and a stream of so many tokens."""

    def __init__(
        self, process: Process, clients: ThreadPoolExecutor, number: int, tokens: int, **more: Any
    ) -> None:
        self.number, self._process, self._clients = number, process, clients
        steer = {PREFIX + "tokens-per-second": str(SPEED), **more.pop("annotations", {})}
        process.send("start", number, annotations=steer, **more)
        process.hears_log("startup complete")
        process.logs.clear()
        self.requests: list[Future[Seen]] = [self.ask(tokens, kind) for kind in (PLAIN, STREAM)]
        self.until(lambda: RUN.search(opened(f"{base(number)}/metrics")[1]))

    def ask(self, tokens: int, stream: bool) -> Future[Seen]:
        return self._clients.submit(asked, self.number, tokens, stream)

    def until(self, holds: Any) -> None:
        assert any(holds() for _ in range(2000))

    def stop(self, grace: float) -> None:
        self._process.send("stop", self.number, grace=grace)

    def ended(self) -> int:
        """The exit code, once it has ended."""
        return int(self._process.hears("stopped")["code"])

    def seen(self) -> list[Seen]:
        return [request.result() for request in self.requests]


def vllm(*args: str) -> list[str]:
    return ["vllm", "serve", "qwen", "--port=18000", *args]


DEAD = "EngineCore encountered an issue. See stack trace (above) for the root cause."
CUT = [Seen(0), Seen(0)]


@pytest.mark.parametrize(
    ("left", "seen", "code"),
    [
        ("hang", CUT, 137),
        ("abort", [Seen(200, "abort"), Seen(200, "abort")], 0),
        # A stream has begun with 200.
        ("error", [Seen(500, DEAD), Seen(200, DEAD)], 0),
    ],
)
@pytest.mark.parametrize("drain", [(), ("--shutdown-timeout=1",)])
def test_requests_that_are_left_hang_or_end_early_or_fail(
    process: Process, drain: tuple[str, ...], left: str, seen: list[Seen], code: int
) -> None:
    with ThreadPoolExecutor() as clients:
        engine = Engine(process, clients, 1, ENDLESS, args=vllm(*drain), annotations={PREFIX + "end": left})
        engine.stop(grace=3)
        assert (engine.seen(), engine.ended()) == (seen, code)


def test_while_vllm_drains_it_looks_healthy_and_refuses_what_is_new(process: Process) -> None:
    with ThreadPoolExecutor() as clients:
        engine = Engine(process, clients, 2, ENDS, args=vllm("--shutdown-timeout=30"))
        engine.stop(grace=60)
        refused = Seen(500, "cannot schedule new futures after shutdown")
        engine.until(lambda: engine.ask(1, PLAIN).result() == refused)
        engine.stop(grace=60)
        assert opened(f"{base(2)}/health") == (200, "")
        assert (engine.seen(), engine.ended()) == ([Seen(200, "length"), Seen(200, "length")], 0)
    assert opened(f"{base(2)}/health") == (0, "")


SGLANG = ["sglang", "serve", "--model-path=qwen", "--port=18000", "--host=0.0.0.0", "--enable-metrics"]


def test_sglang_waits_for_its_last_request(process: Process) -> None:
    with ThreadPoolExecutor() as clients:
        engine = Engine(process, clients, 3, ENDS, args=SGLANG, engine="sglang")
        engine.stop(grace=60)
        assert (engine.seen(), engine.ended()) == ([Seen(200, "length"), Seen(200, "length")], 0)


@pytest.mark.parametrize(
    ("args", "engine"), [(SGLANG, "sglang"), (["sh", "-c", "vllm serve qwen --port=18000"], "vllm")]
)
def test_what_has_no_end_of_its_own_serves_until_it_is_killed(
    process: Process, args: list[str], engine: str
) -> None:
    with ThreadPoolExecutor() as clients:
        running = Engine(process, clients, 4, ENDLESS, args=args, engine=engine)
        running.stop(grace=60)
        running.stop(grace=0)
        assert (running.seen(), running.ended()) == (CUT, 137)
