"""How long GKE may take to replace the nodes of a pool, and how long an update waits for it."""

from typing import Any

import pytest
from small_changes import CODER, changes, standing
from small_clouds import clouds, cluster, made, pool

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.rolls import in_words, roll_seconds


@pytest.mark.parametrize(
    ("spec", "waits", "seconds"),
    [
        # A step for each node: 15 minutes for the node, and what its pods take.
        ({"maxNodeCount": 96}, 0, 96 * 900),
        ({"maxNodeCount": 96}, 3600, 96 * (900 + 3600)),
        ({"maxNodeCount": 96, "upgradeSettings": {"maxSurge": 8}}, 3600, 12 * (900 + 3600)),
        ({"maxNodeCount": 5, "upgradeSettings": {"maxSurge": 1, "maxUnavailable": 1}}, 0, 3 * 900),
        # New nodes come at once, old ones are emptied in batches, and stay an hour.
        (
            {
                "maxNodeCount": 8,
                "upgradeSettings": {
                    "strategy": "BLUE_GREEN",
                    "blueGreenSettings": {
                        "standardRolloutPolicy": {"batchPercentage": 0.25, "batchSoakDuration": "5m"}
                    },
                },
            },
            600,
            900 + 4 * (600 + 300) + 3600,
        ),
        (
            {
                "maxNodeCount": 8,
                "upgradeSettings": {
                    "strategy": "BLUE_GREEN",
                    "blueGreenSettings": {
                        "autoscaledRolloutPolicy": {"waitForDrainDuration": "24h"},
                        "nodePoolSoakDuration": "0s",
                    },
                },
            },
            600,
            900 + 24 * 3600,
        ),
        ({"maxNodeCount": 8, "capacity": {"model": "FlexStart"}}, 600, None),
    ],
)
def test_the_steps_of_the_strategy_follow_each_other(
    spec: dict[str, Any], waits: int, seconds: int | None
) -> None:
    described = described_clusters(clouds(cluster("east", pool(**spec))))["east"].pool("l4")
    assert roll_seconds(described, {("east", "l4"): waits}) == seconds


def test_an_update_waits_as_long_as_the_nodes_of_a_large_pool_take() -> None:
    large = made(clouds(cluster("east", pool(maxNodeCount=96)))).pools["l4"].resource
    small = made(clouds(cluster("east", pool(maxNodeCount=4)))).pools["l4"].resource
    assert (large.timeout, small.timeout) == (96 * 900, None)


def test_a_change_that_replaces_nodes_says_how_long_that_may_take() -> None:
    lock = standing(cluster("east", pool(maxNodeCount=96)))
    assert lock.placements == {CODER: 2}
    after = cluster("east", pool(maxNodeCount=96), labels={"team": "ml"})
    _, _, (warning,) = changes(lock, after)
    assert "some at a time, in up to 24 h: labels" in warning


def test_durations_are_in_the_unit_that_people_plan_with() -> None:
    assert [in_words(seconds) for seconds in (900, 7199, 7200, 86_400, 96 * 4500)] == [
        "15 min",
        "120 min",
        "2 h",
        "24 h",
        "5 days",
    ]
