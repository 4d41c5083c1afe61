"""Measures what gateway and endpoint picker cost: latency compared with a pod asked directly, and CPU time.

    python bench/data_plane.py                       # the first service of the running sandbox `local`
    python bench/data_plane.py --gateway http://127.1.3.1:8080/ml/chat --pod http://127.1.0.2:8000

One run sends requests through the gateway at a fixed rate, whether earlier ones are answered or not. Every
tenth is also sent straight to a pod, so that both are measured on the same machine at the same time. All load
stays on loopback and is limited by --seconds.
"""

import argparse
import asyncio
import json
import os
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.cpu import Spent, spent_by_program
from bench.endpoints import Endpoints, of_stack
from inferfleet.clusters.chat import question
from sandbox.network.pod_network import entering
from sandbox.places import StackPlaces, project_root
from sandbox.problem import SandboxProblem
from sandbox.verbs.chat import model_of

DIRECT_EVERY = 10
MAX_SECONDS, MAX_RATE = 120, 2000


@dataclass
class Tally:
    """The seconds of every answer, how often each status came, and how often each pod answered."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    pods: Counter[str] = field(default_factory=Counter)

    def quantile(self, share: float) -> float:
        """Return the seconds within which this share of the answers came."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def main() -> None:
    arguments = _arguments()
    try:
        if not arguments.gateway:
            endpoints = of_stack(arguments.stack)
            _enter(endpoints)
        else:
            endpoints = Endpoints(arguments.gateway, tuple(arguments.pod), arguments.host)
        for url in (endpoints.gateway, *endpoints.pods):
            _check_own(url)
        folder = StackPlaces(project_root(), arguments.stack).folder
        run(endpoints, rate=arguments.rate, seconds=arguments.seconds, tokens=arguments.tokens, folder=folder)
    except SandboxProblem as problem:
        sys.exit(str(problem))


def run(endpoints: Endpoints, *, rate: int, seconds: int, tokens: int, folder: Path) -> None:
    """Send the load and print what it cost.

    `folder` is the one that the sandbox's processes were started from.
    """
    model = model_of(endpoints.gateway, host=endpoints.host)
    print(f"{rate} requests/s for {seconds} s to {endpoints.gateway}, {tokens} tokens each, model {model}")
    print(f"every {DIRECT_EVERY}th also straight to one of {len(endpoints.pods)} pods")
    body = json.dumps(question(model, "ping", stream=False) | {"max_tokens": tokens}).encode()
    before, began = spent_by_program(folder), time.monotonic()
    through, direct = asyncio.run(_load(endpoints, body, rate=rate, seconds=seconds))
    elapsed = time.monotonic() - began
    _print_latency(through, direct)
    good = through.statuses["200"] / elapsed
    print(f"\nreached {good:.1f} good answers/s of {rate} asked, in {elapsed:.1f} s; {_counts(through)}")
    if direct.statuses.total() != direct.statuses["200"]:
        print(f"direct: {_counts(direct)}")
    print(f"answered by {len(through.pods)} pods, {_spread(through.pods)}")
    _print_cpu(spent_by_program(folder, since=before), elapsed)


