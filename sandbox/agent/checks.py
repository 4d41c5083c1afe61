"""One attempt of a probe: an HTTP request, a TCP connection, or a call of the gRPC health protocol."""

import asyncio
from typing import Any

import aiohttp
import grpc
import grpc.aio

from sandbox.agent.probes import timeout_of
from sandbox.cluster.objects import Object

# https://github.com/grpc/grpc/blob/master/doc/health-checking.md
_HEALTH = "/grpc.health.v1.Health/Check"
_SERVING = 1
_STATUS = {0: "UNKNOWN", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}


class Checks:
    """The checks of one container at its pod's address."""

    def __init__(self, address: str, container: Object, session: aiohttp.ClientSession) -> None:
        self._address = address
        self._ports = {
            port["name"]: port["containerPort"] for port in container.get("ports", []) if "name" in port
        }
        self._session = session

    async def __call__(self, probe: dict[str, Any]) -> str:
        """Try the probe once. Return why it failed, or ""."""
        seconds = timeout_of(probe)
        try:
            return await asyncio.wait_for(self._try(probe), seconds)
        except TimeoutError:
            return f"no answer within {seconds} s"
        except (OSError, aiohttp.ClientError) as error:
            return str(error) or type(error).__name__

    async def _try(self, probe: dict[str, Any]) -> str:
        if "httpGet" in probe:
            return await self._http(probe["httpGet"])
        if "grpc" in probe:
            return await self._grpc(probe["grpc"])
        if "tcpSocket" in probe:
            return await self._tcp(probe["tcpSocket"])
        return ""  # exec: there is no container to run it in

    async def _http(self, get: dict[str, Any]) -> str:
        port, path = self._port(get["port"]), get.get("path", "/")
        if port is None:
            return f"no port is named {get['port']!r}"
        scheme = get.get("scheme", "HTTP").lower()
        url = f"{scheme}://{get.get('host') or self._address}:{port}{path}"
        headers = {header["name"]: header["value"] for header in get.get("httpHeaders", [])}
        async with self._session.get(url, headers=headers, ssl=False, allow_redirects=False) as answer:
            if 200 <= answer.status < 400:
                return ""
            text = (await answer.text())[:200].strip()
        return f"HTTP status {answer.status}{f': {text}' if text else ''}"

    async def _tcp(self, socket: dict[str, Any]) -> str:
        port = self._port(socket["port"])
        if port is None:
            return f"no port is named {socket['port']!r}"
        _, writer = await asyncio.open_connection(socket.get("host") or self._address, port)
        writer.close()
        return ""

    async def _grpc(self, health: dict[str, Any]) -> str:
        service = health.get("service", "").encode()
        request = b"\x0a" + bytes([len(service)]) + service if service else b""
        async with grpc.aio.insecure_channel(f"{self._address}:{health['port']}") as channel:
            call = channel.unary_unary(_HEALTH)
            try:
                answer: bytes = await call(request)
            except grpc.aio.AioRpcError as error:
                return f"{error.code().name}: {error.details()}"
        status = answer[1] if len(answer) > 1 else 0
        return "" if status == _SERVING else f"it answers {_STATUS.get(status, status)}"

    def _port(self, port: int | str) -> int | None:
        return port if isinstance(port, int) else self._ports.get(port)
