"""Objects are followed from a list on by watches, so that nothing between two looks is missed."""

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest

from inferfleet.clusters.connections.api import Api, NoAnswerError


def _pod(version: int, name: str = "kimi-0") -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


class _Client:
    """An API server's answers to a list and to the watches after it, and the versions that these named."""

    def __init__(self, *watches: bytes) -> None:
        self.watches = list(watches)
        self.since: list[str] = []

    def call_api(self, path: str, method: str, *, query_params: Any, **_: Any) -> Any:
        query = dict(query_params)
        if "watch" not in query:
            return {"metadata": {"resourceVersion": "7"}, "items": [_pod(3)]}
        self.since.append(query["resourceVersion"])
        return SimpleNamespace(data=self.watches.pop(0))


def _follow(client: Any) -> list[Any]:
    return list(Api(client, "east", time.monotonic() + 300).follow("/api/v1/pods", query={}, seconds=2))


def _lines(*events: tuple[str, dict[str, Any]]) -> bytes:
    return b"".join(json.dumps({"type": kind, "object": made}).encode() + b"\n" for kind, made in events)


def test_every_state_since_the_list_is_seen_until_the_server_has_forgotten_it() -> None:
    ended = _lines(("MODIFIED", _pod(8)), ("DELETED", _pod(9)), ("ADDED", _pod(10)))
    gone = _lines(("ERROR", {"kind": "Status", "code": 410}))
    client = _Client(ended, b"", gone)
    assert _follow(client) == [
        (("ADDED", _pod(3)),),
        (("MODIFIED", _pod(8)), ("DELETED", _pod(9)), ("ADDED", _pod(10))),
        (),
        (),
    ]
    assert client.since == ["7", "10", "10"]


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'{"type": "ADDED"}'])
def test_an_answer_that_is_no_watch_is_told(answer: bytes) -> None:
    with pytest.raises(NoAnswerError, match="what answers there is not a Kubernetes API server"):
        _follow(_Client(answer))
