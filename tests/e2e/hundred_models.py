"""How long an update takes that starts a hundred models of 30 seconds, by how many operations go on at once.

    PYTHONPATH=.:tests/e2e:tests .venv/bin/python tests/e2e/hundred_models.py --parallel 8 --parallel 128

Pulumi carries out four operations for each core at once unless told, and a model that starts is one of them.
The pods of each run stand on nodes that the run before has left. After each, it says how many models
answer through the cluster's one gateway, and how many inotify instances the programs of the sandbox hold.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from asking import ask, url
from documents import Document, annotated, cluster, model
from project import Project
from sandboxes import running

from sandbox.inotify import held_by
from sandbox.places import StackPlaces
from sandbox.processes import processes_in

STACK = "hundred"


def models(count: int, startup: str) -> list[Document]:
    """Return deployments of one GPU each, whose pickers ask for little."""
    return [annotated(model(f"model-{number:03}"), startup=startup) for number in range(count)]


def updated(project: Project, parallel: int) -> None:
    """Update the stack, for as long as that takes."""
    command = ("pulumi", "up", "--stack", STACK, "--yes", "--skip-preview", "--non-interactive")
    done = subprocess.run(
        [*command, f"--parallel={parallel}"],
        cwd=project.root,
        env=dict(project.environment),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def answering(project: Project, count: int) -> int:
    """Return how many of the models answer a request by a pod of their own."""
    models = url(project, "east", "ml/deployments")
    names = [f"model-{number:03}" for number in range(count)]
    return sum(ask(f"{models}/{name}").pod.startswith(f"ml/{name}-") for name in names)


def held(project: Project) -> str:
    """Say which programs of the sandbox hold how many inotify instances."""
    counts: Counter[str] = Counter()
    for process in processes_in(StackPlaces(project.root, STACK).folder):
        counts[process.program.name] += held_by(process.pid)
    return ", ".join(f"{program} {count}" for program, count in counts.most_common())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parallel", type=int, action="append", default=[])
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--startup", default="30s", help="of each model, such as 30s")
    arguments = parser.parse_args()
    nodes = cluster("east", stack=STACK, pools={"l4": ("nvidia-l4-4x", -(-arguments.models // 4))})
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), STACK, nodes) as project:
        project.write("models", *models(arguments.models, arguments.startup))
        for parallel in arguments.parallel or (8, 128):
            began = time.monotonic()
            updated(project, parallel)
            seconds = time.monotonic() - began
            print(f"--parallel {parallel}: {len(project.state())} resources in {seconds:.0f} s", flush=True)
            print(f"{answering(project, arguments.models)} models answer; {held(project)}", flush=True)
            gone = project.destroy()
            if gone.code:
                sys.exit(gone.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
