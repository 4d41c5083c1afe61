"""What the gateway and the endpoint picker cost: latency against a pod asked directly, and CPU by process.

    python bench/data_plane.py                       # the first service of the running sandbox `local`
    python bench/data_plane.py --gateway http://127.1.3.1:8080/ml/chat --pod http://127.1.0.2:8000

One run sends requests through the gateway at a fixed rate, whether earlier ones are answered or not, and with
every tenth of them a twin straight to a pod, so that both see the same machine at the same time. All load
stays on loopback and is bounded by --seconds. Nothing is asserted: times depend on the machine.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.cpu import Spent, spent_by_program
from bench.endpoints import Endpoints, of_stack
from sandbox.places import StackPlaces, project_root
from sandbox.problem import SandboxProblem
from sandbox.verbs.chat import model_of, question

DIRECT_EVERY = 10
MAX_SECONDS, MAX_RATE = 120, 2000


@dataclass
class Tally:
    """Seconds of every answer, how often each status came, and which pods answered."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    pods: Counter[str] = field(default_factory=Counter)

    def quantile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def main() -> None:
    asked = _arguments()
    try:
        endpoints = Endpoints(asked.gateway, tuple(asked.pod)) if asked.gateway else of_stack(asked.stack)
        for url in (endpoints.gateway, *endpoints.pods):
            _check_loopback(url)
        folder = StackPlaces(project_root(), asked.stack).folder
        run(endpoints, rate=asked.rate, seconds=asked.seconds, tokens=asked.tokens, folder=folder)
    except SandboxProblem as problem:
        sys.exit(str(problem))


def run(endpoints: Endpoints, *, rate: int, seconds: int, tokens: int, folder: Path) -> None:
    """Sends the load and prints what it cost. `folder`: whose processes are the sandbox's."""
    model = model_of(endpoints.gateway, host=endpoints.host)
    print(f"{rate} requests/s for {seconds} s to {endpoints.gateway}, {tokens} tokens each, model {model}")
    print(f"every {DIRECT_EVERY}th also straight to one of {len(endpoints.pods)} pods")
    body = json.dumps(question(model, "ping", stream=False) | {"max_tokens": tokens}).encode()
    before, began = spent_by_program(folder), time.monotonic()
    through, direct = asyncio.run(_load(endpoints, body, rate=rate, seconds=seconds))
    passed = time.monotonic() - began
    _print_latency(through, direct)
    good = through.statuses["200"]
    print(
        f"\nreached {good / passed:.1f} good answers/s of {rate} asked, in {passed:.1f} s; {_counts(through)}"
    )
    if direct.statuses.total() != direct.statuses["200"]:
        print(f"direct: {_counts(direct)}")
    print(f"answered by {len(through.pods)} pods, {_spread(through.pods)}")
    _print_cpu(spent_by_program(folder, since=before), passed)


async def _load(endpoints: Endpoints, body: bytes, *, rate: int, seconds: int) -> tuple[Tally, Tally]:
    through, direct = Tally(), Tally()
    path = "/v1/chat/completions"
    headers = {"content-type": "application/json"}
    hosted = headers | ({"host": endpoints.host} if endpoints.host else {})
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=timeout, trust_env=False
    ) as session:
        await _ask(session, endpoints.gateway + path, body, hosted, Tally())  # connects, warms up
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
    print(f"{'added':>14} " + " ".join(f"{(one - other) * 1000:6.1f} ms" for one, other in pairs))
    print(f"{'ratio':>14} " + " ".join(f"{one / other:8.2f}x" for one, other in pairs))


def _print_cpu(spent: dict[str, Spent], passed: float) -> None:
    print(f"\n{'process':>24} {'how many':>9} {'CPU s':>8} {'cores':>7} {'MiB':>6}")
    for name, one in sorted(spent.items(), key=lambda item: -item[1].seconds):
        print(f"{name:>24} {one.count:>9} {one.seconds:8.2f} {one.seconds / passed:7.2f} {one.mebibytes:6}")
    total = sum(one.seconds for one in spent.values())
    memory = sum(one.mebibytes for one in spent.values())
    print(f"{'all':>24} {'':>9} {total:8.2f} {total / passed:7.2f} {memory:6}")


def _counts(tally: Tally) -> str:
    return ", ".join(f"{status}: {count}" for status, count in tally.statuses.most_common())


def _spread(pods: Counter[str]) -> str:
    counts = sorted(pods.values())
    return f"{counts[0]} to {counts[-1]} answers each" if counts else "no answers"


def _check_loopback(url: str) -> None:
    host = urlsplit(url).hostname or ""
    try:
        local = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise SandboxProblem(f"{url} is not on this machine's loopback: this load is only for the sandbox.")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stack", default="local", help="whose sandbox: its first service, and the CPU")
    parser.add_argument("--gateway", help="URL of a service; needs --pod too")
    parser.add_argument("--pod", action="append", default=[], help="URL of a pod behind it; may be repeated")
    parser.add_argument("--rate", type=int, default=300, help=f"requests/s, at most {MAX_RATE}")
    parser.add_argument("--seconds", type=int, default=20, help=f"at most {MAX_SECONDS}")
    parser.add_argument("--tokens", type=int, default=4, help="tokens of each answer")
    asked = parser.parse_args()
    if bool(asked.gateway) != bool(asked.pod):
        parser.error("--gateway and --pod belong together")
    if not (0 < asked.rate <= MAX_RATE and 0 < asked.seconds <= MAX_SECONDS and asked.tokens > 0):
        parser.error(f"--rate is 1 to {MAX_RATE}, --seconds 1 to {MAX_SECONDS}, --tokens at least 1")
    return asked


if __name__ == "__main__":
    main()
