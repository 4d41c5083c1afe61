"""Measures what an endpoint picker needs: CPU time and memory by pods, scrape interval and prompt length.

    python bench/pickers.py                                # 1, 5, 20 and 100 pods, idle and at 50 requests/s
    python bench/pickers.py --pods 20 --prompt 10000 --interval 50ms --page 10

The picker is the real program of the sandbox, with the configuration that inferfleet gives it, without TLS.
What it asks of a cluster, pods that serve metrics alone, and the gateway are this program: nothing else runs,
and all load stays on loopback. CPU seconds are those of the picker's process, so that other work on the
machine does not count; where it is too busy for all scrapes or requests, those that came are in the table.
"""

import argparse
import asyncio
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.cpu import cpu_seconds, resident_mebibytes
from bench.picker_cluster import NAMESPACE, POOL, Cluster, Engines, page
from bench.picker_streams import Answered, Load, ask
from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.serving.picker import Picker, config_text, picker_config
from inferfleet.tables.pickers import picker
from sandbox.cluster.ports import held
from sandbox.problem import SandboxProblem
from sandbox.toolchain.tools import present_tools

MOST_PODS, MOST_SECONDS, MOST_RATE = 200, 120, 500
# As a picker of a cluster begins: it lists pods, and scrapes each for the first time.
_WARM_UP = 5
_COLUMNS = ("pods", "state", "cores", "ms per scrape", "scrapes/s", "ms per request", "requests/s", "RSS MiB")


@dataclass(frozen=True)
class Measured:
    """One row: what the picker's process spent in so many seconds, and what was asked of it meanwhile."""

    pods: int
    cpu: float
    seconds: float
    scrapes: int
    mebibytes: int
    answered: Answered

    @property
    def cores(self) -> float:
        return self.cpu / self.seconds


def main() -> None:
    arguments = _arguments()
    tools = present_tools()
    if tools is None:
        sys.exit("There is no picker yet: run `inferfleet sandbox up`, which builds one.")
    try:
        program = tools.program("epp")
        asyncio.run(_measure(program, arguments))
    except SandboxProblem as problem:
        sys.exit(str(problem))


async def _measure(program: Path, arguments: argparse.Namespace) -> None:
    load = Load(arguments.rate, arguments.prompt, arguments.answer)
    print(
        f"scrapes every {arguments.interval}, pages of {arguments.page} KiB; {load.rate} requests/s, prompts "
        f"of {load.prompt} tokens, answers of {load.answer}; {arguments.seconds} s each"
    )
    print(" ".join(f"{column:>14}" for column in _COLUMNS), flush=True)
    for pods in arguments.pods:
        engines = Engines(page(arguments.page), pods)
        async with engines.serving(), _picker(program, engines, pods, arguments.interval) as (pid, port):
            await asyncio.sleep(_WARM_UP)
            idle = await _spent(pid, engines, pods, asyncio.sleep(arguments.seconds, Answered()))
            _print("idle", idle, idle)
            busy = await _spent(pid, engines, pods, ask(port, load, arguments.seconds))
            _print("busy", busy, idle)


async def _spent(pid: int, engines: Engines, pods: int, work: Awaitable[Answered]) -> Measured:
    loop = asyncio.get_running_loop()
    cpu, began, scrapes = cpu_seconds(pid), loop.time(), engines.scrapes
    answered = await work
    return Measured(
        pods,
        cpu_seconds(pid) - cpu,
        loop.time() - began,
        engines.scrapes - scrapes,
        resident_mebibytes(pid),
        answered,
    )


