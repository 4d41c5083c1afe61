"""Reads the annotations that make a pod's stand-in slow to start, slow to answer, or fail."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from inferfleet.documents.quantity import parse_duration
from sandbox.engine.ending import LEFT, Left
from sandbox.engine.failure import EngineFailure

PREFIX = "sandbox.inferfleet.dev/"
SLOTS = 16
TOKENS_PER_SECOND = 100.0
# The speed of prompts: one of 1000 tokens takes a tenth of a second.
PREFILL_TOKENS_PER_SECOND = 10_000.0


@dataclass(frozen=True)
class Steering:
    """How a stand-in behaves. `startup` and `fail_after` are seconds, and `fail_after` None means never.

    `slots` None means what the engine's arguments say, and `end` None what its pod's name says.
    """

    startup: float = 0
    fail_after: float | None = None
    fail_message: str = ""
    slots: int | None = None
    tokens_per_second: float = TOKENS_PER_SECOND
    prefill_per_second: float = PREFILL_TOKENS_PER_SECOND
    end: Left | None = None


def steering(annotations: Mapping[str, str]) -> Steering:
    """Return what the annotations ask for.

    Raises EngineFailure, naming the annotation: a silent default would mislead.
    """
    ours = {
        key.removeprefix(PREFIX): text.strip() for key, text in annotations.items() if key.startswith(PREFIX)
    }
    after, message = _fail(ours["fail"]) if "fail" in ours else (None, "")
    return Steering(
        startup=_seconds("startup", ours["startup"]) if "startup" in ours else 0,
        fail_after=after,
        fail_message=message,
        slots=_slots(ours["slots"]) if "slots" in ours else None,
        tokens_per_second=_speed(ours, "tokens-per-second", TOKENS_PER_SECOND),
        prefill_per_second=_speed(ours, "prefill-tokens-per-second", PREFILL_TOKENS_PER_SECOND),
        end=_end(ours["end"]) if "end" in ours else None,
    )


def _fail(text: str) -> tuple[float, str]:
    when, _, message = (part.strip() for part in text.partition(":"))
    message = message or f"ended because of annotation {PREFIX}fail: {text}"
    if when == "at start":
        return 0, message
    match = re.fullmatch(r"after\s+(\S+)", when)
    if not match:
        raise EngineFailure(
            f'annotation {PREFIX}fail is {text!r}. Write "at start: message" or "after 10s: message".'
        )
    return _seconds("fail", match[1]), message


def _end(text: str) -> Left:
    for left in LEFT:
        if left == text:
            return left
    raise EngineFailure(
        f"annotation {PREFIX}end is {text!r}. Write what becomes of the requests that vLLM has in hand at "
        f"SIGTERM: {', '.join(LEFT)}."
    )


def _seconds(name: str, text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise EngineFailure(f"annotation {PREFIX}{name}: {error}. Write a time such as 40s or 2m.") from error


def _slots(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise EngineFailure(
            f"annotation {PREFIX}slots is {text!r}. Write how many requests run at once, such as 4."
        )
    return int(text)


def _speed(ours: Mapping[str, str], name: str, default: float) -> float:
    if name not in ours:
        return default
    text = ours[name]
    try:
        speed = float(text)
    except ValueError:
        speed = 0
    if not (math.isfinite(speed) and speed > 0):
        raise EngineFailure(
            f"annotation {PREFIX}{name} is {text!r}. Write the speed of one request, such as 200."
        )
    return speed
