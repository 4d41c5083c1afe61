"""A Kubernetes API for an event loop: requests, and copies of objects that follow what happens to them.

The Kubernetes client library would need a thread for every watch.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp

from sandbox.cluster.objects import Object, key

MERGE = "application/merge-patch+json"
# Between attempts to reach a server that does not answer.
RETRY_SECONDS = 0.5


class ApiError(Exception):
    """What the API server answered instead of the object; `status` is HTTP's, 404 for "not there"."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Api:
    """The API server at `server`, as the administrator whose certificate lies in `pki`.

    `async with Api(cluster.server, cluster.folder / "pki") as api:`. What cannot be reached raises OSError or
    aiohttp.ClientError (see UNREACHABLE).
    """

    def __init__(self, server: str, pki: Path) -> None:
        self.server = server
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(ssl=self._tls, limit=0)
        self._session = aiohttp.ClientSession(self.server, connector=connector)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def call(
        self, method: str, path: str, *, body: Any = None, content_type: str = "application/json"
    ) -> Object:
        """The server's answer to one request, within 30 s."""
        content = None if body is None else json.dumps(body)
        headers = {"Content-Type": content_type} if content else {}
        limit = aiohttp.ClientTimeout(total=30)
        async with self._session.request(method, path, data=content, headers=headers, timeout=limit) as got:
            answer: Object = await got.json(content_type=None)
            if got.status >= 400:
                raise ApiError(got.status, str(answer.get("message", got.reason)))
            return answer

    async def patch(self, path: str, body: Object) -> Object:
        """Merges `body` into the object at `path` (add `/status` for its status); lists are replaced."""
        return await self.call("PATCH", path, body=body, content_type=MERGE)

    async def events(self, path: str, query: dict[str, str]) -> AsyncIterator[Object]:
        """The lines of a watch, until the server ends it."""
        url = f"{path}?{urlencode({**query, 'watch': 'true', 'allowWatchBookmarks': 'true'})}"
        limit = aiohttp.ClientTimeout(total=None, sock_connect=30)
        async with self._session.get(url, timeout=limit) as got:
            if got.status >= 400:
                raise ApiError(got.status, await got.text())
            # Not by readline: an object may be longer than aiohttp lets a line be.
            rest = b""
            async for chunk in got.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield json.loads(line)


UNREACHABLE = (OSError, aiohttp.ClientError, asyncio.TimeoutError, json.JSONDecodeError)


@dataclass
class Copies:
    """The objects of one collection, by key(); follow() keeps them current."""

    path: str  # /api/v1/pods, /apis/gateway.networking.k8s.io/v1/httproutes
    query: dict[str, str] = field(default_factory=dict)  # {"fieldSelector": ..., "labelSelector": ...}
    objects: dict[str, Object] = field(default_factory=dict)
    complete: bool = False  # True once the first listing is in


async def follow(api: Api, copies: Copies, changed: Callable[[str], None]) -> None:
    """Keeps the copies current for ever; calls `changed` with the key of each object that changed or went.

    After the first listing `changed("")` is called once too, also when nothing is there. A server that does
    not answer is asked again and again; what was missed meanwhile is told as changes.
    """
    while True:
        try:
            version = await _list(api, copies, changed)
            while version:
                version = await _watch(api, copies, changed, version)
        except UNREACHABLE:
            pass
        except ApiError as error:
            # 404: a custom resource that is not defined (yet). 5xx, 429: a server that starts or is busy.
            if error.status not in (404, 410, 429) and error.status < 500:
                raise
        await asyncio.sleep(RETRY_SECONDS)


async def _list(api: Api, copies: Copies, changed: Callable[[str], None]) -> str:
    listing = await api.call("GET", f"{copies.path}?{urlencode(copies.query)}")
    found = {key(one): one for one in listing["items"]}
    before = copies.objects.copy()
    copies.objects.clear()
    copies.objects.update(found)
    first, copies.complete = not copies.complete, True
    for name in before.keys() | found.keys():
        if before.get(name) != found.get(name):
            changed(name)
    if first:
        changed("")
    version: str = listing["metadata"]["resourceVersion"]
    return version


async def _watch(api: Api, copies: Copies, changed: Callable[[str], None], version: str) -> str:
    """The version up to which events came when the server ended the watch; "" when it must be listed anew."""
    async for event in api.events(copies.path, {**copies.query, "resourceVersion": version}):
        what, one = event["type"], event["object"]
        if what == "ERROR":
            return ""
        version = one["metadata"]["resourceVersion"]
        if what == "BOOKMARK":
            continue
        if what == "DELETED":
            copies.objects.pop(key(one), None)
        else:
            copies.objects[key(one)] = one
        changed(key(one))
    return version
