"""Copies of objects follow a server that lists, watches, forgets versions and goes away."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sandbox.cluster import watching
from sandbox.cluster.objects import Object
from sandbox.cluster.watching import Api, ApiError, Copies, follow


def pod(name: str, version: int, **more: Any) -> Object:
    return {"metadata": {"namespace": "ml", "name": name, "resourceVersion": str(version)}, **more}


def listing(version: int, *items: Object) -> Object:
    return {"metadata": {"resourceVersion": str(version)}, "items": list(items)}


class Script(Api):
    """A server that answers listings and watches from a list, and then says nothing for ever."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def call(
        self, method: str, path: str, *, body: Any = None, content_type: str = "application/json"
    ) -> Object:
        self.asked.append(path)
        answer: Object = await self._next()
        return answer

    async def events(self, path: str, query: dict[str, str]) -> AsyncIterator[Object]:
        self.asked.append(f"watch {query['resourceVersion']}")
        for event in await self._next():
            yield event

    async def _next(self) -> Any:
        if not self.answers:
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def followed(*answers: Any) -> tuple[Copies, list[str], list[str]]:
    """The copies, the keys told as changed and what was asked, once the script is at its end."""
    copies = Copies("/api/v1/pods", {"labelSelector": "a=b"})
    changed: list[str] = []
    script = Script(*answers)

    async def run() -> None:
        task = asyncio.create_task(follow(script, copies, changed.append))
        while script.answers and not task.done():
            await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(run())
    return copies, changed, script.asked


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "RETRY_SECONDS", 0)


def test_events_change_the_copies_and_are_told_by_key() -> None:
    events = [
        {"type": "ADDED", "object": pod("b", 3)},
        {"type": "MODIFIED", "object": pod("a", 4, spec=1)},
        {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}},
        {"type": "DELETED", "object": pod("b", 10)},
    ]
    copies, changed, asked = followed(listing(2, pod("a", 1)), events)
    assert copies.objects == {"ml/a": pod("a", 4, spec=1)}
    assert changed == ["ml/a", "", "ml/b", "ml/a", "ml/b"]
    assert asked == ["/api/v1/pods?labelSelector=a%3Db", "watch 2", "watch 10"]


def test_an_empty_first_listing_is_told_too() -> None:
    copies, changed, _ = followed(listing(2))
    assert (copies.objects, copies.complete, changed) == ({}, True, [""])


def test_a_forgotten_version_means_a_new_listing_that_tells_what_was_missed() -> None:
    gone = [{"type": "ERROR", "object": {"code": 410}}]
    copies, changed, _ = followed(listing(2, pod("a", 1), pod("b", 1)), gone, listing(7, pod("b", 6)))
    assert copies.objects == {"ml/b": pod("b", 6)}
    assert changed[:3] in (["ml/a", "ml/b", ""], ["ml/b", "ml/a", ""])
    assert sorted(changed[3:]) == ["ml/a", "ml/b"]


@pytest.mark.parametrize("trouble", [OSError("refused"), ApiError(404, "no CRD"), ApiError(503, "starting")])
def test_a_server_that_does_not_answer_is_asked_again(trouble: Exception) -> None:
    copies, _, _ = followed(trouble, listing(2, pod("a", 1)), trouble, listing(3))
    assert copies.objects == {}


def test_a_refusal_is_not_asked_again() -> None:
    with pytest.raises(ApiError, match="forbidden"):
        followed(ApiError(403, "forbidden"), listing(2))
