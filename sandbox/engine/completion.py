"""Reads a completion request as the engine does, and decides the answer: which pod received how much."""

import itertools
import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.engine.settings import Settings

_number = itertools.count()
_RUN = uuid.uuid4().hex[:16]
# What routing sidecars add to requests.
_TRANSFER: dict[str, tuple[tuple[type, ...], str]] = {
    "kv_transfer_params": ((dict,), "dictionary"),
    "bootstrap_host": ((str,), "string"),
    "bootstrap_port": ((int,), "integer"),
    "bootstrap_room": ((int,), "integer"),
    "cache_hit_threshold": ((int, float), "number"),
}


class BadRequest(ValueError):  # noqa: N818 (the client reads its text)
    """A request that the engine refuses. `code` is the HTTP status."""

    def __init__(
        self, message: str, *, code: int = 400, kind: str = "BadRequestError", param: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


@dataclass(frozen=True)
class Completion:
    """A valid request and its whole answer. Each of its `words` counts as one token.

    `transfer` has the fields of the request that say where its prompt is computed.
    """

    id: str
    created: int
    model: str
    chat: bool
    stream: bool
    stream_usage: bool
    prompt_tokens: int
    words: tuple[str, ...]
    finish: str
    prompt: str = ""
    transfer: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """The tokens that the request holds in the cache when it is complete."""
        return self.prompt_tokens + len(self.words)


def completion(
    body: bytes, *, chat: bool, pod: str, settings: Settings, prefill: str | None = None
) -> Completion:
    """Return the completion for a request's body. `prefill` is another pod that computed the prompt.

    Raises BadRequest where the engine refuses it.
    """
    try:
        request: Any = json.loads(body)
    except json.JSONDecodeError as error:
        place, why = f"body.{error.pos}", error.msg.partition(":")[0]
        raise _invalid("json_invalid", place, "JSON decode error", {}, ctx={"error": why}) from error
    if not isinstance(request, dict):
        raise BadRequest("The request is no JSON object")
    model = request.get("model") or settings.names[0]
    if model not in settings.names and not settings.any_model:
        known = ", ".join(name for name in settings.names if name not in settings.adapters)
        raise BadRequest(
            f"The model `{model}` does not exist. Valid aliases: {known}.",
            code=404,
            kind="NotFoundError",
            param="model",
        )
    prompt = _chat_prompt(request) if chat else _prompt(request)
    prompt_tokens = max(1, len(prompt.split()))
    limit = _limit(request, prompt_tokens, settings)
    who = f"{pod}, prefilled by {prefill}" if prefill else pod
    echo = f"{model} on {who}: you said {prompt_tokens} tokens, {_short(prompt)!r}".split()
    # Load tests request an exact length with ignore_eos.
    exact = request.get("ignore_eos") and limit
    words = list(itertools.islice(itertools.cycle(echo), limit)) if exact else echo
    cut = limit is not None and len(words) >= limit
    words = words[:limit]
    options = request.get("stream_options")
    return Completion(
        id=f"{'chatcmpl' if chat else 'cmpl'}-{_RUN}{next(_number)}",
        created=int(time.time()),
        model=str(model),
        chat=chat,
        stream=bool(request.get("stream")),
        stream_usage=isinstance(options, dict) and bool(options.get("include_usage")),
        prompt_tokens=prompt_tokens,
        words=tuple(word if i == 0 else f" {word}" for i, word in enumerate(words)),
        finish="length" if cut else "stop",
        prompt=prompt,
        transfer=_transfer(request),
    )


def _invalid(kind: str, place: str, message: str, found: dict[str, Any], **more: Any) -> BadRequest:
    """Return the refusal of a body in the words of FastAPI, as vLLM repeats them."""
    error = {"type": kind, "loc": place, "msg": message, "input": f"<dict of {len(found)} items>", **more}
    return BadRequest(f"1 validation error:\n  {error}", kind="Bad Request", param=place)


def _transfer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are given. Raises BadRequest for one of another type."""
    for name, (types, what) in _TRANSFER.items():
        if request.get(name) is not None and not isinstance(request[name], types):
            raise BadRequest(f"{name}: Input should be a valid {what}, got {request[name]!r}")
    return {name: request[name] for name in _TRANSFER if request.get(name) is not None}


def _limit(request: dict[str, Any], prompt_tokens: int, settings: Settings) -> int | None:
    limit = request.get("max_completion_tokens", request.get("max_tokens"))
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise BadRequest(
            f"max_tokens must be at least 1, got {limit}. (parameter=max_tokens, value={limit})",
            param="max_tokens",
        )
    length = settings.max_length
    if limit is not None and length is not None and limit > length:
        raise BadRequest(
            f"max_tokens={limit} cannot be greater than max_model_len={length}. Please request fewer output "
            f"tokens. (parameter=max_tokens, value={limit})",
            param="max_tokens",
        )
    if length is not None and prompt_tokens + 1 > length:
        raise BadRequest(
            f"This model's maximum context length is {length} tokens. However, your prompt contains at "
            f"least {length + 1} input tokens, which exceeds this limit even without any output tokens. "
            f"Please reduce the length of the input prompt. (parameter=input_tokens, value={length + 1})",
            param="input_tokens",
        )
    # More than fits is cut.
    return limit if limit is None or length is None else min(limit, length - prompt_tokens)


def _chat_prompt(request: dict[str, Any]) -> str:
    messages = request.get("messages")
    if messages is None:
        raise _invalid("missing", "body.messages", "Field required", request)
    if not isinstance(messages, list) or not messages or not all(isinstance(item, dict) for item in messages):
        raise BadRequest("messages: a list of at least one {role, content} is required")
    return "\n".join(_content(message.get("content")) for message in messages)


def _content(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _prompt(request: dict[str, Any]) -> str:
    prompt = request.get("prompt")
    if isinstance(prompt, list):
        return " ".join(str(part) for part in prompt)
    if not isinstance(prompt, str):
        raise BadRequest("prompt: a text is required")
    return prompt


def _short(text: str) -> str:
    last = text.strip().rpartition("\n")[2]
    return last if len(last) <= 80 else last[:79] + "…"
