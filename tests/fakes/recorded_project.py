"""A project on disk with one stack and one cluster, and a recorder in place of what clusters say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, TODAY, UID, OnDisk

from inferfleet import run
from inferfleet.clusters.preflight.observe import Observation
from inferfleet.desired.values import Desired
from inferfleet.documents.loading.stack import load_stack
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.run import Prepared, prepare

EAST = CLUSTER.replace("path: east.kubeconfig", "configKey: eastKubeconfig")
OTHER_UID = "6e0c0d4e-0000-4000-8000-000000000002"
LOCK = f"""\
version: 1
stack: prod
clusters:
  east: {{source: Existing, uid: {UID}}}
pools:
  east/l4: {{nodes: 1}}
placements:
  ml/qwen east decode=l4: 1
"""
LOCK_WITHOUT_UID = LOCK.replace(f", uid: {UID}", "")
KUBECONFIG = yaml.safe_dump(
    {
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": "https://east.example.com"}}],
        "contexts": [{"name": "it", "context": {"cluster": "it"}}],
    }
)


@dataclass
class Clusters:
    """What they will say, and what they were asked."""

    answer: Observation = field(default_factory=lambda: Observation(uids={"east": UID}))
    asked: list[tuple[Desired, Mapping[str, str]]] = field(default_factory=list)

    def observe(self, desired: Desired, kubeconfigs: Mapping[str, str], **_: Any) -> Observation:
        self.asked.append((desired, kubeconfigs))
        return self.answer


@dataclass
class Project(OnDisk):
    clusters: Clusters
    config: dict[str, str] = field(default_factory=lambda: {"eastKubeconfig": KUBECONFIG})

    def __post_init__(self) -> None:
        self.write("classes/l4.yaml", CLASS)
        self.write("stacks/prod/clusters.yaml", EAST)
        self.write("stacks/prod/models.yaml", DEPLOYMENT)

    @property
    def files(self) -> dict[str, str]:
        found = [file for file in sorted(self.root.rglob("*")) if file.is_file()]
        return {str(file.relative_to(self.root)): file.read_text() for file in found}

    def set(self, **settings: str) -> None:
        """Settings that the stack's file has, and Pulumi too."""
        self.config |= settings
        written = {f"inferfleet:{name}": value for name, value in settings.items()}
        self.write("stacks/Pulumi.prod.yaml", yaml.safe_dump({"config": written}))

    def prepare(self, *, ci: bool = False, preview: bool = False) -> Prepared:
        return prepare(
            *load_stack(self.root, "prod", config=self.config),
            self.config,
            ci=ci,
            preview=preview,
            today=TODAY,
        )

    def problems(self, **run: bool) -> tuple[Problem, ...]:
        with pytest.raises(InvalidDocuments) as raised:
            self.prepare(**run)
        return raised.value.problems


def recorded(root: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in the current folder, whose clusters are recorded."""
    clusters = Clusters()
    monkeypatch.setattr(run, "observe", clusters.observe)
    monkeypatch.chdir(root)
    return Project(root, clusters)
