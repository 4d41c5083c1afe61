"""What is decided for each class of the catalogue stands in the simulated cloud, and stays as it is."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from cloud_double import empty_cloud

from inferfleet.api import load
from inferfleet.api.documents import Documents
from inferfleet.api.kinds.inference_class import InferenceClass
from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.fleet import plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.gke.decide import decide
from inferfleet.gke.facts.schema import resource
from inferfleet.gke.values import CloudResource
from sandbox.gcp.nodes.pool_nodes import capacity_of
from sandbox.gcp.provider.check import check
from sandbox.gcp.provider.diff import adjusted, diff
from sandbox.gcp.provider.merge import with_defaults
from sandbox.gcp.provider.settings import Settings
from sandbox.gcp.store import Record

CATALOGUE = Path(__file__).parents[3] / "classes"
RECIPES = {name: one for name, one in load([CATALOGUE]).classes.items() if one.spec.provisioning}
# Ways to buy nodes; some machines are sold in one of them only.
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
    """For the first way to buy the class in which nothing is wrong with it."""
    said = []
    for model in models:
        documents = _documents(folder, name, CAPACITIES[model])
        lock = Lock(stack="prod")
        cloud = decide(documents, lock, plan(documents, lock))
        if not cloud.problems:
            return [one for part in cloud.clusters["east"].components for one in part.resources]
        said += [str(problem) for problem in cloud.problems]
    raise AssertionError("\n".join(said))


def _made(folder: Path, wanted: list[CloudResource]) -> Record:
    """The pool, when each resource was made without a refusal and its inputs differ in nothing from it."""
    cloud, _ = empty_cloud(folder)
    settings = Settings("acme-ml", "us-east5")
    for one in wanted:
        fields = resource(one.token)
        assert check(one.token, one.inputs) == (), one.key
        inputs = with_defaults(fields, one.inputs)
        state = cloud.create(one.token, settings.completed(one.token, inputs)).state
        changes = diff(fields, state, inputs, ignore=one.ignore)
        assert adjusted(one.token, changes, state, inputs) == (), one.key
    return next(one for one in cloud.store.read().values() if "/nodePools/gpus" in one.id)


@pytest.mark.parametrize(("name", "kind"), RECIPES.items(), ids=list(RECIPES))
def test_a_class_is_made_and_the_next_preview_is_empty(
    tmp_path: Path, name: str, kind: InferenceClass
) -> None:
    wanted = _resources(tmp_path / "documents", name, "OnDemand", "Spot", "Reservation")
    left, promised = capacity_of(_made(tmp_path / "cloud", wanted)), kind.spec.node
    assert parse_quantity(left["cpu"]) >= parse_quantity(promised.cpu)
    assert parse_quantity(left["memory"]) >= parse_quantity(promised.memory)


@pytest.mark.parametrize("model", CAPACITIES)
def test_nodes_bought_in_any_way_are_made_and_the_next_preview_is_empty(tmp_path: Path, model: str) -> None:
    record = _made(tmp_path / "cloud", _resources(tmp_path / "documents", "gke-l4-4x-g2", model))
    assert record.status == "RUNNING"
