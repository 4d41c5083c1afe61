"""Prints what commands take on large stacks, in CPU seconds: `python bench/commands.py`.

Each command runs in a process of its own, several times, and the least is told: user and system time, with
the start of Python. The stacks are written into a temporary folder. Last comes how `validate` grows from 100
to 1,000 deployments with as many services.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
# Sizes of nodes by class: GPUs, and a made-up price.
_CLASSES = {"l4": (4, 4), "a100": (8, 30), "h100": (8, 60)}


@dataclass(frozen=True)
class Case:
    """A command, and what writes the stack it works on; without one it works on this checkout."""

    name: str
    words: tuple[str, ...]
    write: Callable[[Path], None] | None = None


def project(folder: Path, documents: Iterator[str]) -> None:
    """Write a project with one stack of these documents."""
    folder.mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: bench\nruntime: python\nstackConfigDir: stacks\n")
    (folder / "stacks" / "large").mkdir(parents=True)
    (folder / "stacks" / "Pulumi.large.yaml").write_text("config: {}\n")
    (folder / "classes").mkdir()
    (folder / "classes" / "classes.yaml").write_text("---\n".join(_class(name) for name in _CLASSES))
    (folder / "stacks" / "large" / "fleet.yaml").write_text("---\n".join(documents))


def served(number: int, *, clusters: int) -> Callable[[Path], None]:
    """Return what writes so many deployments, each with a service of its own."""
    return lambda folder: project(folder, _served(number, clusters))


def _served(number: int, clusters: int) -> Iterator[str]:
    nodes = max(1, number // clusters)
    yield from (_cluster(f"c{at}", l4=nodes, a100=nodes, h100=nodes) for at in range(clusters))
    yield from (_deployment(f"d{at}", gpus=1 + at % 2) for at in range(number))
    yield from (_service(f"s{at}", of=f"d{at}") for at in range(number))


def crowded(folder: Path) -> None:
    """Write 1,200 deployments of several sizes for one pool that has room for a few of them."""
    random = Random(1)
    deployments = (
        _deployment(
            f"d{at}",
            gpus=random.choice((1, 1, 2, 4, 8)),
            cpu=random.randint(2, 20),
            replicas=random.choice((1, 2, 3)),
        )
        for at in range(1200)
    )
    project(folder, iter([_cluster("c0", a100=10), *deployments]))


def wide(folder: Path) -> None:
    """Write 1,000 clusters for 1,000 deployments."""
    random = Random(1)
    clusters = (
        _cluster(f"c{at}", **{random.choice(sorted(_CLASSES)): random.randint(1, 6)}) for at in range(1000)
    )
    sizes = [random.choice((1, 1, 2, 4)) for _ in range(1000)]
    project(folder, iter([*clusters, *(_deployment(f"d{at}", gpus=gpus) for at, gpus in enumerate(sizes))]))


def own_requests(folder: Path) -> None:
    """Write 1,000 deployments on 10 clusters whose pods each ask for cores and memory of their own."""
    random = Random(1)
    clusters = (_cluster(f"c{at}", l4=100, a100=40, h100=40) for at in range(10))
    deployments = (
        _deployment(f"d{at}", gpus=random.choice((1, 1, 2, 4)), cpu=random.randint(2, 20))
        for at in range(1000)
    )
    project(folder, iter([*clusters, *deployments]))


def edited(folder: Path) -> None:
    """Write a repository with 1,000 deployments in which one has another number since the commit."""
    own_requests(folder)
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "stack"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    file = folder / "stacks" / "large" / "fleet.yaml"
    file.write_text(
        file.read_text().replace(
            "name: d500, namespace: ml}\nspec:\n  replicas: 1",
            "name: d500, namespace: ml}\nspec:\n  replicas: 2",
        )
    )


def losses(folder: Path) -> None:
    """Write 100 deployments on 10 clusters, whose pools are half full."""
    clusters = (_cluster(f"c{at}", l4=4, a100=3, h100=3) for at in range(10))
    project(
        folder, iter([*clusters, *(_deployment(f"d{at}", gpus=1 + at % 4, replicas=2) for at in range(100))])
    )


CASES = (
    Case("help", ("--help",)),
    Case("local", ("validate", "--stack", "local")),
    Case("served", ("validate",), served(1000, clusters=10)),
    Case("crowded", ("plan",), crowded),
    Case("wide", ("plan",), wide),
    Case("own-requests", ("plan",), own_requests),
    Case("digest", ("digest", "--base", "HEAD"), edited),
    Case("n-minus-one", ("plan", "--n-minus-one"), losses),
    Case("served-100", ("validate",), served(100, clusters=10)),
)


def _class(name: str) -> str:
    gpus, price = _CLASSES[name]
    return f"""apiVersion: inferfleet.dev/v1alpha1
