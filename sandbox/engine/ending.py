"""How an engine ends at SIGTERM: what becomes of the requests that it has in hand, and of new ones.

vLLM 0.32.0 was asked in 16 runs, with two streams and a plain request open. Without `--shutdown-timeout`
its server lived on in 8 of them, and the requests hung until something killed it; in 6 they ended with HTTP
200, what they had and `finish_reason: "abort"`, and in 2 with HTTP 500. With it, requests that fit ended, and
those that did not hung in two of three runs and got 500 in the other. Which of these a pod does follows from
its name, or from an annotation. The 3 to 13 s for which vLLM itself ends after that are left out.

SGLang waits for its last request (`sigterm_watchdog` in srt/managers/tokenizer_manager.py, 0.5.23),
TensorRT-LLM as uvicorn does, and Triton for the seconds of `--exit-timeout-secs` (`HTTPServer::Stop` in
src/http_server.cc, e1db8a60).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sandbox.engine.command.shell import Signalled

_TRUE = ("1", "true")
_TRITON_SECONDS = 30

# What becomes of requests that are left: they hang, end early, end with an error, or are cut off.
Left = Literal["hang", "abort", "error", "cut"]
LEFT: tuple[Left, ...] = ("hang", "abort", "error")
# As often as it was seen.
_AT_ONCE: tuple[Left, ...] = (*(("hang",) * 8), *(("abort",) * 6), *(("error",) * 2))
_LATE: tuple[Left, ...] = ("hang", "hang", "error")


@dataclass(frozen=True)
class Ending:
    """What happens from SIGTERM on.

    Requests in hand have `seconds`, None for as long as their pod has, and then what `left` says becomes of
    them. If it `listens`, new requests get HTTP 500 meanwhile; otherwise they find no server. One that is
    `deaf` never hears of it: the shell that started it keeps it.
    """

    seconds: int | None = None
    left: Left = "cut"
    listens: bool = False
    deaf: bool = False


def ending_of(
    engine: str,
    *,
    pod: str,
    seconds: int | None,
    env: Mapping[str, str],
    signalled: Signalled,
    wanted: Left | None,
) -> tuple[Ending, tuple[str, ...]]:
    """Return how the engine of a pod ends, and lines for its log.

    `seconds` are those of its flag, and `wanted` is what an annotation says of requests that are left.
    """
    if signalled == "unheard":
        return Ending(deaf=True), ("WARNING a shell keeps SIGTERM: the engine never hears that its pod ends",)
    if signalled == "cut":
        return Ending(0), ("WARNING the script ends behind its trap: SIGTERM ends the engine at once",)
    if engine == "vllm":
        left = wanted or _by_name(pod, _LATE if seconds else _AT_ONCE)
        return Ending(seconds or 0, left, listens=bool(seconds)), ()
    if engine.startswith("triton"):
        return Ending(_TRITON_SECONDS if seconds is None else seconds), ()
    if engine == "sglang" and env.get("SGL_FORCE_SHUTDOWN", "").lower() in _TRUE:
        return Ending(0), ()
    return Ending(), ()


def _by_name(pod: str, kinds: tuple[Left, ...]) -> Left:
    """Return one of the kinds, always the same for a pod."""
    return kinds[int(hashlib.sha256(pod.encode()).hexdigest(), 16) % len(kinds)]
