"""An asyncio client of the Kubernetes API: requests, and copies of objects that a watch keeps current.

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
# Seconds between attempts to reach a server that does not answer.
RETRY_SECONDS = 0.5


class ApiError(Exception):
    """An error that the API server answered. `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Api:
    """A client of the API server at `server`, as the administrator whose certificate is in the folder `pki`.

    Used as `async with Api(cluster.server, cluster.folder / "pki") as api:`. A server that cannot be reached
    raises one of the exceptions in UNREACHABLE.
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
        """Return the server's answer to one request, within 30 s. Raises ApiError."""
        content = None if body is None else json.dumps(body)
        headers = {"Content-Type": content_type} if content else {}
        limit = aiohttp.ClientTimeout(total=30)
        async with self._session.request(
            method, path, data=content, headers=headers, timeout=limit
        ) as response:
            answer: Object = await response.json(content_type=None)
            if response.status >= 400:
                raise ApiError(response.status, str(answer.get("message", response.reason)))
            return answer

    async def patch(self, path: str, body: Object) -> Object:
        """Merge `body` into the object at `path` (with `/status` for its status). Lists are replaced."""
        return await self.call("PATCH", path, body=body, content_type=MERGE)

    async def events(self, path: str, query: dict[str, str]) -> AsyncIterator[Object]:
        """Yield the events of a watch until the server ends it."""
        url = f"{path}?{urlencode({**query, 'watch': 'true', 'allowWatchBookmarks': 'true'})}"
        limit = aiohttp.ClientTimeout(total=None, sock_connect=30)
        async with self._session.get(url, timeout=limit) as response:
            if response.status >= 400:
                raise ApiError(response.status, await response.text())
            # readline is of no use: an object may be longer than aiohttp allows a line to be.
            rest = b""
            async for chunk in response.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield json.loads(line)


UNREACHABLE = (OSError, aiohttp.ClientError, asyncio.TimeoutError, json.JSONDecodeError)


@dataclass
class Copies:
    """The objects of one collection by key(), which follow() keeps current."""

    path: str  # /api/v1/pods, /apis/gateway.networking.k8s.io/v1/httproutes
    query: dict[str, str] = field(default_factory=dict)  # {"fieldSelector": ..., "labelSelector": ...}
    objects: dict[str, Object] = field(default_factory=dict)
    complete: bool = False  # True once the first listing is in


async def follow(api: Api, copies: Copies, changed: Callable[[str], None]) -> None:
    """Keep the copies current, and call `changed` with the key of each changed or deleted object.

    It runs until it is cancelled. After the first listing `changed("")` is called once too, even when the
    collection is empty. A server that does not answer is asked again and again; what was missed meanwhile is
    reported as changes.
    """
    while True:
        try:
            version = await _list(api, copies, changed)
            while version:
                version = await _watch(api, copies, changed, version)
        except UNREACHABLE:
            pass
        except ApiError as error:
            # 404: the custom resource is not defined yet. 5xx and 429: the server is starting or busy.
            if error.status not in (404, 410, 429) and error.status < 500:
                raise
        await asyncio.sleep(RETRY_SECONDS)


async def _list(api: Api, copies: Copies, changed: Callable[[str], None]) -> str:
    listing = await api.call("GET", f"{copies.path}?{urlencode(copies.query)}")
    listed = {key(item): item for item in listing["items"]}
    before = copies.objects.copy()
    copies.objects.clear()
    copies.objects.update(listed)
    first, copies.complete = not copies.complete, True
    for name in before.keys() | listed.keys():
        if before.get(name) != listed.get(name):
            changed(name)
    if first:
        changed("")
    version: str = listing["metadata"]["resourceVersion"]
    return version


async def _watch(api: Api, copies: Copies, changed: Callable[[str], None], version: str) -> str:
    """Return the resource version at which the server ended the watch, or "" when a new listing is needed."""
    async for event in api.events(copies.path, {**copies.query, "resourceVersion": version}):
        event_type, watched = event["type"], event["object"]
        if event_type == "ERROR":
            return ""
        version = watched["metadata"]["resourceVersion"]
        if event_type == "BOOKMARK":
            continue
        if event_type == "DELETED":
            copies.objects.pop(key(watched), None)
        else:
            copies.objects[key(watched)] = watched
        changed(key(watched))
    return version
