"""Sends one chat request to a service, as its users would, and says who answered."""

import http.client
import json
import shlex
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from sandbox.gateway.envoy import REASON
from sandbox.problem import SandboxProblem

TEXT = "Say hello in one short sentence."
SECONDS = 60
# Gateways of the sandbox are on this machine: a proxy of the environment must not come between.
_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


@dataclass(frozen=True)
class Answer:
    """What came back. `pod` is "" when nobody said so, which real engines do not."""

    text: str
    model: str
    pod: str


def chat(url: str, model: str, text: str, *, stream: bool = False, host: str = "") -> Answer:
    """One answer of `model` behind `url`, plain or streamed. Raises SandboxProblem with what came instead."""
    headers, body = _request(
        f"{url}/v1/chat/completions", host=host, body=question(model, text, stream=stream)
    )
    pod = headers.get("x-inference-pod", "")
    try:
        if not stream:
            said: Any = json.loads(body)
            return Answer(said["choices"][0]["message"]["content"], said["model"], pod)
        lines = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
        if not lines or lines[-1] != "[DONE]":
            raise SandboxProblem(f"{url}: the stream ended early, after {len(lines)} events. Ask again.")
        events: list[Any] = [json.loads(line) for line in lines[:-1]]
        pieces = [one["delta"].get("content") or "" for event in events for one in event["choices"]]
        return Answer("".join(pieces), events[0]["model"], pod)
    except (ValueError, LookupError, TypeError) as error:
        raise SandboxProblem(f"{url} answered something that is no completion: {body[:300]}") from error


def model_of(url: str, *, host: str = "") -> str:
    """What the service calls its model. Raises SandboxProblem."""
    _, body = _request(f"{url}/v1/models", host=host)
    try:
        return str(json.loads(body)["data"][0]["id"])
    except (ValueError, LookupError, TypeError) as error:
        raise SandboxProblem(f"{url}/v1/models names no model: {body[:300]}") from error


def question(model: str, text: str, *, stream: bool) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": text}]}
    return asked | ({"stream": True} if stream else {})


def curl(url: str, asked: dict[str, Any], *, host: str = "") -> str:
    """The command that asks the same."""
    words = ["curl", "-sN" if asked.get("stream") else "-s", f"{url}/v1/chat/completions"]
    if urllib.request.getproxies():
        words += ["--noproxy", "*"]
    if host:
        words += ["-H", f"host: {host}"]
    words += ["-H", "content-type: application/json", "-d", json.dumps(asked, ensure_ascii=False)]
    return shlex.join(words)


def _request(
    url: str, *, host: str, body: dict[str, Any] | None = None
) -> tuple[http.client.HTTPMessage, str]:
    request = urllib.request.Request(url, headers={"content-type": "application/json"})
    if host:
        request.add_header("host", host)
    if body is not None:
        request.data = json.dumps(body).encode()
    try:
        with _open(request, timeout=SECONDS) as response:
            return response.headers, response.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        said = error.read().decode(errors="replace").strip()[:500]
        if why := error.headers.get(REASON):
            said = f"{said} (the gateway: {why})"
        raise SandboxProblem(
            f"{url} answered {error.code} {error.reason}: {said}\n{_advice(error.code)}"
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise SandboxProblem(
            f"{url} does not answer: {reason}. `inferfleet sandbox status` says whether its gateway runs."
        ) from error


def _advice(code: int) -> str:
    if code == 404:
        return (
            "Either no route has this path, or the pods behind a service serve models of different names;"
            " then give them one name, such as --served-model-name."
        )
    return "`inferfleet status` says which pods, pickers and routes are not ready."
