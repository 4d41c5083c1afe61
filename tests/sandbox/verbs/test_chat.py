"""A chat request says who answered, and what came instead of an answer."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from inferfleet.clusters.chat import question
from sandbox.gateway.envoy import REASON
from sandbox.problem import SandboxProblem
from sandbox.verbs.chat import Answer, chat, curl, model_of

PLAIN = {"model": "qwen", "choices": [{"message": {"role": "assistant", "content": "Hello."}}]}
CHUNK = {"model": "qwen", "choices": [{"delta": {"content": "Hel"}}]}
STREAM = f"data: {json.dumps(CHUNK)}\n\ndata: {json.dumps(CHUNK)}\n\n"

# What stands behind each path: status and body.
SITES = {
    "/plain/v1/chat/completions": (200, json.dumps(PLAIN)),
    "/stream/v1/chat/completions": (200, STREAM + "data: [DONE]\n\n"),
    "/cut/v1/chat/completions": (200, STREAM),
    "/strange/v1/chat/completions": (200, "<html>"),
    "/strange/v1/models": (200, '{"data": []}'),
    "/broken/v1/chat/completions": (503, "no healthy upstream"),
    "/broken/v1/models": (503, "no healthy upstream"),
    "/plain/v1/models": (200, '{"data": [{"id": "qwen"}, {"id": "lora"}]}'),
}


class Site(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, body = SITES.get(self.path, (404, "nothing here"))
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        if status == 503:
            self.send_header(REASON, "no_healthy_upstream")
        # As an engine of the sandbox does; here it tells which host was asked for.
        self.send_header("x-inference-pod", self.headers["host"].partition(":")[0])
        self.end_headers()
        self.wfile.write(body.encode())

    do_GET = do_POST = _answer  # noqa: N815 (the names the server calls)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as inherited)
        pass


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_answer_says_who_gave_it(base: str) -> None:
    assert model_of(f"{base}/plain") == "qwen"
    assert chat(f"{base}/plain", "qwen", "hi") == Answer("Hello.", "qwen", "127.0.0.1")
    assert chat(f"{base}/plain", "qwen", "hi", host="a.example.com").pod == "a.example.com"
    assert chat(f"{base}/stream", "qwen", "hi", stream=True) == Answer("HelHel", "qwen", "127.0.0.1")


@pytest.mark.parametrize(
    ("path", "stream", "says"),
    [
        ("broken", False, "503 Service Unavailable: no healthy upstream (the gateway: no_healthy_upstream)"),
        ("nowhere", False, "no route has this path"),
        ("strange", False, "is no completion: <html>"),
        ("strange", True, "the stream ended early, after 0 events"),
        ("cut", True, "the stream ended early, after 2 events"),
    ],
)
def test_what_is_no_answer_is_shown(base: str, path: str, stream: bool, says: str) -> None:
    with pytest.raises(SandboxProblem) as problem:
        chat(f"{base}/{path}", "qwen", "hi", stream=stream)
    assert says in str(problem.value)


@pytest.mark.parametrize(("path", "says"), [("broken", "answered 503"), ("strange", "names no model")])
def test_a_service_that_names_no_model_is_shown(base: str, path: str, says: str) -> None:
    with pytest.raises(SandboxProblem, match=says):
        model_of(f"{base}/{path}")


def test_an_address_where_nobody_listens_is_shown() -> None:
    with pytest.raises(SandboxProblem, match=r"does not answer: .*Connection refused"):
        model_of("http://127.3.254.200:9")


def test_the_command_asks_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib.request.getproxies", dict)
    body = """'{"model": "q", "messages": [{"role": "user", "content": "hi"}], "stream": true}'"""
    url = "http://127.4.0.1:8080/ml/chat"
    assert curl(url, question("q", "hi", stream=True), host="a.example.com") == (
        f"curl -sN {url}/v1/chat/completions -H 'host: a.example.com' "
        f"-H 'content-type: application/json' -d {body}"
    )


def test_a_proxy_of_the_environment_does_not_come_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib.request.getproxies", lambda: {"http": "http://proxy"})
    assert "--noproxy '*'" in curl("http://127.4.0.1:8080", question("q", "hi", stream=False))
