"""The stand-in hub. A commit of a repository is the folder `<folder>/<owner>/<name>/<commit>`.

What it answers otherwise than a hub would, stands in `<folder>/faults.json`, which is read for each request.
Each request is a line of `<folder>/requests.log`.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import random
import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from aiohttp import web

from sandbox.hub import adapters

FAULTS, REQUESTS = "faults.json", "requests.log"
# Files from this size on are kept apart from Git on a hub, with another hash.
LARGE = 1 << 20
_CHUNK = 1 << 16
SHARDS, SHARD_SIZE = 3, 4 << 20


@dataclass(frozen=True)
class Faults:
    """What is wrong with a hub, by the paths of files where it is of files."""

    status: int = 0
    """Answered to every request, 0 for none."""
    rate: int = 0
    """Bytes per second of each file, 0 for as fast as it goes."""
    flipped: str = ""
    """The file that comes with one bit of its middle turned over."""
    cut: str = ""
    """The file of which half comes."""
    gone: str = ""
    """The file that the tree has, and nobody can fetch."""
    token: str = ""
    """The token without which everything is refused."""

    @classmethod
    def of(cls, folder: Path) -> "Faults":
        try:
            return cls(**json.loads((folder / FAULTS).read_text()))
        except FileNotFoundError:
            return cls()


class Hub:
    """Answers requests for the repositories of a folder, and for others of which it makes small ones up."""

    def __init__(self, folder: Path, *, invents: bool = False) -> None:
        self._folder = folder
        self._invents = invents

    def app(self) -> web.Application:
        """Return the application that answers."""
        app = web.Application(middlewares=[self._checked])
        app.router.add_get("/api/models/{owner}/{name}/tree/{commit}", self._tree)
        app.router.add_get("/api/models/{owner}/{name}/revision/{commit}", self._revision)
        app.router.add_get("/{owner}/{name}/resolve/{commit}/{path:.+}", self._file)
        return app

    @web.middleware
    async def _checked(self, request: web.Request, handler: Any) -> web.StreamResponse:
        with (self._folder / REQUESTS).open("a") as log:
            log.write(f"{request.method} {request.path}\n")
        faults = Faults.of(self._folder)
        if faults.status:
            raise _refused(faults.status)
        if faults.token and request.headers.get("Authorization") != f"Bearer {faults.token}":
            raise _refused(401)
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _tree(self, request: web.Request) -> web.Response:
        commit = self._commit(request)
        files = sorted(path for path in commit.rglob("*") if path.is_file())
        return web.json_response([_entry(file, str(file.relative_to(commit))) for file in files])

    async def _revision(self, request: web.Request) -> web.Response:
        commit = self._commit(request)
        return web.json_response({"id": "/".join(commit.parts[-3:-1]), "sha": commit.name})

    async def _file(self, request: web.Request) -> web.StreamResponse:
        commit, path, faults = self._commit(request), request.match_info["path"], Faults.of(self._folder)
        file = commit / path
        if not file.is_file() or path == faults.gone:
            raise _refused(404, "EntryNotFound")
        content = bytearray(file.read_bytes())
        if path == faults.flipped:
            content[len(content) // 2] ^= 1
        begin = request.http_range.start or 0
        headers = {
            "X-Repo-Commit": commit.name,
            "ETag": f'"{_hash(file)}"',
            "Accept-Ranges": "bytes",
            "Content-Length": str(len(content) - begin),
        }
        if begin:
            headers["Content-Range"] = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        response = web.StreamResponse(status=206 if begin else 200, headers=headers)
        await response.prepare(request)
        if request.method == "HEAD":
            return response
        end = len(content) // 2 if path == faults.cut else len(content)
        for start in range(begin, end, _CHUNK):
            chunk = bytes(content[start : min(start + _CHUNK, end)])
            try:
                await response.write(chunk)
            except ConnectionError:
                return response  # the client was killed
            if faults.rate:
                await asyncio.sleep(len(chunk) / faults.rate)
        if end < len(content) and request.transport:
            request.transport.close()
        return response

    def _commit(self, request: web.Request) -> Path:
        part = request.match_info
        repository = self._folder / part["owner"] / part["name"]
        if self._invents and not (repository / part["commit"]).is_dir():
            invent(repository / part["commit"])
        if not repository.is_dir():
            raise _refused(404, "RepoNotFound")
        if not (repository / part["commit"]).is_dir():
            raise _refused(404, "RevisionNotFound")
        return repository / part["commit"]


def invent(commit: Path) -> None:
    """Make up a commit of a repository: three shards that are the same each time, and what engines read. One
    with `lora` in its name is an adapter for the tiny model that vLLM serves here.
    """
    making = commit.with_name(f".{commit.name}.{os.getpid()}")
    making.mkdir(parents=True)
    if "lora" in commit.parent.name:
        adapters.write(making, seed=f"{commit.parent.name}@{commit.name}")
        _put(making, commit)
        return
    for number in range(1, SHARDS + 1):
        content = random.Random(f"{commit.name}{number}").randbytes(SHARD_SIZE)
        (making / f"model-{number:05}-of-{SHARDS:05}.safetensors").write_bytes(content)
    for name in ("config.json", "tokenizer.json"):
        (making / name).write_text("{}")
    (making / "pytorch_model.bin").write_bytes(b"")
    _put(making, commit)


def _put(making: Path, commit: Path) -> None:
    with contextlib.suppress(OSError):  # another cluster was first
        making.rename(commit)
    shutil.rmtree(making, ignore_errors=True)


async def serve_hub(folder: Path) -> str:
    """Serve the hub for as long as this process lives, on a free port of the loopback, and return its
    address.
    """
    folder.mkdir(parents=True, exist_ok=True)
    runner = web.AppRunner(Hub(folder, invents=True).app(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return f"http://127.0.0.1:{runner.addresses[0][1]}"


def _entry(file: Path, path: str) -> dict[str, Any]:
    size = file.stat().st_size
    entry = {"type": "file", "path": path, "size": size, "oid": _blob(file)}
    if size >= LARGE:
        entry["lfs"] = {"oid": _hash(file), "size": size, "pointerSize": 135}
    return entry


def _hash(file: Path) -> str:
    """Return the hash by which a hub tells a file: of a large one SHA-256, else Git's."""
    return _sha256(file) if file.stat().st_size >= LARGE else _blob(file)


@lru_cache(maxsize=1000)
def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@lru_cache(maxsize=1000)
def _blob(file: Path) -> str:
    content = file.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _refused(status: int, code: str = "") -> web.HTTPException:
    reasons = {401: web.HTTPUnauthorized, 403: web.HTTPForbidden, 404: web.HTTPNotFound}
    refusal = reasons.get(status, web.HTTPTooManyRequests if status == 429 else web.HTTPBadGateway)
    headers = {"X-Error-Code": code, "X-Error-Message": code} if code else {}
    refused: web.HTTPException = refusal(headers=headers)
    return refused
