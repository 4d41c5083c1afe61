"""What a question looks like, and what an answer means, in the form of OpenAI's API that engines share."""

import json
from dataclasses import dataclass
from typing import Any

from inferfleet.clusters.chat.targets import Target
from inferfleet.clusters.connections.api import Answered
from inferfleet.documents.problems import Problem
from inferfleet.documents.wording import shown

MODELS, COMPLETIONS = "/v1/models", "/v1/chat/completions"
TEXT = "Say hello in one short sentence."
# Characters of what somebody else says, in a message.
_WORDS = 300
_LOOK = "`inferfleet status` says which pods, pickers and routes are not ready"


@dataclass(frozen=True)
class Reply:
    """An answer: its text, the model that it names, and who gave it, in words."""

    text: str
    model: str
    by: str


class NotAnsweredError(Exception):
    """There is no answer; `problem` says why, and what to do."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


def question(model: str, text: str, *, stream: bool = False) -> dict[str, Any]:
    """Return the body of a chat request."""
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": text}]}
    return body | ({"stream": True} if stream else {})


def content(completion: Any) -> tuple[str, str]:
    """Return text and model of an answer that is not streamed. Raises ValueError, LookupError or TypeError.

    Where a model has thought and said nothing yet, the text is what it thought.
    """
    message = completion["choices"][0]["message"]
    return str(message["content"] or message.get("reasoning_content") or ""), str(completion["model"])


def first_model(answered: Answered, target: Target, way: str) -> str:
    """Return the first model of a list of models. Raises NotAnsweredError."""
    return str(_read(answered, target, way, "names no model", lambda body: body["data"][0]["id"]))


def reply(answered: Answered, target: Target, way: str) -> Reply:
    """Return the answer to a question. Raises NotAnsweredError."""
    text, model = _read(answered, target, way, "is no completion", content)
    return Reply(text, model, way)


def _read(answered: Answered, target: Target, way: str, otherwise: str, read: Any) -> Any:
    if answered.status != 200:
        raise NotAnsweredError(_refused(answered, target, way))
    try:
        return read(json.loads(answered.text))
    except (ValueError, LookupError, TypeError):
        what = f"what {way} answers for {target} {otherwise}: {shown(answered.text, _WORDS)}"
        step = "See what listens there, with its log"
        raise NotAnsweredError(Problem(what, step)) from None


def _refused(answered: Answered, target: Target, way: str) -> Problem:
    body = _json(answered.text)
    # Engines answer in the form of OpenAI's API, API servers with a Status, gateways in plain text.
    error = body.get("error", body)
    said = error if isinstance(error, str) else error.get("message") if isinstance(error, dict) else ""
    words = shown(" ".join(str(said or answered.text).split()), _WORDS).rstrip(".")
    what = f"{way} answers {answered.status} for {target}{f': {words}' if words else ''}"
    if (body.get("kind"), body.get("apiVersion")) == ("Status", "v1"):
        return Problem(what, _by_api_server(answered.status, target))
    return Problem(what, _step(answered.status, way, by_engine=bool(body)))


def _by_api_server(status: int, target: Target) -> str:
    if status == 403:
        return (
            "Have an administrator allow `get` and `create` of pods/proxy and services/proxy in namespace "
            f"{target.namespace} (in Google Cloud roles/container.admin has both)"
        )
    return (
        "See whether a network policy or firewall keeps the API server from pods (`networkPolicy` in the "
        "cluster's document does), and ask its gateway from where it is reached: --via gateway"
    )


def _step(status: int, way: str, *, by_engine: bool) -> str:
    if status in (401, 403):
        return (
            "Where engines want a key, ask with it in INFERFLEET_API_KEY and --via gateway (the API server "
            "hands none on)"
        )
    if status == 404 and by_engine:
        return "Name a model that the engine serves: --model"
    if status == 404 and way.startswith("the gateway at"):
        return (
            "No route of the gateway has this path; or, where the address is private, something else of this "
            "network has it: --via api-server"
        )
    return _LOOK


def _json(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
