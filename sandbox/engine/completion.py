"""Reads a completion request as the engine does, and decides what is answered: who heard how much."""

import itertools
import json
import time
import uuid
from dataclasses import dataclass
from typing import Any

from sandbox.engine.settings import Settings

_number = itertools.count()
_RUN = uuid.uuid4().hex[:16]


class BadRequest(ValueError):  # noqa: N818 (it is told to the client)
    """A request that the engine refuses. `code` is the HTTP status."""

    def __init__(self, message: str, *, code: int = 400, kind: str = "BadRequestError") -> None:
        super().__init__(message)
        self.code = code
        self.body = {"error": {"message": message, "type": kind, "param": None, "code": code}}


@dataclass(frozen=True)
class Completion:
    """A request that was understood, and its whole answer: `words` are its tokens."""

    id: str
    created: int
    model: str
    chat: bool
    stream: bool
    stream_usage: bool
    prompt_tokens: int
    words: tuple[str, ...]
    finish: str

    @property
    def tokens(self) -> int:
        """What it holds in the cache when it is complete."""
        return self.prompt_tokens + len(self.words)


def completion(body: bytes, *, chat: bool, pod: str, settings: Settings) -> Completion:
    """Raises BadRequest where the engine does."""
    try:
        asked: Any = json.loads(body)
    except ValueError as error:
        raise BadRequest(f"Invalid JSON: {error}") from error
    if not isinstance(asked, dict):
        raise BadRequest("The request is no JSON object")
    model = asked.get("model") or settings.names[0]
    if model not in settings.names and not settings.any_model:
        raise BadRequest(f"The model `{model}` does not exist.", code=404, kind="NotFoundError")
    prompt = _chat_prompt(asked) if chat else _prompt(asked)
    prompt_tokens = max(1, len(prompt.split()))
    limit = _limit(asked, prompt_tokens, settings)
    told = f"{model} on {pod}: you said {prompt_tokens} tokens, {_short(prompt)!r}".split()
    # Load tests ask for an exact length by ignore_eos.
    words = (
        list(itertools.islice(itertools.cycle(told), limit)) if asked.get("ignore_eos") and limit else told
    )
    cut = limit is not None and len(words) >= limit
    words = words[:limit]
    options = asked.get("stream_options")
    return Completion(
        id=f"{'chatcmpl' if chat else 'cmpl'}-{_RUN}{next(_number)}",
        created=int(time.time()),
        model=str(model),
        chat=chat,
        stream=bool(asked.get("stream")),
        stream_usage=isinstance(options, dict) and bool(options.get("include_usage")),
        prompt_tokens=prompt_tokens,
        words=tuple(word if i == 0 else f" {word}" for i, word in enumerate(words)),
        finish="length" if cut else "stop",
    )


def _limit(asked: dict[str, Any], prompt_tokens: int, settings: Settings) -> int | None:
    limit = asked.get("max_completion_tokens", asked.get("max_tokens"))
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise BadRequest(f"max_tokens must be at least 1, got {limit}.")
    length = settings.max_length
    if length is not None and prompt_tokens + (limit or 1) > length:
        raise BadRequest(
            f"This model's maximum context length is {length} tokens. However, you requested {limit or 1} "
            f"output tokens and your prompt contains {prompt_tokens} input tokens. Please reduce one of them."
        )
    return limit


def _chat_prompt(asked: dict[str, Any]) -> str:
    messages = asked.get("messages")
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages) or not messages:
        raise BadRequest("messages: a list of at least one {role, content} is required")
    return "\n".join(_content(one.get("content")) for one in messages)


def _content(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _prompt(asked: dict[str, Any]) -> str:
    prompt = asked.get("prompt")
    if isinstance(prompt, list):
        return " ".join(str(part) for part in prompt)
    if not isinstance(prompt, str):
        raise BadRequest("prompt: a text is required")
    return prompt


def _short(text: str) -> str:
    last = text.strip().rpartition("\n")[2]
    return last if len(last) <= 80 else last[:79] + "…"
