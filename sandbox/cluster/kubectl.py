"""Runs kubectl on a simulated cluster and on no other: every call names the cluster's kubeconfig."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.problem import SandboxProblem
from sandbox.toolchain.tools import Tools


@dataclass(frozen=True)
class Kubectl:
    """kubectl for one cluster."""

    tools: Tools
    kubeconfig: Path

    def __call__(self, *command: str, objects: list[dict[str, Any]] | None = None) -> str:
        """Run kubectl and return what it prints. `objects` go to its standard input as one List."""
        listed = {"apiVersion": "v1", "kind": "List", "items": objects} if objects is not None else None
        done = subprocess.run(
            [str(self.tools.program("kubectl")), "--kubeconfig", str(self.kubeconfig), *command],
            input=json.dumps(listed) if listed else None,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            what = f"kubectl {' '.join(command[:2])}"
            raise SandboxProblem(
                f"cluster of {self.kubeconfig}: {what} failed: {done.stderr.strip()}\n"
                "Run the same command again, or `inferfleet sandbox down` and `up` for a new cluster."
            )
        return done.stdout

    def create(self, objects: list[dict[str, Any]]) -> None:
        """Create the objects without validation, for which a new cluster has to build its whole schema."""
        self("create", "--validate=ignore", "-f", "-", objects=objects)

    def items(self, kinds: str, *command: str) -> list[dict[str, Any]]:
        """Return all objects of the kinds, such as `nodes,pods`."""
        items: list[dict[str, Any]] = json.loads(self("get", kinds, "-o", "json", *command))["items"]
        return items