def _print(state: str, row: Measured, idle: Measured) -> None:
    per_scrape = idle.cpu / idle.scrapes
    good = row.answered.good
    # With fewer scrapes than before, what the machine lacked is no saving of the picker.
    kept_up = good and row.scrapes / row.seconds > 0.9 * idle.scrapes / idle.seconds
    per_request = f"{(row.cpu - per_scrape * row.scrapes) / good * 1000:.2f}" if kept_up else "-"
    failed = f" ({row.answered.bad} failed)" if row.answered.bad else ""
    cells = (
        row.pods,
        state,
        f"{row.cores:.3f}",
        f"{per_scrape * 1000:.2f}",
        f"{row.scrapes / row.seconds:.0f}",
        per_request,
        f"{good / row.seconds:.1f}",
        row.mebibytes,
    )
    print(" ".join(f"{cell:>14}" for cell in cells) + failed, flush=True)


@asynccontextmanager
async def _picker(
    program: Path, engines: Engines, pods: int, interval: str
) -> AsyncIterator[tuple[int, int]]:
    """Run a picker in front of the pods, and yield its process and the port where gateways reach it."""
    profile = picker("gie-1.5", disaggregated=False)
    one = Picker(_deployment(), Serving(), profile, "bench", replicas=1, drain=0)
    config = config_text(picker_config(one))
    with tempfile.TemporaryDirectory() as folder, held(3) as (grpc, health, metrics):
        cluster = Cluster(pods, engines.port)
        async with cluster.serving():
            kubeconfig = Path(folder) / "kubeconfig.yaml"
            kubeconfig.write_text(cluster.kubeconfig)
            log = (Path(folder) / "log").open("w+")
            process = await asyncio.create_subprocess_exec(
                program,
                *(f"--pool-name={POOL}", f"--pool-namespace={NAMESPACE}", f"--config-text={config}"),
                *(f"--grpc-port={grpc}", f"--grpc-health-port={health}", f"--metrics-port={metrics}"),
                *("--tracing=false", "--secure-serving=false", "--metrics-endpoint-auth=false"),
                *(f"--refresh-metrics-interval={interval}", "--zap-encoder=json"),
                env={"KUBECONFIG": str(kubeconfig), "NAMESPACE": NAMESPACE, "POD_NAME": "epp"},
                stdout=log,
                stderr=log,
            )
            try:
                await _until_it_scrapes(process, engines, pods, log.name)
                yield process.pid, grpc
            finally:
                if process.returncode is None:
                    process.send_signal(signal.SIGKILL)
                await process.wait()
                log.close()


async def _until_it_scrapes(
    process: asyncio.subprocess.Process, engines: Engines, pods: int, log: str
) -> None:
    async with asyncio.timeout(60):
        while engines.scrapes < pods * 3:
            if process.returncode is not None:
                raise SandboxProblem(f"the picker ended: {Path(log).read_text()[-2000:]}")
            await asyncio.sleep(0.1)


def _deployment() -> ModelDeployment:
    template = {"spec": {"containers": [{"name": "engine", "image": "vllm"}]}}
    spec = {"replicas": 1, "workers": {"topology": {"tensor": 1}, "template": template}}
    return ModelDeployment.model_validate({"metadata": {"name": POOL}, "spec": spec})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pods", type=int, nargs="+", default=[1, 5, 20, 100])
    parser.add_argument("--interval", default="150ms", help="--refresh-metrics-interval of the picker")
    parser.add_argument("--page", type=int, default=40, help="KiB of metrics that a pod answers with")
    parser.add_argument("--rate", type=int, default=50, help="requests/s")
    parser.add_argument("--prompt", type=int, default=1000, help="tokens of each prompt")
    parser.add_argument("--answer", type=int, default=20, help="tokens of each answer, streamed one by one")
    parser.add_argument("--seconds", type=int, default=20, help="of each row")
    arguments = parser.parse_args()
    for name, most in (("rate", MOST_RATE), ("seconds", MOST_SECONDS)):
        if not 0 < getattr(arguments, name) <= most:
            parser.error(f"--{name} is 1 to {most}")
    if not all(0 < pods <= MOST_PODS for pods in arguments.pods):
        parser.error(f"--pods are 1 to {MOST_PODS}")
    return arguments


if __name__ == "__main__":
    main()
