"""Every recipe of the catalogue can be planned, in each way that Google offers its machine."""

from typing import get_args

import pytest
from made_of import CATALOGUE, RECIPES, gke, stack

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.facts.machines import machine_of
from inferfleet.cloud.gke.provider import cloud_clusters
from inferfleet.cloud.gke.recipes.check import recipe_problems
from inferfleet.cloud.gke.settings.addresses import range_problems
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import CapacityModel
from inferfleet.documents.problems import Problem, of_severity
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

MODELS: tuple[CapacityModel, ...] = get_args(CapacityModel)
EMPTY = Lock(stack="prod")


def problems(documents: Documents) -> tuple[Problem, ...]:
    return tuple(recipe_problems(documents, described_clusters(documents)))


def errors(documents: Documents) -> tuple[Problem, ...]:
    return of_severity(problems(documents), "error")


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_refused_where_google_does_not_offer_its_machine_and_nowhere_else(name: str) -> None:
    facts = machine_of(CATALOGUE[name])
    assert facts
    taken = {model for model in MODELS if not errors(stack(name, model))}
    assert taken == {model for model, verdict in facts.capacity.items() if verdict != "no"} != set()


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_becomes_a_pool_of_its_machines(name: str) -> None:
    model = next(model for model in MODELS if not errors(stack(name, model)))
    documents = stack(name, model)
    clusters = described_clusters(documents)
    assert list(range_problems(clusters, EMPTY)) == []
    (cloud,) = cloud_clusters(documents, clusters, EMPTY, plan(documents, EMPTY))
    made = [
        resource.inputs["nodeConfig"]
        for component in cloud.components
        for resource in component.resources
        if component.kind == "GpuNodePool" and "nodeConfig" in resource.inputs
    ]
    recipe = gke(RECIPES[name])
    gpus = [(recipe.accelerator.type, recipe.accelerator.count)] if recipe.accelerator else []
    assert [
        (one["machineType"], [(gpu["type"], gpu["count"]) for gpu in one.get("guestAccelerators", [])])
        for one in made
    ] == [(recipe.machine_type, gpus)]


def test_only_other_images_broken_versions_and_claimed_cards_are_warned_of_however_they_are_had() -> None:
    remarked = [name for name in RECIPES if all(any(problems(stack(name, model))) for model in MODELS)]
    assert remarked == [
        "gke-b200-8x-dranet",
        *("gke-gb200-4x", "gke-gb200-4x-dranet", "gke-gb200-4x-rdma"),
        *("gke-h100-8x", "gke-h100-8x-tcpx"),
    ]
