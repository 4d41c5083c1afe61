"""The bodies of responses: a whole completion, or the events of a stream."""

import json
from typing import Any

from sandbox.engine.completion import Completion


def other(path: str, engine: str) -> dict[str, Any] | None:
    """Return the body of a response to a request for something else than text, None for one that an engine
    does not take.
    """
    if path == "/generate" and engine == "sglang":
        return {"text": "", "meta_info": {"finish_reason": {"type": "stop"}}}
    return _OTHERS.get(path.removeprefix("/v1"))


# By paths below /v1 and, of those that are not OpenAI's, also without it.
_OTHERS: dict[str, dict[str, Any]] = {
    "/audio/transcriptions": {"text": ""},
    "/embeddings": {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.0]}]},
    "/rerank": {"results": [{"index": 0, "relevance_score": 1.0}]},
    "/score": {"object": "list", "data": [{"object": "score", "index": 0, "score": 1.0}]},
}


def whole(answer: Completion) -> dict[str, Any]:
    """Return the body of a plain response."""
    text = "".join(answer.words)
    choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": answer.finish}
    choice |= {"message": {"role": "assistant", "content": text}} if answer.chat else {"text": text}
    kind = "chat.completion" if answer.chat else "text_completion"
    return _frame(answer, kind, [choice]) | {"usage": usage(answer)}


def usage(answer: Completion) -> dict[str, int]:
    """Return the token counts of a completion."""
    completed = len(answer.words)
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": completed,
        "total_tokens": answer.prompt_tokens + completed,
    }


def opening(answer: Completion) -> bytes:
    """Return the first event of a streamed chat, or nothing for a text completion."""
    delta = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
    return _event(_frame(answer, "chat.completion.chunk", [delta])) if answer.chat else b""


def piece(answer: Completion, text: str, *, last: bool) -> bytes:
    """Return one event of a stream, with a piece of the text."""
    choice: dict[str, Any] = {"index": 0, "finish_reason": answer.finish if last else None}
    choice |= {"delta": {"content": text}} if answer.chat else {"text": text}
    return _event(_frame(answer, "chat.completion.chunk" if answer.chat else "text_completion", [choice]))


def failure(message: str) -> dict[str, Any]:
    """Return the body of a response to a request that failed in the engine."""
    return {"error": {"message": message, "type": "InternalServerError", "param": None, "code": 500}}


def error(message: str) -> bytes:
    """Return the event that ends a stream whose engine failed."""
    return _event(failure(message))


def closing(answer: Completion) -> bytes:
    """Return the end of a stream, after the token counts if the client asked for them."""
    kind = "chat.completion.chunk" if answer.chat else "text_completion"
    counts = _event(_frame(answer, kind, []) | {"usage": usage(answer)}) if answer.stream_usage else b""
    return counts + b"data: [DONE]\n\n"


def _frame(answer: Completion, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": answer.id,
        "object": kind,
        "created": answer.created,
        "model": answer.model,
        "choices": choices,
    }


def _event(body: dict[str, Any]) -> bytes:
    return b"data: " + text(body) + b"\n\n"


def text(body: dict[str, Any]) -> bytes:
    """Return JSON without blanks, as engines write it."""
    return json.dumps(body, separators=(",", ":")).encode()
