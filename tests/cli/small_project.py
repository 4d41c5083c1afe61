"""A project on disk with one stack, and the command run in it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fleet_of_one
from fleet_of_one import CLASS, CLUSTER, SERVICE, OnDisk, together
from typer.testing import CliRunner

from inferfleet.cli.main import app

LOCK = fleet_of_one.LOCK
DEPLOYMENT = (
    fleet_of_one.DEPLOYMENT
    + "  plugins: [{name: demo-pod-tweaks, config: {env: [{name: LOG, value: info}]}}]\n"
)
NO_LOCK = (
    "there is no stacks/prod/placement.lock, so all replicas are placed as if none ran yet",
    "Before the first update this is as it should be; else restore the file from version control",
)
NO_LOCK_WARNING = f"warning: {'. '.join(NO_LOCK)}\n\n1 warning\n"
NO_LOCK_VALUES = {"file": None, "line": None, "path": None, "what": NO_LOCK[0], "nextStep": NO_LOCK[1]}


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Project(OnDisk):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.write("Pulumi.yaml", "name: inferfleet\n")
        self.write("classes/l4.yaml", CLASS)
        self.write("stacks/prod/clusters.yaml", CLUSTER)
        self.write("stacks/prod/models.yaml", together(DEPLOYMENT, SERVICE))

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))

    def run(self, *words: str) -> Ran:
        result = CliRunner().invoke(app, list(words), prog_name="inferfleet")
        return Ran(result.exit_code, result.stdout, result.stderr)
