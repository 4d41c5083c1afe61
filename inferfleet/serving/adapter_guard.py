"""What keeps everybody but the sidecar of its own pod from loading adapters into vLLM.

It runs as it stands here within vLLM's server (`--middleware`), and nothing of inferfleet imports it. Who may
load an adapter may load any weights, and vLLM asks nobody for a key where it serves models without one. Here
requests are refused as the server's router reads them, once their paths are decoded, so that no gateway and
no spelling matters. Neither does who sends: proxies in the pod pass on requests of others.
"""

import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

TOKEN, HEADER = "token", b"x-inferfleet-adapters"
# vLLM's own paths, and those that it has for SageMaker (vllm/entrypoints/serve/lora/api_router.py of 0.32).
_LOADING = ("lora_adapter", "/adapters")
_Message = MutableMapping[str, Any]


class Guard:
    """Refuses to load and unload adapters without the token that the sidecar wrote beside this file."""

    def __init__(self, app: Callable[..., Awaitable[None]], folder: Path | None = None) -> None:
        self._app = app
        self._folder = folder or Path(__file__).parent

    async def __call__(
        self,
        scope: _Message,
        receive: Callable[[], Awaitable[_Message]],
        send: Callable[[_Message], Awaitable[None]],
    ) -> None:
        """Answer a request, or pass it on."""
        path = str(scope.get("path", "")).lower()
        if not any(part in path for part in _LOADING) or self._allows(scope):
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        error = {"message": "Adapters are loaded from within the pod alone", "type": "Forbidden", "code": 403}
        body = json.dumps({"error": error}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 403, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _allows(self, scope: _Message) -> bool:
        try:
            token = (self._folder / TOKEN).read_bytes()
        except OSError:
            return False
        given = dict(scope.get("headers", ())).get(HEADER, b"")
        return bool(token) and hmac.compare_digest(token, given)
