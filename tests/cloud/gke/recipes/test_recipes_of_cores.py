"""Recipes of machines without accelerators: what is refused, and the nodes that they make."""

from typing import Any

import pytest
from recipe_text import alone, recipe, stack

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.facts import sources
from inferfleet.cloud.gke.provider import cloud_clusters
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

TAINT = {"key": "models", "value": "only", "effect": "NoSchedule"}


def cores(machine: str, resources: Any = None, **gke: Any) -> dict[str, Any]:
    """The spec of a class whose recipe names no accelerator."""
    made = {"provider": "GKE", "gke": {"machineType": machine, **gke}}
    return {"node": {"cpu": "3", "memory": "10Gi"}, "resources": resources, "provisioning": made}


@pytest.mark.parametrize(
    ("refused", "what", "taken"),
    [
        (
            cores("g2-standard-4"),
            f"names no accelerator, and g2-standard-4 comes with nvidia-l4 ({sources.GPUS})",
            cores("n4-standard-4"),
        ),
        (
            cores("n1-standard-8", {"gpu": {"count": 1, "memory": "8Gi"}}),
            "has devices of driver gpu.nvidia.com, and its recipe names no accelerator for its nodes",
            cores("n1-standard-8"),
        ),
        (
            cores("n1-standard-8", accelerator={"type": "nvidia-tesla-t4", "count": 1}),
            "describes no devices, and its recipe makes nodes with nvidia-tesla-t4",
            recipe("n1-standard-8"),
        ),
        (
            cores("e2-standard-8", driver="LATEST"),
            "asks for driver LATEST, and names no accelerator that it would be for",
            cores("e2-standard-8"),
        ),
        (
            cores("n4-standard-4", diskType="pd-balanced"),
            "boots n4-standard-4 from pd-balanced, but it boots from hyperdisk-balanced only "
            f"({sources.GENERAL})",
            cores("n4-standard-4", diskType="hyperdisk-balanced"),
        ),
    ],
)
def test_recipes_that_contradict_themselves_or_google_are_refused(
    refused: dict[str, Any], what: str, taken: dict[str, Any]
) -> None:
    problems, _ = alone(refused)
    assert [problem.partition(": ")[2] for problem in problems] == [f"class p {what}"]
    assert alone(taken) == ([], [])


def test_whether_such_nodes_can_be_waited_for_is_not_certain() -> None:
    _, (warning,) = alone(cores("n2-standard-8"), "FlexStart")
    assert "wants n2-standard-8 as FlexStart, about which sources disagree or are silent" in warning


def test_zones_that_google_chooses_may_lack_the_machine() -> None:
    _, (warning,) = alone(cores("n4-standard-8"), zones=[])
    assert "GKE picks some of us-east5, where not all may have n4-standard-8" in warning


def test_nodes_have_neither_accelerators_nor_their_taint() -> None:
    fields = {"zones": ["us-east5-a"], "maxNodeCount": 4, "taints": [TAINT]}
    documents = stack({"p": (cores("n4-standard-4"), fields)})
    lock = Lock(stack="test")
    (cloud,) = cloud_clusters(documents, described_clusters(documents), lock, plan(documents, lock))
    config = cloud.pools["p"].resource.inputs["nodeConfig"]
    assert config["taints"] == [{"key": "models", "value": "only", "effect": "NO_SCHEDULE"}]
    assert config["bootDisk"] == {"sizeGb": 100, "diskType": "hyperdisk-balanced"}
    assert "guestAccelerators" not in config
    assert cloud.pools["p"].node_labels["cloud.google.com/gke-accelerator"] == (None,)