async def _load(endpoints: Endpoints, body: bytes, *, rate: int, seconds: int) -> tuple[Tally, Tally]:
    through, direct = Tally(), Tally()
    path = "/v1/chat/completions"
    headers = {"content-type": "application/json"}
    hosted = headers | ({"host": endpoints.host} if endpoints.host else {})
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=timeout, trust_env=False
    ) as session:
        await _ask(session, endpoints.gateway + path, body, hosted, Tally())  # opens a connection
        loop = asyncio.get_running_loop()
        start, tasks = loop.time(), []
        for number in range(rate * seconds):
            await asyncio.sleep(max(0.0, start + number / rate - loop.time()))
            tasks.append(loop.create_task(_ask(session, endpoints.gateway + path, body, hosted, through)))
            if number % DIRECT_EVERY == 0 and endpoints.pods:
                pod = endpoints.pods[number // DIRECT_EVERY % len(endpoints.pods)]
                tasks.append(loop.create_task(_ask(session, pod + path, body, headers, direct)))
        await asyncio.gather(*tasks)
    return through, direct


async def _ask(
    session: aiohttp.ClientSession, url: str, body: bytes, headers: dict[str, str], tally: Tally
) -> None:
    began = time.perf_counter()
    try:
        async with session.post(url, data=body, headers=headers) as response:
            await response.read()
            tally.statuses[str(response.status)] += 1
            if response.status == 200:
                tally.seconds.append(time.perf_counter() - began)
                tally.pods[response.headers.get("x-inference-pod", "unknown")] += 1
    except (aiohttp.ClientError, TimeoutError) as error:
        tally.statuses[type(error).__name__] += 1


def _print_latency(through: Tally, direct: Tally) -> None:
    print(f"\n{'':>14} {'p50':>9} {'p90':>9} {'p99':>9}  answers")
    for name, tally in (("through", through), ("direct", direct)):
        cells = " ".join(f"{tally.quantile(share) * 1000:6.1f} ms" for share in (0.5, 0.9, 0.99))
        print(f"{name:>14} {cells}  {len(tally.seconds)}")
    pairs = [(through.quantile(share), direct.quantile(share)) for share in (0.5, 0.9, 0.99)]
    print(f"{'added':>14} " + " ".join(f"{(routed - plain) * 1000:6.1f} ms" for routed, plain in pairs))
    print(f"{'ratio':>14} " + " ".join(f"{routed / plain:8.2f}x" for routed, plain in pairs))


def _print_cpu(spent: dict[str, Spent], elapsed: float) -> None:
    print(f"\n{'process':>24} {'how many':>9} {'CPU s':>8} {'cores':>7} {'MiB':>6}")
    for name, program in sorted(spent.items(), key=lambda item: -item[1].seconds):
        cores = program.seconds / elapsed
        print(f"{name:>24} {program.count:>9} {program.seconds:8.2f} {cores:7.2f} {program.mebibytes:6}")
    total = sum(program.seconds for program in spent.values())
    memory = sum(program.mebibytes for program in spent.values())
    print(f"{'all':>24} {'':>9} {total:8.2f} {total / elapsed:7.2f} {memory:6}")


def _counts(tally: Tally) -> str:
    return ", ".join(f"{status}: {count}" for status, count in tally.statuses.most_common())


def _spread(pods: Counter[str]) -> str:
    counts = sorted(pods.values())
    return f"{counts[0]} to {counts[-1]} answers each" if counts else "no answers"


def _enter(endpoints: Endpoints) -> None:
    """Go on inside the network of the cluster's pods, if it has one: what leads into it takes time."""
    if endpoints.holder:
        urls = [f"--gateway={endpoints.gateway}", f"--host={endpoints.host}"]
        urls += [f"--pod={pod}" for pod in endpoints.pods]
        python = str(Path(sys.executable).absolute())
        command = [*entering(endpoints.holder), python, *sys.argv, *urls]
        sys.stdout.flush()
        os.execv(command[0], command)


def _check_own(url: str) -> None:
    """Refuse an address that is not this machine's own: a program can listen at those alone."""
    try:
        with socket.socket() as probe:
            probe.bind((urlsplit(url).hostname or "", 0))
    except OSError as error:
        raise SandboxProblem(
            f"{url} is not on this machine, and this load is meant for a sandbox alone."
        ) from error


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--stack", default="local", help="the stack whose first service and processes are measured"
    )
    parser.add_argument("--gateway", help="URL of a service, with --pod")
    parser.add_argument("--pod", action="append", default=[], help="URL of a pod behind it; may be repeated")
    parser.add_argument("--host", default="", help="the Host header that the gateway expects, with --gateway")
    parser.add_argument("--rate", type=int, default=300, help=f"requests/s, at most {MAX_RATE}")
    parser.add_argument("--seconds", type=int, default=20, help=f"at most {MAX_SECONDS}")
    parser.add_argument("--tokens", type=int, default=4, help="tokens of each answer")
    arguments = parser.parse_args()
    if bool(arguments.gateway) != bool(arguments.pod):
        parser.error("--gateway and --pod belong together")
    if not (0 < arguments.rate <= MAX_RATE and 0 < arguments.seconds <= MAX_SECONDS and arguments.tokens > 0):
        parser.error(f"--rate is 1 to {MAX_RATE}, --seconds 1 to {MAX_SECONDS}, --tokens at least 1")
    return arguments


if __name__ == "__main__":
    main()
