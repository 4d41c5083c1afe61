"""Upgrades that Google would not make as a pool asks, and machines that its blueprints keep from them."""

from typing import Any

import pytest
from recipe_text import alone, pool, recipe, stack, told

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.facts import sources
from inferfleet.cloud.gke.recipes.check import recipe_problems
from inferfleet.documents.problems import Problem

STRATEGIES = (
    "(GKE, node upgrade strategies, 2026-11-24: "
    "https://docs.cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies)"
)
POOL = "pool p of cluster east"
AT = "spec.nodePools[0].upgradeSettings"
L4 = recipe("g2-standard-4")
BLUE_GREEN = {"strategy": "BLUE_GREEN"}
AUTOSCALED = {**BLUE_GREEN, "blueGreenSettings": {"autoscaledRolloutPolicy": {}}}
RESERVED = {"name": "ours"}


@pytest.mark.parametrize(
    ("asked", "errors"),
    [
        (
            pool(L4, "FlexStart", upgradeSettings={"maxSurge": 1}),
            [
                f"{AT}: {POOL} has upgradeSettings, but nodes of model FlexStart are upgraded by GKE's own "
                f"strategy for them (short-lived) {STRATEGIES}"
            ],
        ),
        (
            pool(recipe("a3-highgpu-8g", compactPlacement=True), upgradeSettings=BLUE_GREEN),
            [
                f"{AT}.strategy: {POOL} is upgraded by BLUE_GREEN, which Google does not do to nodes that "
                f"stand close together ({sources.TOOLKIT})"
            ],
        ),
        (
            pool(L4, nodeCount=2, upgradeSettings=AUTOSCALED),
            [
                f"{AT}.blueGreenSettings.autoscaledRolloutPolicy: {POOL} has autoscaledRolloutPolicy, and "
                f"nodeCount keeps the autoscaler from it {STRATEGIES}"
            ],
        ),
        (pool(L4, upgradeSettings=AUTOSCALED), []),
        (pool(L4, "Spot", upgradeSettings=BLUE_GREEN), []),
        (pool(recipe("a3-highgpu-8g", compactPlacement=True), upgradeSettings={"maxUnavailable": 2}), []),
    ],
)
def test_upgrades_that_google_would_not_make_are_refused(
    asked: tuple[dict[str, Any], dict[str, Any]], errors: list[str]
) -> None:
    assert told(stack({"p": asked}))[0] == errors


@pytest.mark.parametrize(
    ("settings", "nodes"),
    [
        (BLUE_GREEN, "4 nodes more in its reservation while it is upgraded by BLUE_GREEN"),
        ({"maxSurge": 1}, "1 node more in its reservation while it is upgraded by SURGE"),
        ({"maxUnavailable": 2}, ""),
    ],
)
def test_nodes_beyond_a_reservation_are_warned_about(settings: dict[str, Any], nodes: str) -> None:
    _, warnings = alone(L4, "Reservation", reservation=RESERVED, upgradeSettings=settings)
    assert warnings == ([f"{AT}: {POOL} needs room for {nodes} {STRATEGIES}"] if nodes else [])


def test_autoscaled_upgrades_need_their_version() -> None:
    documents = stack({"p": pool(L4, upgradeSettings=AUTOSCALED)}, minVersion="1.34.0-gke.1662000")
    assert [error.partition(" (")[0] for error in told(documents)[0]] == [
        f"spec.cluster.gke.minVersion: {POOL} needs GKE 1.34.0-gke.2201000 for autoscaledRolloutPolicy; "
        "minVersion is 1.34.0-gke.1662000"
    ]


def test_disks_of_images_need_image_streaming() -> None:
    disks = [{"diskImage": "global/images/vllm"}]
    assert alone(recipe("g2-standard-4", imageStreaming=True, secondaryBootDisks=disks)) == ([], [])
    assert alone(recipe("g2-standard-4", secondaryBootDisks=disks))[0] == [
        "spec.provisioning.gke.secondaryBootDisks: class p has secondaryBootDisks with images, which GKE "
        "reads by image streaming alone (GKE, secondary boot disks, 2026-11-24: "
        "https://cloud.google.com/kubernetes-engine/docs/how-to/data-container-image-preloading)"
    ]


def test_disks_of_images_need_their_version() -> None:
    cached = recipe(
        "g2-standard-4", imageStreaming=True, secondaryBootDisks=[{"diskImage": "global/images/v"}]
    )
    documents = stack({"p": pool(cached)}, minVersion="1.28.2")
    assert [error.partition(" (")[0] for error in told(documents)[0]] == [
        f"spec.cluster.gke.minVersion: {POOL} needs GKE 1.28.3-gke.1067000 for secondaryBootDisks; "
        "minVersion is 1.28.2"
    ]


def _of_maintenance(machine: str, **gke: Any) -> list[Problem]:
    documents = stack({"p": pool(recipe(machine, **gke.pop("recipe", {})))}, **gke)
    return [
        problem
        for problem in recipe_problems(documents, described_clusters(documents))
        if problem.path == "spec.cluster.gke.maintenancePolicy"
    ]


@pytest.mark.parametrize(
    ("machine", "blueprint"),
    [
        ("g4-standard-48", "gke-g4"),
        ("a3-ultragpu-8g", "gke-a3-ultragpu"),
        ("a4-highgpu-8g", "gke-a4"),
        ("a4x-highgpu-4g", "gke-a4x"),
    ],
)
def test_machines_that_google_s_blueprints_keep_from_upgrades_are_warned_about_until_there_is_a_policy(
    machine: str, blueprint: str
) -> None:
    (problem,) = _of_maintenance(machine, maintenancePolicy=None)
    assert (problem.severity, problem.what, problem.next_step) == (
        "warning",
        "GKE may upgrade the nodes of pool p of cluster east at any time, which Google's blueprint for such "
        f"machines keeps it from (cluster-toolkit, {blueprint}, 2026-06-25: https://github.com/"
        f"GoogleCloudPlatform/cluster-toolkit/blob/10470803/examples/{blueprint}/{blueprint}.yaml)",
        'Write maintenancePolicy: {dailyMaintenanceWindow: {startTime: "09:00"}, maintenanceExclusions: '
        "[{name: no-minor-or-node-upgrades, scope: NO_MINOR_OR_NODE_UPGRADES, "
        "startTime: 2025-12-01T00:00:00Z, endTimeBehavior: UNTIL_END_OF_SUPPORT}]}; "
        "or one with a window alone, in which they may be upgraded",
    )
    assert _of_maintenance(machine) == []


@pytest.mark.parametrize(("direct", "warned"), [("None", False), ("TCPX", True)])
def test_the_blueprint_of_a3_high_is_one_with_networks_between_gpus(direct: str, warned: bool) -> None:
    recipe = {"networking": {"gpuDirect": direct}}
    assert bool(_of_maintenance("a3-highgpu-8g", maintenancePolicy=None, recipe=recipe)) == warned
    assert _of_maintenance("g2-standard-4", maintenancePolicy=None) == []


def test_the_line_that_a_warning_names_is_one_that_is_taken() -> None:
    policy = {
        "dailyMaintenanceWindow": {"startTime": "09:00"},
        "maintenanceExclusions": [
            {
                "name": "no-minor-or-node-upgrades",
                "scope": "NO_MINOR_OR_NODE_UPGRADES",
                "startTime": "2025-12-01T00:00:00Z",
                "endTimeBehavior": "UNTIL_END_OF_SUPPORT",
            }
        ],
    }
    assert _of_maintenance("a4-highgpu-8g", maintenancePolicy=policy) == []
