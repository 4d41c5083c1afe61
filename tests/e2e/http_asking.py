"""Plain requests with headers, whose answers are JSON or text."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

_open = build_opener(ProxyHandler({})).open


def request(url: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
    """Send a body as JSON, or ask without one. Return the status (0 for no answer) and the answer."""
    data = None if body is None else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **headers}
    try:
        with _open(Request(url, data, sent), timeout=60) as answer:
            return answer.status, _read(answer.read())
    except HTTPError as error:
        return error.code, _read(error.read())
    except OSError:
        return 0, ""


def _read(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")
