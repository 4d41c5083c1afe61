"""Sends one chat request to a service, as its users would, and returns the answer and who gave it."""

import http.client
import json
import shlex
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from inferfleet.clusters.chat import content, question
from sandbox.engine.http_server import POD, PREFILL_POD
from sandbox.gateway.envoy import REASON
from sandbox.problem import SandboxProblem

TIMEOUT_SECONDS = 60
# Names and values of headers that a route expects.
Headers = tuple[tuple[str, str], ...]
# Gateways of the sandbox are on this machine, so a proxy of the environment must not be used.
_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


@dataclass(frozen=True)
class Answer:
    """The answer to a request. `pod` is "" when the answer does not name it; real engines never do.

    `prefill` is another pod that computed the prompt, "" if there was none.
    """

    text: str
    model: str
    pod: str
    prefill: str = ""

    @property
    def by(self) -> str:
        """Return who gave it."""
        pod = f"pod {self.pod or 'unknown'}"
        return f"{pod}, prefilled by {self.prefill}" if self.prefill else pod


def chat(
    url: str, model: str, text: str, *, stream: bool = False, host: str = "", headers: Headers = ()
) -> Answer:
    """Return one answer of `model` at `url`, plain or streamed.

    Raises SandboxProblem with any other response.
    """
    said, body = _request(
        f"{url}/v1/chat/completions", host=host, headers=headers, body=question(model, text, stream=stream)
    )
    pod, prefill = said.get(POD, ""), said.get(PREFILL_POD, "")
    try:
        if not stream:
            return Answer(*content(json.loads(body)), pod, prefill)
        lines = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
        if not lines or lines[-1] != "[DONE]":
            raise SandboxProblem(f"{url}: the stream ended early, after {len(lines)} events. Ask again.")
        events: list[Any] = [json.loads(line) for line in lines[:-1]]
        choices = [choice for event in events for choice in event["choices"]]
        pieces = [choice["delta"].get("content") or "" for choice in choices]
        return Answer("".join(pieces), events[0]["model"], pod, prefill)
    except (ValueError, LookupError, TypeError) as error:
        raise SandboxProblem(f"the answer of {url} is no completion: {body[:300]}") from error


def model_of(url: str, *, host: str = "", headers: Headers = ()) -> str:
    """Return the first model that the service lists. Raises SandboxProblem."""
    _, body = _request(f"{url}/v1/models", host=host, headers=headers)
    try:
        return str(json.loads(body)["data"][0]["id"])
    except (ValueError, LookupError, TypeError) as error:
        raise SandboxProblem(f"{url}/v1/models names no model: {body[:300]}") from error


def curl(url: str, body: dict[str, Any], *, host: str = "", headers: Headers = ()) -> str:
    """Return the curl command that sends the same request."""
    command = ["curl", "-sN" if body.get("stream") else "-s", f"{url}/v1/chat/completions"]
    if urllib.request.getproxies():
        command += ["--noproxy", "*"]
    if host:
        command += ["-H", f"host: {host}"]
    for name, value in headers:
        command += ["-H", f"{name}: {value}"]
    command += ["-H", "content-type: application/json", "-d", json.dumps(body, ensure_ascii=False)]
    return shlex.join(command)


def _request(
    url: str, *, host: str, headers: Headers, body: dict[str, Any] | None = None
) -> tuple[http.client.HTTPMessage, str]:
    request = urllib.request.Request(url, headers={"content-type": "application/json", **dict(headers)})
    if host:
        request.add_header("host", host)
    if body is not None:
        request.data = json.dumps(body).encode()
    try:
        with _open(request, timeout=TIMEOUT_SECONDS) as response:
            return response.headers, response.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        message = error.read().decode(errors="replace").strip()[:500]
        if reason := error.headers.get(REASON):
            message = f"{message} (the gateway: {reason})"
        raise SandboxProblem(
            f"{url} answered {error.code} {error.reason}: {message}\n{_next_step(error.code)}"
        ) from error
    except (OSError, http.client.HTTPException) as error:
        cause = getattr(error, "reason", None) or error
        raise SandboxProblem(
            f"{url} does not answer: {cause}. `inferfleet sandbox status` says whether its gateway runs."
        ) from error


def _next_step(code: int) -> str:
    if code == 404:
        return (
            "Either no route has this path, or the pods behind the service serve models of different names. "
            "Give those one name, for example with --served-model-name."
        )
    return "`inferfleet status` says which pods, pickers and routes are not ready."
