"""Which recipes in which capacity models are compared, and what is rendered for each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from bench.toolkit.flat import flat
from inferfleet.cloud.provider import decide
from inferfleet.cloud.values import CloudCluster
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.loading.load import load
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

CATALOGUE = Path(__file__).resolve().parents[2] / "classes"
ZONE = "us-central1-a"
_BLUEPRINTS = "examples/gke-{0}/gke-{0}.yaml"
MODULE = "modules/compute/gke-node-pool/main.tf"


@dataclass(frozen=True)
class Recipe:
    """One class that stands for its family, and the blueprint it is compared with."""

    label: str
    class_name: str
    blueprint: str


def _of(label: str, class_name: str, blueprint: str) -> Recipe:
    return Recipe(label, class_name, _BLUEPRINTS.format(blueprint))


# Where there is no blueprint for a machine, the module with its defaults is what there is.
RECIPES = (
    Recipe("CPU", "gke-cpu-32", "examples/hpc-gke.yaml"),
    Recipe("T4", "gke-t4-1x", MODULE),
    Recipe("L4", "gke-l4-1x-g2-4", "examples/ml-gke.yaml"),
    _of("G4", "gke-rtx-pro-6000-1x", "g4"),
    Recipe("A2", "gke-a100-40-2x", "tools/cloud-build/daily-tests/blueprints/gke-a2-highgpu.yaml"),
    Recipe("A2 Ultra", "gke-a100-80-8x", MODULE),
    Recipe("A3 High small", "gke-h100-1x", MODULE),
    _of("A3 High", "gke-h100-8x", "a3-highgpu"),
    _of("A3 High TCPX", "gke-h100-8x-tcpx", "a3-highgpu"),
    _of("A3 Mega", "gke-h100-mega-8x", "a3-megagpu"),
    _of("A3 Mega TCPXO", "gke-h100-mega-8x-tcpxo", "a3-megagpu"),
    _of("A3 Ultra", "gke-h200-8x", "a3-ultragpu"),
    _of("A3 Ultra RDMA", "gke-h200-8x-rdma", "a3-ultragpu"),
    _of("A4", "gke-b200-8x", "a4"),
    _of("A4 RDMA", "gke-b200-8x-rdma", "a4"),
    _of("A4 DRANET", "gke-b200-8x-dranet", "a4"),
    _of("A4X", "gke-gb200-4x", "a4x"),
    _of("A4X RDMA", "gke-gb200-4x-rdma", "a4x"),
    _of("A4X DRANET", "gke-gb200-4x-dranet", "a4x"),
)
RESERVATION = {"name": "capacity"}
BLOCK = {"name": "capacity", "project": "acme-shared", "block": "block-1", "subBlock": "sub-block-1"}
CAPACITIES: Mapping[str, Mapping[str, Any]] = {
    "OnDemand": {"model": "OnDemand"},
    "Spot": {"model": "Spot"},
    "FlexStart": {"model": "FlexStart"},
    "Queued": {"model": "Queued"},
    "Reservation, any": {"model": "Reservation"},
    "Reservation, named": {"model": "Reservation", "reservation": RESERVATION},
    "Reservation, sub-block": {"model": "Reservation", "reservation": BLOCK},
}
# One NVLink domain, for the machines that come as one.
_NODES = 18


@dataclass(frozen=True)
class Case:
    """A recipe in a capacity model: its settings by field, or why we make no such pool."""

    recipe: Recipe
    capacity: str
    settings: Mapping[str, Any]
    refused: str = ""


@cache
def cases() -> tuple[Case, ...]:
    """Return every recipe in every capacity model, in the order of both tables."""
    return tuple(_case(recipe, capacity) for recipe in RECIPES for capacity in CAPACITIES)


def of_class(class_name: str, capacity: str) -> Case:
    """Return the case of any class of the catalogue."""
    return _case(Recipe(class_name, class_name, MODULE), capacity)


@cache
def _case(recipe: Recipe, capacity: str) -> Case:
    model = CAPACITIES[capacity]
    size = "nodeCount" if model["model"] == "Reservation" else "maxNodeCount"
    pool = {"name": "gpu", "className": recipe.class_name, "zones": [ZONE], "capacity": model, size: _NODES}
    cluster = InferenceCluster.model_validate(
        {
            "metadata": {"name": "central"},
            "spec": {
                "cluster": {"source": "GKE", "gke": {"project": "acme-inference", "region": "us-central1"}},
                "nodePools": [pool],
            },
        }
    )
    documents = _documents(cluster)
    lock = Lock(stack="prod")
    cloud = decide(documents, lock, plan(documents, lock))
    if not cloud.clusters:
        errors = [problem.what for problem in cloud.problems if problem.severity == "error"]
        return Case(recipe, capacity, {}, errors[0])
    return Case(recipe, capacity, _settings(cloud.clusters["central"]))


@cache
def catalogue() -> Documents:
    """Return the documents of the catalogue alone."""
    return load([], catalogue=CATALOGUE)


def _documents(cluster: InferenceCluster) -> Documents:
    return replace(catalogue(), clusters={cluster.metadata.name: cluster})


def _settings(cluster: CloudCluster) -> dict[str, Any]:
    resources = [resource for component in cluster.components for resource in component.resources]
    return flat(resources)
