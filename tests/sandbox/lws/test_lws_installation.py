"""A stack's clusters get the controller when a worker has many pods, and keep it until `down`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, OnDisk, together

from inferfleet.documents import load
from inferfleet.documents.documents import Documents
from sandbox.cluster import companions, ports
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.kwok import KwokCluster
from sandbox.lws import controller, installation
from sandbox.places import StackPlaces
from sandbox.plans import parts_for
from sandbox.toolchain.parts import CRDS, LWS
from sandbox.toolchain.resolve import Resolved
from sandbox.toolchain.tools import Tools

FIRST_PORT = 20_000


@dataclass
class _Recording:
    """A cluster that takes everything."""

    applied: list[Any] = field(default_factory=list)

    def __call__(self, *command: str, objects: list[dict[str, Any]]) -> str:
        self.applied.append((command[0], [one["kind"] for one in objects]))
        return ""


def tools(folder: Path) -> Tools:
    """A toolchain with the part alone, whose one webhook configuration has one webhook."""
    for name in ("crds", "webhooks"):
        (folder / name).mkdir(parents=True)
    (folder / "crds" / "sets.yaml").write_text("{}")
    service = {"service": {"path": "/sets"}}
    configuration = {
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "hooks"},
        "webhooks": [{"name": "sets", "clientConfig": service}],
    }
    (folder / "webhooks" / "manifests.yaml").write_text(yaml.safe_dump(configuration))
    (folder / "webhooks" / "mutating-patch.yaml").write_text("[]")
    return Tools((Resolved(LWS, "cache", folder),), "")


def cluster(root: Path) -> KwokCluster:
    made = KwokCluster(StackPlaces(root, "local"), "east")
    made.folder.mkdir(parents=True)
    options = {"kind": "KwokctlConfiguration", "options": {ports.NAMES[0]: FIRST_PORT}}
    (made.folder / "kwok.yaml").write_text(yaml.safe_dump(options))
    return made


def test_a_stack_without_the_controller_has_nothing_of_it(tmp_path: Path) -> None:
    east, kubectl = cluster(tmp_path / "project"), _Recording()
    own = tools(tmp_path / "part")
    assert installation.crds(east.places, own) == ()
    installation.install(east, cast(Kubectl, kubectl), own)
    assert (kubectl.applied, controller.installed(east)) == ([], False)
    assert controller.PROGRAM not in companions.missing(east)


def test_a_stack_with_the_controller_has_its_crds_webhooks_and_process(tmp_path: Path) -> None:
    east, kubectl = cluster(tmp_path / "project"), _Recording()
    own = tools(tmp_path / "part")
    installation.want(east.places)
    assert installation.crds(east.places, own) == (tmp_path / "part" / "crds" / "sets.yaml",)
    installation.install(east, cast(Kubectl, kubectl), own)
    assert kubectl.applied == [("apply", ["MutatingWebhookConfiguration"])]
    assert controller.PROGRAM in companions.missing(east)
    config = yaml.safe_load((east.folder / "lws" / "config.yaml").read_text())
    assert config == {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "webhook": {
            "host": "127.0.0.1",
            "port": FIRST_PORT + len(ports.NAMES),
            "certDir": str(east.folder / "lws"),
        },
        "leaderElection": {"leaderElect": False},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
        "internalCertManagement": {"enable": False},
    }


def documents(project: Path) -> Documents:
    return load([project / "stacks" / "prod"], catalogue=None)


@pytest.mark.parametrize(
    ("topology", "needed"),
    [
        ("{tensor: 1}", False),
        ("{tensor: 1, pipeline: 2}", True),
        ("{tensor: 4}", True),
        ("{tensor: 2}", False),
    ],
)
def test_documents_need_it_for_a_worker_of_many_pods(tmp_path: Path, topology: str, needed: bool) -> None:
    """Nodes have two GPUs."""
    deployment = DEPLOYMENT.replace("{tensor: 1}", topology)
    OnDisk(tmp_path).write("stacks/prod/fleet.yaml", together(CLASS, CLUSTER, deployment))
    assert (LWS in parts_for(documents(tmp_path))) == needed


def test_the_crd_of_all_clusters_is_that_of_the_controller() -> None:
    pinned = [
        next(line.split()[1] for line in (part.folder / "go.sum").read_text().splitlines()
             if line.startswith("sigs.k8s.io/lws ") and "/go.mod" not in line)
        for part in (CRDS, LWS)
    ]  # fmt: skip
    assert pinned == [f"v{LWS.version}"] * 2
