"""What recipes render stands beside what Cluster Toolkit sets: whole, with a source and a reason each."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench.toolkit.cases import CAPACITIES, RECIPES, Case, cases, catalogue, of_class
from bench.toolkit.compare import FACTS, REASONS, compare, comparison
from bench.toolkit.fact import COMMIT, Fact
from bench.toolkit.page import page
from bench.toolkit.reason import Default, Given, Reason
from inferfleet.cloud.gke.facts.machines import machine

ROOT = Path(__file__).parents[2]
# What classes of one family may differ in.
_SIZES = (
    "NodePool.nodeConfig.machineType",
    "NodePool.nodeConfig.guestAccelerators[0].count",
    "NodePool.nodeConfig.ephemeralStorageLocalSsdConfig.localSsdCount",
)
_NAMES = ("NodePool.name", "NodePool.nodeConfig.labels")
ONE = next(case for case in cases() if not case.refused)
L4 = replace(ONE, settings={"NodePool.nodeConfig.machineType": "g2-standard-4"})
MACHINE = Fact("NodePool.nodeConfig.machineType", "g2-standard-8", "examples/ml-gke.yaml")
WHY = Reason("NodePool.nodeConfig.*", "it is enough")


def test_the_page_is_that_of_the_tables() -> None:
    """After a change of recipes, settings or tables: make docs."""
    assert (ROOT / "docs" / "cluster-toolkit.md").read_text() == page(comparison())


def test_every_setting_has_a_fact_every_difference_a_reason_and_every_entry_something_it_is_about() -> None:
    assert comparison().problems == ()


def test_every_recipe_is_compared_in_every_capacity_model_that_google_offers() -> None:
    compared = {(row.case.recipe.label, row.case.capacity) for row in comparison().rows}
    refused = {(case.recipe.label, case.capacity): case.refused for case in cases() if case.refused}
    everything = {(recipe.label, capacity) for recipe in RECIPES for capacity in CAPACITIES}
    assert compared | refused.keys() == everything
    assert compared & refused.keys() == set()
    of_google = re.compile("Google offers it as|comes from one that is named only|has none of")
    assert [why for why in refused.values() if not of_google.search(why)] == []


def test_every_row_names_a_file_of_the_commit_and_every_difference_says_why() -> None:
    files = re.compile(r"(examples|modules|tools)/[-_./a-z0-9]+\.(yaml|tf)")
    assert [fact for fact in FACTS if not files.fullmatch(fact.source)] == []
    assert [reason for reason in REASONS if len(reason.text) < 10 or reason.text.endswith(".")] == []
    assert [reason for reason in REASONS if reason.source and not reason.source.startswith("https://")] == []
    assert re.fullmatch("[0-9a-f]{40}", COMMIT)


@pytest.mark.parametrize("name", sorted(name for name in catalogue().classes if name.startswith("gke-")))
def test_a_class_differs_in_sizes_alone_from_the_one_that_stands_for_its_family(name: str) -> None:
    (recipe,) = (recipe for recipe in RECIPES if _family(recipe.class_name) == _family(name))
    for capacity in CAPACITIES:
        mine, of_family = of_class(name, capacity), of_class(recipe.class_name, capacity)
        assert _shape(mine) == _shape(of_family)


def test_a_setting_without_a_fact_is_a_problem() -> None:
    assert compare((L4,), (), (), (), {}).problems == (
        "NodePool.nodeConfig.machineType of CPU, OnDemand is 'g2-standard-4', and no fact says what theirs "
        "is",
    )


def test_a_difference_without_a_reason_is_a_problem() -> None:
    assert compare((L4,), (MACHINE,), (), (), {}).problems == (
        "NodePool.nodeConfig.machineType of CPU, OnDemand is 'g2-standard-4', theirs is 'g2-standard-8', "
        "and no reason says why",
    )


def test_an_entry_that_is_about_nothing_is_a_problem() -> None:
    gone = Reason("NodePool.nodeConfig.gone", "it is gone")
    compared = compare((L4,), (MACHINE,), (WHY, gone), (), {})
    assert [row.reason for row in compared.rows] == [WHY]
    assert compared.problems == (f"applies to nothing: {gone}",)


def test_a_reason_for_what_is_equal_by_now_is_a_problem() -> None:
    equal = replace(L4, settings={"NodePool.nodeConfig.machineType": "g2-standard-8"})
    compared = compare((equal,), (MACHINE,), (WHY,), (), {})
    assert [row.reason for row in compared.rows] == [None]
    assert compared.problems == (f"applies to nothing: {WHY}",)


def test_what_nobody_writes_counts_as_what_google_takes_it_for() -> None:
    default = Default("Cluster.enableShieldedNodes", True, "https://example.com")
    theirs = Fact(default.field, True, "modules/scheduler/gke-cluster/variables.tf")
    given = Given("machineType", "sizes")
    compared = compare((L4,), (theirs,), (), (given,), {default.field: default})
    assert [(row.theirs, row.ours, row.reason) for row in compared.rows] == [(True, None, None)]
    assert compared.problems == ()


def test_a_page_is_not_made_of_incomplete_tables() -> None:
    with pytest.raises(ValueError, match="no reason says why"):
        page(compare((L4,), (MACHINE,), (), (), {}))


def _family(class_name: str) -> tuple[str, str, str]:
    """The family of a class's machine, its GPUDirect, and who makes the networks of that."""
    provisioning = catalogue().classes[class_name].spec.provisioning
    assert provisioning
    assert provisioning.gke
    kind = machine(provisioning.gke.machine_type)
    assert kind
    networking = provisioning.gke.networking
    return kind.family, networking.gpu_direct, networking.accelerator_network_profile


def _shape(case: Case) -> dict[str, object]:
    """Settings without sizes and names, and whether it is refused."""
    settings = {field: value for field, value in case.settings.items() if field not in (*_SIZES, *_NAMES)}
    return {**settings, "refused": bool(case.refused)}
