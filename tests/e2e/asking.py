"""Requests to models as their users send them, and patience with what takes seconds."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from threading import Event, Thread
from typing import Any, NamedTuple, Protocol
from urllib.request import HTTPErrorProcessor, ProxyHandler, Request, build_opener

from sandbox.gateway.envoy import REASON

# Seconds: how long something that should happen within some may take on a slow machine.
PATIENCE = 600
# The end of every stream.
END = "data: [DONE]\n\n"
# What is in an answer whose engine ended while it answered. It has status 200, and a stream has its end.
ABORTED, FAILED = '"finish_reason":"abort"', '"InternalServerError"'


class _Whatever(HTTPErrorProcessor):
    """An answer is an answer, with any status."""

    def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:
        return response


# Gateways of the sandbox are on this machine: a proxy of the environment must not come between.
_open = build_opener(ProxyHandler({}), _Whatever).open


class Clusters(Protocol):
    """Whatever can be asked for the objects of its clusters."""

    def items(self, cluster: str, kind: str, *arguments: str) -> list[dict[str, Any]]: ...


class Answer(NamedTuple):
    """Who answered ("" for nobody), and when it was asked, in seconds of the monotonic clock.

    `prefill` is another pod that computed the prompt, "" if there was none.
    """

    status: int  # 0 for none in time
    pod: str
    asked: float
    instead: str = ""  # of an answer: the body, and why the gateway sent it
    prefill: str = ""


def url(fleet: Clusters, cluster: str, path: str) -> str:
    """Return the URL of a service (`ml/chat`) or deployment (`ml/deployments/one`) on a cluster's gateway."""
    [gateway] = fleet.items(cluster, "gateways")
    [listener] = gateway["spec"]["listeners"]
    return f"http://{gateway['status']['addresses'][0]['value']}:{listener['port']}/{path}"


def ask(
    url: str,
    text: str = "hello",
    *,
    model: str = "shared",
    tokens: int = 4,
    stream: bool = False,
    patience: float = PATIENCE,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One chat request, which asks for exactly so many tokens. A stream counts as answered once it is whole.

    `patience` is in seconds, of a stream from one piece to the next.
    """
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": text}]}
    body |= {"max_tokens": tokens, "ignore_eos": True, "stream": stream}
    request = Request(
        f"{url}/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json", **(headers or {})},
    )
    asked, begun = time.monotonic(), "nobody"
    try:
        with _open(request, timeout=patience) as answer:
            begun = answer.headers.get("x-inference-pod", begun)
            said, status = answer.read().decode(errors="replace"), int(answer.status)
    except (OSError, HTTPException) as error:
        return Answer(0, "", asked, f"{error} of {begun} after {time.monotonic() - asked:.1f} s")
    if status == 200 and (early := _ends_early(said, stream=stream)):
        return Answer(0, "", asked, f"an answer of {answer.headers['x-inference-pod']} {early}")
    if status == 200:
        pod, prefill = answer.headers["x-inference-pod"], answer.headers.get("x-inference-prefill-pod", "")
        return Answer(status, str(pod), asked, prefill=str(prefill))
    return Answer(status, "", asked, f"{said} {answer.headers.get(REASON, '')}")


def _ends_early(said: str, *, stream: bool) -> str:
    """Why an answer with status 200 is not whole, or nothing."""
    if stream and not said.endswith(END):
        return "that is cut off"
    if ABORTED in said:
        return "that its engine has aborted"
    return "that ends with an error" if FAILED in said else ""


def status_of(url: str, headers: Mapping[str, str] | None = None) -> int:
    """Return the status of the answer to a GET request."""
    with _open(Request(url, headers=dict(headers or {})), timeout=PATIENCE) as answer:
        return int(answer.status)


def posted(url: str, body: Mapping[str, Any] | bytes, *, content_type: str = "application/json") -> int:
    """Return the status of the answer to a POST request."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = Request(url, data=data, headers={"content-type": content_type})
    with _open(request, timeout=PATIENCE) as answer:
        return int(answer.status)


@contextmanager
def asked_all_the_time(url: str) -> Iterator[list[Answer]]:
    """The answers to one request after the other, from now until the block ends."""
    with going_on(lambda: ask(url, patience=60)) as answers:
        yield answers


@contextmanager
def going_on(request: Callable[[], Answer], *, clients: int = 1) -> Iterator[list[Answer]]:
    """The answers that so many clients get, each to one request after the other, until the block ends.

    Every request that has begun is waited for.
    """
    answers: list[Answer] = []
    over = Event()

    def go_on() -> None:
        while not over.is_set():
            answers.append(request())
            if answers[-1].status != 200:
                # What is refused is refused at once: nobody asks again within the same moment.
                over.wait(0.3)

    asking = [Thread(target=go_on) for _ in range(clients)]
    for client in asking:
        client.start()
    try:
        yield answers
    finally:
        over.set()
        for client in asking:
            client.join()


def serving(url: str, *, requests: int = 20) -> set[str]:
    """The pods that answered some requests."""
    return {one.pod for one in (ask(url) for _ in range(requests)) if one.pod}


def until(
    what: str, holds: Callable[[], Any], *, every: float = 0.5, seen: Callable[[], Any] | None = None
) -> Any:
    """The first true answer, asked again after so many seconds until the deadline, when `seen` is told."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := holds():
            return found
        time.sleep(every)
    instead = f"; seen: {seen()}" if seen else ""
    raise AssertionError(f"not within {PATIENCE} s: {what}{instead}")
