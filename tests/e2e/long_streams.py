"""Streams of 90 seconds, of which 50 begin in each second, while a fleet is changed in every way there is.

    PYTHONPATH=.:tests/e2e:tests .venv/bin/python tests/e2e/long_streams.py --gateway istio
    PYTHONPATH=.:tests/e2e:tests .venv/bin/python tests/e2e/long_streams.py --gateway built-in
    PYTHONPATH=.:tests/e2e:tests .venv/bin/python tests/e2e/long_streams.py --engine vllm

Nobody runs this as a test, since it takes eleven minutes. It prints a row for each update as it goes, and
ends with 1 if a request was lost. Requests come at their rate, whether earlier ones are answered or not. A
client that is refused or cut off is counted in the update that went on at that time.

With `--engine vllm` the pods are vLLM's, which `sandbox up --engine vllm` installs, and fewer. Beside streams
of up to a minute there are short requests, five in a second.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import uniform
from typing import Any

import aiohttp
from asking import ABORTED, END, FAILED, url
from documents import FRUGAL, Document, annotated, cluster, deployment, service
from project import Project, Run
from sandboxes import running
from test_pickers_replaced import CONFIG, GARBLED, IMAGE

STACK = "long-streams"
# Seconds between two tokens: what a client sees of a stream, and what a machine of two cores can carry.
TOKEN_SECONDS = 5
GATEWAYS: dict[str, dict[str, Any]] = {
    "istio": {"className": "istio", "provider": "istio", "port": 8080, "serviceType": "LoadBalancer"},
    "built-in": {"className": "inferfleet-sandbox", "port": 8080},
}
_SHORT_WAIT = "import inferfleet.desired.endpoints as budgets\nbudgets.PICKER_SECONDS = 60\n"


@dataclass(frozen=True)
class Fleet:
    """What the documents say: a deployment on two clusters, and what is written of it and of them.

    With vLLM itself its pods are few, and an event of a stream has many tokens, as two processors carry them.
    """

    with_vllm: bool = False
    replicas: int = 4
    product: str = "NVIDIA L4"
    env: str = "INFO"
    picker: dict[str, Any] = field(default_factory=dict)
    tweak: str = "one"
    drained: bool = False


@dataclass(frozen=True)
class Step:
    """One update: its name, what it changes of the documents, and whether it is meant to fail.

    What a failed one has changed is taken back by the next.
    """

    name: str
    edit: dict[str, Any]
    broken: bool = False


STEPS = (
    Step("engine rolls", {"env": "DEBUG"}),
    Step("three replicas of four", {"replicas": 3}),
    Step("moves to another pool", {"product": "NVIDIA H100 80GB HBM3"}),
    Step("picker: flag", {"picker": {"flags": FRUGAL["flags"] | {"v": "2"}}}),
    Step("picker: configuration", {"picker": {"config": CONFIG}}),
    Step("picker: image", {"picker": {"config": CONFIG, "image": IMAGE}}),
    Step("picker that cannot start", {"picker": {"config": GARBLED, "image": IMAGE}}, broken=True),
    Step("picker: resources", {"picker": {"config": CONFIG, "resources": {"requests": {"cpu": "200m"}}}}),
    Step("plugin", {"tweak": "two"}),
    Step("cluster drains", {"drained": True}),
)


# With vLLM itself: how many seconds streams are to take, and which updates go on.
SECONDS = (8, 35)
STEPS_OF_VLLM = (
    Step("engine rolls", {"env": "WARNING"}),
    Step("two replicas of three", {"replicas": 2}),
    Step("picker: configuration", {"picker": {"config": CONFIG}}),
    Step("picker: image", {"picker": {"config": CONFIG, "image": IMAGE}}),
    Step("cluster drains", {"drained": True}),
)


@dataclass
class Streams:
    """Clients, and how their streams ended, by the update that went on then.

    `lengths` are the seconds that whole streams took, and `speed` is how many tokens a second vLLM itself has
    for one.
    """

    seconds: int
    with_vllm: bool = False
    targets: dict[str, str] = field(default_factory=dict)
    update: str = "before"
    changed: float = field(default_factory=time.monotonic)
    open: int = 0
    begun: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    why: list[str] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)
    speed: float = 20.0

    async def go_on(self, rate: float, over: asyncio.Event, *, stream: bool = True) -> None:
        """Begin so many streams or short requests a second until it is over, and wait for all of them."""
        loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False) as session:
            start, number = loop.time(), 0
            while not over.is_set():
                await asyncio.sleep(max(0.0, start + number / rate - loop.time()))
                targets = tuple(self.targets.values())
                task = loop.create_task(self._ask(session, targets[number % len(targets)], stream))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                number += 1
            if tasks:
                await asyncio.wait(tasks)

    def _tokens(self, stream: bool) -> int:
        if not stream:
            return 20
        return int(uniform(*SECONDS) * self.speed) if self.with_vllm else self.seconds // TOKEN_SECONDS

    async def _ask(self, session: aiohttp.ClientSession, target: str, stream: bool) -> None:
        body: dict[str, Any] = {
            "model": "shared",
            "messages": [{"role": "user", "content": "hello"}],
            "stream": stream,
        }
        body |= {"max_tokens": self._tokens(stream), "ignore_eos": True}
        self.begun[self.update] += 1
        self.open += 1
        began, last, pod, problem = time.monotonic(), b"", "nobody", ""
        try:
            async with session.post(f"{target}/v1/chat/completions", json=body) as response:
                pod = response.headers.get("x-inference-pod", pod)
                async for piece in response.content.iter_any():
                    last = (last + piece)[-500:]
                end = last.decode(errors="replace")
                whole = end.endswith(END) or not stream
                if response.status != 200 or not whole or ABORTED in end or FAILED in end:
                    problem = f"{response.status} {end!r}"
        except (aiohttp.ClientError, TimeoutError) as error:
            problem = repr(error)
        self.open -= 1
        if stream and not problem:
            self.lengths.append(time.monotonic() - began)
            self.speed += (body["max_tokens"] / self.lengths[-1] - self.speed) / 5
        (self.lost if problem else self.whole)[self.update] += 1
        if problem:
            asked, ended = began - self.changed, time.monotonic() - self.changed
            self.why.append(f"{self.update}: asked at {asked:.1f} s, {pod} ended at {ended:.1f} s: {problem}")


def documents(gateway: str, fleet: Fleet) -> dict[str, list[Document]]:
    """Return what is written into the files of the stack."""
    pools = {"l4": ("nvidia-l4-4x", 2), "h100": ("nvidia-h100-80gb-8x", 1)}
    clusters = []
    for name in ("east", "west"):
        made = cluster(
            name,
            stack=STACK,
            pools=pools,
            serving={"gateway": GATEWAYS[gateway]},
        )
        if fleet.drained and name == "east":
            made["spec"]["state"] = "drained"
        clusters.append(made)
    steered = {} if fleet.with_vllm else {"tokens_per_second": str(1 / TOKEN_SECONDS), "slots": "4096"}
    model = annotated(
        deployment(
            "chat",
            replicas=fleet.replicas,
            rollout="Surge",
            gpu=fleet.product,
            env=[{"name": "VLLM_LOGGING_LEVEL", "value": fleet.env}],
            endpointPicker={"resources": {"requests": {"cpu": "100m"}}, **fleet.picker},
            plugins=[
                {"name": "demo-pod-tweaks", "config": {"env": [{"name": "TWEAK", "value": fleet.tweak}]}}
            ],
        ),
        **steered,
    )
    spec = model["spec"]["workers"]["template"]["spec"]
    # What users are advised: half a minute until every gateway knows, then as long as the longest stream.
    [engine] = spec["containers"]
    del engine["lifecycle"], spec["terminationGracePeriodSeconds"]
    model["spec"]["engine"] |= {"servedNames": ["shared"], "drain": "120s"}
    if fleet.with_vllm:
        # How fast it is follows from what else the machine does.
        model["spec"]["engine"]["drain"] = "5m"
        model["spec"]["engine"]["args"] = ["--stream-interval=25", "--max-num-seqs=64"]
        # No liveness: where two processors do too much, it ends engines that are slow to answer.
        health = {"httpGet": {"path": "/health", "port": 8000}, "timeoutSeconds": 5}
        engine["startupProbe"] = health | {"failureThreshold": 180}
        engine["readinessProbe"] = health | {"periodSeconds": 5, "failureThreshold": 20}
    return {"clusters": clusters, "models": [model, service("chat", chat=1)]}


async def changed(
    project: Project, streams: Streams, gateway: str, step: Step, fleet: Fleet
) -> tuple[Run, float]:
    """Write the documents of a step and carry them out, while streams go on."""
    if fleet.drained:
        # Whoever drains a cluster sends its clients elsewhere first; their streams go on.
        streams.targets.pop("east", None)
    streams.update = step.name
    streams.changed = began = time.monotonic()
    for name, written in documents(gateway, fleet).items():
        project.write(name, *written)
    if not step.broken:
        return await asyncio.to_thread(project.up), time.monotonic() - began
    with project.with_code(_SHORT_WAIT):
        run = await asyncio.to_thread(project.up, "--continue-on-error")
    return run, time.monotonic() - began


async def measured(project: Project, arguments: argparse.Namespace) -> int:
    with_vllm, over = arguments.engine == "vllm", asyncio.Event()
    streams = Streams(arguments.seconds, with_vllm)
    fleet = Fleet(with_vllm, replicas=3) if with_vllm else Fleet()
    streams.targets = {name: url(project, name, "ml/chat") for name in ("east", "west")}
    clients = [asyncio.create_task(streams.go_on(arguments.rate or (0.5 if with_vllm else 50), over))]
    if with_vllm:
        clients.append(asyncio.create_task(streams.go_on(5, over, stream=False)))
    await asyncio.sleep(arguments.seconds)
    print(
        f"{'update':>26} {'code':>5} {'seconds':>8} {'open':>6} {'begun':>6} {'whole':>6} {'lost':>5}",
        flush=True,
    )
    steps = STEPS_OF_VLLM if with_vllm else STEPS
    for step in (one for one in steps if not arguments.only or one.name in arguments.only):
        held, edited = streams.open, replace(fleet, **step.edit)
        run, seconds = await changed(project, streams, arguments.gateway, step, edited)
        fleet = fleet if step.broken else edited
        # What is lost with pods that end comes to light while they end.
        await asyncio.sleep(80 if with_vllm else 5)
        row(streams, step.name, run, seconds, held)
        if (run.code != 0) is not step.broken:
            print(run.output[-6000:], flush=True)
            break
    streams.update = "after"
    over.set()
    await asyncio.gather(*clients)
    lost = streams.lost.total()
    counts = f"{streams.whole.total()} whole, {lost} lost"
    whole = sorted(streams.lengths)
    long = sum(5 <= seconds <= 60 for seconds in streams.lengths)
    print(f"\n{streams.begun.total()} requests: {counts}")
    print(f"{len(whole)} streams of {whole[0]:.1f} to {whole[-1]:.1f} s, {long} of them of 5 to 60 s")
    print("\n".join(streams.why[:20]))
    return 1 if lost else 0


def row(streams: Streams, name: str, run: Run, seconds: float, held: int) -> None:
    counts = f"{streams.begun[name]:>6} {streams.whole[name]:>6} {streams.lost[name]:>5}"
    print(f"{name:>26} {run.code:>5} {seconds:>8.0f} {held:>6} {counts}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gateway", choices=sorted(GATEWAYS), default="istio")
    parser.add_argument("--engine", choices=("stand-in", "vllm"), default="stand-in")
    parser.add_argument("--rate", type=float, help="streams begun in a second: 50, or 0.5 with vLLM itself")
    parser.add_argument("--seconds", type=int, default=90, help="length of a stream")
    parser.add_argument("--only", action="append", default=[], help="a row of the table; may be repeated")
    arguments = parser.parse_args()
    with_vllm = arguments.engine == "vllm"
    first = documents(arguments.gateway, Fleet(with_vllm, replicas=3) if with_vllm else Fleet())
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder), STACK, *first["clusters"], with_vllm=with_vllm) as project,
    ):
        for name, written in first.items():
            project.write(name, *written)
        done = project.up()
        if done.code:
            sys.exit(done.output)
        return asyncio.run(measured(project, arguments))


if __name__ == "__main__":
    sys.exit(main())
