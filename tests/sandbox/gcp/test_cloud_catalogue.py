"""What is decided for each class of the catalogue can be created, and the next preview finds no change."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from cloud_double import empty_cloud

from inferfleet.cloud.gke.facts.schema import resource
from inferfleet.cloud.provider import decide
from inferfleet.cloud.values import CloudResource
from inferfleet.documents import load
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.problems import of_severity
from inferfleet.documents.quantity import parse_quantity
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan
from sandbox.gcp.nodes.pool_nodes import capacity_of
from sandbox.gcp.provider.check import check
from sandbox.gcp.provider.diff import diff
from sandbox.gcp.provider.inputs import with_defaults
from sandbox.gcp.provider.settings import Settings
from sandbox.gcp.store import Record

CATALOGUE = Path(__file__).parents[3] / "classes"
CLASSES = load([CATALOGUE]).classes
RECIPES = {name: document for name, document in CLASSES.items() if document.spec.provisioning}
# The ways to buy nodes. Some machines are sold in only one of them.
CAPACITIES: dict[str, dict[str, Any]] = {
    **{model: {"model": model} for model in ("OnDemand", "Spot", "FlexStart", "Queued")},
    "Reservation": {"model": "Reservation", "reservation": {"name": "mine"}},
}


def _documents(folder: Path, name: str, capacity: dict[str, Any]) -> Documents:
    pool = {
        "name": "gpus",
        "className": name,
        "maxNodeCount": 2,
        "zones": ["us-east5-a"],
        "capacity": capacity,
    }
    document = {
        "apiVersion": "inferfleet.dev/v1alpha1",
        "kind": "InferenceCluster",
        "metadata": {"name": "east"},
        "spec": {
            "cluster": {"source": "GKE", "gke": {"project": "acme-ml", "region": "us-east5"}},
            "nodePools": [{**pool, "capacity": capacity}],
        },
    }
    folder.mkdir(exist_ok=True)
    (folder / "cluster.yaml").write_text(yaml.safe_dump(document))
    return load([folder, CATALOGUE])


def _resources(folder: Path, name: str, *models: str) -> list[CloudResource]:
    """Return the cluster's resources for the first way to buy the class that has no problem."""
    problems = []
    for model in models:
        documents = _documents(folder, name, CAPACITIES[model])
        lock = Lock(stack="prod")
        cloud = decide(documents, lock, plan(documents, lock))
        errors = of_severity(cloud.problems, "error")
        if not errors:
            return [declared for part in cloud.clusters["east"].components for declared in part.resources]
        problems += map(str, errors)
    raise AssertionError("\n".join(problems))


def _created(folder: Path, wanted: list[CloudResource]) -> Record:
    """Create every resource, compare its inputs with it, and return the record of the pool."""
    cloud, _ = empty_cloud(folder)
    settings = Settings("acme-ml", "us-east5")
    for declared in wanted:
        fields = resource(declared.token)
        assert check(declared.token, declared.inputs) == (), declared.key
        inputs = with_defaults(fields, declared.inputs)
        state = cloud.create(declared.token, settings.completed(declared.token, inputs)).state
        assert diff(fields, state, inputs, ignore=declared.ignore) == (), declared.key
    return next(record for record in cloud.store.read().values() if "/nodePools/gpus" in record.id)


@pytest.mark.parametrize(("name", "document"), RECIPES.items(), ids=list(RECIPES))
def test_a_class_is_made_and_the_next_preview_is_empty(
    tmp_path: Path, name: str, document: InferenceClass
) -> None:
    wanted = _resources(tmp_path / "documents", name, "OnDemand", "Spot", "Reservation")
    left, promised = capacity_of(_created(tmp_path / "cloud", wanted)), document.spec.node
    assert parse_quantity(left["cpu"]) >= parse_quantity(promised.cpu)
    assert parse_quantity(left["memory"]) >= parse_quantity(promised.memory)


@pytest.mark.parametrize("model", CAPACITIES)
def test_nodes_bought_in_any_way_are_made_and_the_next_preview_is_empty(tmp_path: Path, model: str) -> None:
    record = _created(tmp_path / "cloud", _resources(tmp_path / "documents", "gke-l4-4x-g2", model))
    assert record.status == "RUNNING"
