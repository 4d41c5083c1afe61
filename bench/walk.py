"""Prints through how many modules and functions of ours a small stack goes on its way to what should exist.

    python bench/walk.py [--list]

The stack has one cluster on GKE with one pool, and one deployment on it. Counted is what runs while `desired`
works, documents being read already: modules with a function that is called, and functions, each once. It is
what somebody reads who follows one model from its documents to its manifests. Comprehensions and lambdas are
read as a part of the function that they stand in, and are counted beside.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from inferfleet.desired import desired
from inferfleet.documents.loading.stack import load_stack
from inferfleet.fleet.lock.lock import Lock

ROOT = Path(__file__).parents[1]
DOCUMENTS = """
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {name: gke}
spec:
  cluster: {source: GKE, gke: {project: my-project, region: europe-west4}}
  serving: {gateway: {className: gke-l7-rilb, provider: gke}}
  nodePools: [{name: l4, className: gke-l4-1x-g2, nodeCount: 1, zones: [europe-west4-a]}]
---
apiVersion: inferfleet.dev/v1alpha1
kind: ModelDeployment
metadata: {name: chat, namespace: ml}
spec:
  replicas: 1
  engine: {type: vLLM, model: Qwen/Qwen3-8B, version: 0.32.0}
  workers: {topology: {tensor: 1}}
"""


def walked() -> set[CodeType]:
    """Return the code of ours that `desired` calls for the small stack."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "Pulumi.yaml").write_text("name: walk\nruntime: python\nstackConfigDir: stacks\n")
        (project / "stacks" / "small").mkdir(parents=True)
        (project / "stacks" / "Pulumi.small.yaml").write_text("config: {}\n")
        (project / "stacks" / "small" / "fleet.yaml").write_text(DOCUMENTS)
        documents, _ = load_stack(project, "small")
    called: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            called.add(frame.f_code)

    sys.setprofile(note)
    try:
        desired(documents, Lock())
    finally:
        sys.setprofile(None)
    # Not the bodies of modules and classes, which run when a built-in plugin is imported.
    return {
        code
        for code in called
        if Path(code.co_filename).is_relative_to(ROOT / "inferfleet") and code.co_flags & CO_OPTIMIZED
    }


def main() -> None:
    """Print the two numbers, and with `--list` every function by module."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--list", action="store_true", help="print the functions too")
    chosen = parser.parse_args()
    called = walked()
    functions: dict[str, set[str]] = defaultdict(set)
    for code in called:
        of_module = functions[str(Path(code.co_filename).relative_to(ROOT))]
        if not code.co_name.startswith("<"):
            of_module.add(code.co_qualname)
    if chosen.list:
        for module, of_module in sorted(functions.items()):
            print(module, len(of_module))
            for function in sorted(of_module):
                print("   ", function)
    number = sum(map(len, functions.values()))
    within = len(called) - number
    print(f"{len(functions)} modules, {number} functions, {within} comprehensions and lambdas in them")


if __name__ == "__main__":
    main()