kind: InferenceClass
metadata: {{name: {name}}}
spec:
  node: {{cpu: "{24 * gpus}", memory: {200 * gpus}Gi}}
  devices:
    - name: gpu
      driver: gpu.nvidia.com
      deviceClassName: gpu.nvidia.com
      count: {gpus}
      capacity: {{memory: {{value: 80Gi}}}}
  price: {{onDemand: "{price}", currency: USD, asOf: "2026-01-01", source: made up}}
"""


def _cluster(name: str, **nodes: int) -> str:
    pools = "".join(
        f"    - {{name: {of_class}, className: {of_class}, nodeCount: {count}}}\n"
        for of_class, count in nodes.items()
    )
    return f"""apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {{name: {name}, labels: {{tier: prod}}}}
spec:
  cluster: {{source: Existing, existing: {{kubeconfig: {{path: kubeconfig}}}}}}
  nodePools:
{pools}  serving:
    gateway: {{className: istio, provider: istio}}
"""


def _deployment(name: str, *, gpus: int = 1, replicas: int = 1, cpu: int = 0) -> str:
    template = ""
    if cpu:
        requests = json.dumps({"cpu": str(cpu), "memory": f"{4 * cpu}Gi"})
        container = f"{{name: engine, resources: {{requests: {requests}}}}}"
        template = f", template: {{spec: {{containers: [{container}]}}}}"
    return f"""apiVersion: inferfleet.dev/v1alpha1
kind: ModelDeployment
metadata: {{name: {name}, namespace: ml}}
spec:
  replicas: {replicas}
  nodeSelector: {{cel: 'capacity["gpu.nvidia.com/memory"].compareTo(quantity("75Gi")) >= 0'}}
  engine: {{type: vLLM, model: Qwen/Qwen3-{name}, servedNames: [chat]}}
  workers: {{topology: {{tensor: {gpus}}}{template}}}
"""


def _service(name: str, *, of: str) -> str:
    return f"""apiVersion: inferfleet.dev/v1alpha1
kind: ModelService
metadata: {{name: {name}, namespace: ml}}
spec:
  endpoints:
    - {{selector: {{matchLabels: {{inferfleet.dev/deployment: {of}}}}}}}
"""


def seconds(case: Case, folder: Path, tries: int) -> float:
    """Return the least CPU seconds of a command."""
    where = ROOT
    if case.write:
        where = folder / case.name
        case.write(where)
    command = [sys.executable, "-c", "from inferfleet.cli.start import main; main()", *case.words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CI": ""}
    took = []
    for _ in range(tries):
        with (folder / f"{case.name}.txt").open("w") as output:
            started = subprocess.Popen(command, cwd=where, env=environment, stdout=output, stderr=output)
            _, code, usage = os.wait4(started.pid, 0)
        if os.waitstatus_to_exitcode(code) not in (0, 3):
            raise SystemExit(f"{case.name}: {(folder / f'{case.name}.txt').read_text()[-2000:]}")
        took.append(usage.ru_utime + usage.ru_stime)
    return min(took)


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints what commands take, in CPU seconds.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(case.name for case in CASES))
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="write the stacks into this new folder, and keep them")
    asked = parser.parse_args()
    chosen = [case for case in CASES if not asked.names or case.name in asked.names]
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        took: dict[str, float] = {}
        for case in chosen:
            took[case.name] = seconds(case, folder, asked.tries)
            print(f"{case.name:14} inferfleet {' '.join(case.words):28} {took[case.name]:6.2f}", flush=True)
        if {"served", "served-100"} <= took.keys():
            print(f"100 -> 1000: {took['served'] / took['served-100']:.1f} x")


if __name__ == "__main__":
    main()
