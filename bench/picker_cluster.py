"""What an endpoint picker sees of a cluster, without one: an API server with a few objects, and engines."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml
from aiohttp import web

from inferfleet.fleet.names import LLM_D_ENGINE

NAMESPACE, POOL = "default", "pool"
_LABELS = {"app": "engine", LLM_D_ENGINE: "vllm"}
# What a picker asks a cluster for.
KINDS = {
    "v1": {"pods": "Pod"},
    "inference.networking.k8s.io/v1": {"inferencepools": "InferencePool"},
    "inference.networking.x-k8s.io/v1alpha2": {
        "inferenceobjectives": "InferenceObjective",
        "inferencemodelrewrites": "InferenceModelRewrite",
    },
}
# A watch begins with all objects, and this on the last event (KEP-3157).
_INITIAL_END = {"annotations": {"k8s.io/initial-events-end": "true"}}


@dataclass
class Engines:
    """Engines of which only metrics are asked: one server on an address of this machine's loopback each."""

    page: bytes
    pods: int
    port: int = 0
    scrapes: int = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve the page for the length of the block."""
        loop = asyncio.get_running_loop()
        servers: list[asyncio.Server] = []
        for number in range(1, self.pods + 1):
            servers.append(await loop.create_server(lambda: _Engine(self), address(number), self.port))
            self.port = servers[0].sockets[0].getsockname()[1]
        try:
            yield
        finally:
            for server in servers:
                server.close()


def address(number: int) -> str:
    """Return the address of a pod, counted from 1."""
    return f"127.9.0.{number}"


class _Engine(asyncio.Protocol):
    """One connection of a picker, which asks for nothing but metrics."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._transport: asyncio.WriteTransport | None = None
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {len(engines.page)}\r\n\r\n"
        self._answer = head.encode() + engines.page

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._transport and data.endswith(b"\r\n\r\n"):
            self._engines.scrapes += 1
            self._transport.write(self._answer)


def page(kibibytes: int) -> bytes:
    """Return metrics as vLLM names them: those that pickers read, and histograms up to this size."""
    labels = 'engine="0",model_name="model"'
    lines = [
        "# TYPE vllm:num_requests_running gauge",
        f"vllm:num_requests_running{{{labels}}} 1.0",
        "# TYPE vllm:num_requests_waiting gauge",
        f"vllm:num_requests_waiting{{{labels}}} 0.0",
        "# TYPE vllm:kv_cache_usage_perc gauge",
        f"vllm:kv_cache_usage_perc{{{labels}}} 0.25",
        "# TYPE vllm:cache_config_info gauge",
        'vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="40000"} 1.0',
    ]
    size, number = sum(map(len, lines)), 0
    while size < kibibytes * 1024:
        name = f"vllm:request_time_{number}_seconds"
        buckets = [f'{name}_bucket{{{labels},le="{bound}.0"}} 7.0' for bound in range(1, 20)]
        more = [f"# TYPE {name} histogram", *buckets, f'{name}_bucket{{{labels},le="+Inf"}} 7.0']
        more += [f"{name}_count{{{labels}}} 7.0", f"{name}_sum{{{labels}}} 3.5"]
        lines += more
        size, number = size + sum(map(len, more)), number + 1
    return ("\n".join(lines) + "\n").encode()


@dataclass
class Cluster:
    """An API server with one InferencePool and `pods` pods that are ready."""

    pods: int
    engine_port: int
    port: int = 0
    _listed: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _ends: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Answer for the length of the block."""
        self._listed = {"pods": [_pod(number) for number in range(1, self.pods + 1)]}
        self._listed["inferencepools"] = [_pool(self.engine_port)]
        application = web.Application()
        application.router.add_get("/{path:.*}", self._get)
        runner = web.AppRunner(application, shutdown_timeout=1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        try:
            yield
        finally:
            self._ends.set()
            await runner.cleanup()

    @property
    def kubeconfig(self) -> str:
        """A kubeconfig that leads here."""
        server = {"server": f"http://127.0.0.1:{self.port}"}
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "clusters": [{"name": "here", "cluster": server}],
                "contexts": [{"name": "here", "context": {"cluster": "here", "user": "nobody"}}],
                "users": [{"name": "nobody", "user": {}}],
            }
        )

    async def _get(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"].strip("/")
        version, _, plural = path.rpartition("/")
        version = version.removesuffix(f"/namespaces/{NAMESPACE}").removeprefix("apis/").removeprefix("api/")
        if (kind := KINDS.get(version, {}).get(plural)) is None:
            answer = discovery(path, KINDS)
            return web.json_response(answer or {"kind": "Status", "code": 404}, status=200 if answer else 404)
        items = self._listed.get(plural, [])
        head = {"apiVersion": version, "kind": kind}
        if "watch" not in request.query:
            listed = {"apiVersion": version, "kind": f"{kind}List", "metadata": {"resourceVersion": "1"}}
            return web.json_response(listed | {"items": items})
        return await self._watch(request, [head | item for item in items], head)

    async def _watch(
        self, request: web.Request, items: list[dict[str, Any]], head: dict[str, Any]
    ) -> web.StreamResponse:
        """Send what there is, if that is asked for, and nothing more until the picker leaves."""
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        if request.query.get("sendInitialEvents") == "true":
            for item in items:
                await response.write(_event("ADDED", item))
            end = head | {"metadata": {"resourceVersion": "1", **_INITIAL_END}}
            await response.write(_event("BOOKMARK", end))
        await self._ends.wait()
        return response


def _event(kind: str, value: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": value}).encode() + b"\n"


def discovery(path: str, kinds: Mapping[str, Mapping[str, str]]) -> dict[str, Any] | None:
    """Return what an API server answers that serves these kinds, None for a path of another question.

    `kinds` are by group and version, there by their plural.
    """
    if path == "api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    groups = [version for version in kinds if "/" in version]
    if path == "apis":
        offered = [{"groupVersion": group, "version": group.partition("/")[2]} for group in groups]
        listed = [
            {"name": one["groupVersion"].partition("/")[0], "versions": [one], "preferredVersion": one}
            for one in offered
        ]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}
    name = path.removeprefix("apis/").removeprefix("api/")
    if name not in kinds:
        return None
    verbs = ["get", "list", "watch"]
    resources = [
        {"name": plural, "singularName": "", "namespaced": True, "kind": kind, "verbs": verbs}
        for plural, kind in kinds[name].items()
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources}


def _metadata(name: str, labels: dict[str, str]) -> dict[str, Any]:
    uid = f"00000000-0000-0000-0000-{abs(hash(name)) % 10**12:012}"
    return {"name": name, "namespace": NAMESPACE, "labels": labels, "uid": uid, "resourceVersion": "1"}


def _pod(number: int) -> dict[str, Any]:
    return {
        "metadata": _metadata(f"engine-{number}", _LABELS),
        "spec": {"containers": [{"name": "engine"}]},
        "status": {
            "phase": "Running",
            "podIP": address(number),
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _pool(port: int) -> dict[str, Any]:
    picker = {"group": "", "kind": "Service", "name": "epp", "port": {"number": 9002}}
    spec = {
        "selector": {"matchLabels": _LABELS},
        "targetPorts": [{"number": port}],
        "endpointPickerRef": picker,
    }
    return {"metadata": _metadata(POOL, {}), "spec": spec}
