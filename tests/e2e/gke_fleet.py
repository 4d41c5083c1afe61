"""A project with a simulated Google Cloud: its documents, its engine, and what exists in the cloud."""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from documents import API, Document
from project import Operations, Project, Run, checkout
from sandboxes import started

from inferfleet.cloud.gke.facts.schema import resource
from inferfleet.documents import load
from sandbox import clusters
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.kwok import KwokCluster
from sandbox.gcp import faults
from sandbox.gcp.opening import open_cloud
from sandbox.gcp.provider.inputs import with_defaults
from sandbox.gcp.store import POOL, Record, Store
from sandbox.places import StackPlaces
from sandbox.processes import processes_in
from sandbox.toolchain.tools import Tools

# Seconds: autoscaled pools of the tests grow and shrink as soon as they can.
GROW_AFTER, IDLE_FOR = 1, 2
POOL_LABEL = "cloud.google.com/gke-nodepool"


@dataclass(frozen=True)
class Fleet:
    """A stack with clusters of Google's. Clusters and pools are named here as in their documents."""

    project: Project
    places: StackPlaces
    tools: Tools

    def records(self) -> list[Record]:
        """What exists in the cloud."""
        return list(Store(self.places.cloud).read().values())

    def pools(self, cluster: str) -> dict[str, Record]:
        """The node pools of a cluster, as they are in the cloud."""
        found = [one for one in self.records() if one.token == POOL]
        mine = [one for one in found if _cloud_name(cluster).fullmatch(one.id.split("/")[5])]
        return {one.name.rpartition("-")[0]: one for one in mine}

    def nodes(self, cluster: str, pool: str) -> list[dict[str, Any]]:
        """Return the nodes of a pool, as the cluster's API server has them."""
        return self.items(cluster, "nodes", "-l", f"{POOL_LABEL}={self.pools(cluster)[pool].name}")

    def items(self, cluster: str, kind: str, *arguments: str) -> list[dict[str, Any]]:
        """The objects of a kind in all namespaces of a cluster."""
        return self.kubectl(cluster).items(kind, "-A", *arguments)

    def kubectl(self, cluster: str) -> Kubectl:
        """What asks the API server of a cluster."""
        [name] = [
            one
            for one in clusters.created_names(self.places)
            if one == cluster or _cloud_name(cluster).fullmatch(one.partition(".")[0])
        ]
        return KwokCluster(self.places, name).kubectl(self.tools)

    def left(self) -> tuple[list[str], list[str], list[str]]:
        """IDs of what exists in the cloud, clusters that stand behind it, and programs that run in them."""
        made = [one for one in clusters.created_names(self.places) if "." in one]
        programs = [one.program for one in processes_in(self.places.kwok)]
        return (
            [one.id for one in self.records()],
            made,
            [str(one) for one in programs if "." in one.parent.parent.name],
        )

    def bring(self, token: str, **inputs: Any) -> None:
        """Somebody else makes something in the cloud."""
        open_cloud(self.places).create(token, with_defaults(resource(token), inputs))

    def mend(self) -> None:
        """The sandbox is as the documents say now."""
        root = self.project.root
        clusters.up(root, self.project.stack, load([self.project.documents], catalogue=root / "classes"))

    def up(self) -> Run:
        """Fails loudly, as all that is expected to work."""
        return _worked(self.project.up())

    def preview(self, *flags: str) -> Run:
        return _worked(self.project.preview(*flags))

    def refresh(self) -> Operations:
        """What differs in the cloud and the clusters from what the engine remembers."""
        return _worked(self.project.engine("refresh", "--preview-only")).operations

    def destroy(self) -> Run:
        return _worked(self.project.destroy())


def _worked(run: Run) -> Run:
    assert run.code == 0, run.output
    return run


def _cloud_name(cluster: str) -> re.Pattern[str]:
    """What Google calls it: two of other stacks may have one name."""
    return re.compile(f"{cluster}-[0-9a-f]{{6}}")


def gke(name: str, region: str, *pools: Document, state: str = "active", **settings: Any) -> Document:
    """A cluster that the stack makes, whose end nothing forbids."""
    place = {"project": "inferfleet-test", "region": region, "deletionProtection": False}
    return {
        "apiVersion": API,
        "kind": "InferenceCluster",
        "metadata": {"name": name, "labels": {"region": name}},
        "spec": {
            "state": state,
            "cluster": {"source": "GKE", "gke": place | settings},
            "nodePools": list(pools),
            "serving": {"gateway": {"className": "gke-l7-rilb", "provider": "gke", "port": 8080}},
        },
    }


def l4(**settings: Any) -> Document:
    """A pool of nodes with one small GPU."""
    return {"name": "l4", "className": "gke-l4-1x-g2"} | settings


@contextmanager
def fleet(
    root: Path, stack: str, *, folder: Path | None = None, **files: Sequence[Document]
) -> Iterator[Fleet]:
    """A stack with the documents of a folder, or with these; its sandbox runs, and nothing is deployed."""
    plain = checkout(root, stack)
    plain.begin(**files)
    for file in folder.glob("*.yaml") if folder else ():
        shutil.copy(file, plain.documents)
    places = StackPlaces(root, stack)
    try:
        project, tools = started(plain)
        faults.change(places.cloud, partial(faults.with_pace, grow_after=GROW_AFTER, idle_for=IDLE_FOR))
        yield Fleet(project, places, tools)
    finally:
        clusters.down(root, stack)
