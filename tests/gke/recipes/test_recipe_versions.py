"""Clusters that are too old, or may be, for what their pools ask of GKE."""

from typing import Any

import pytest
from recipe_text import pool, recipe, stack, told

from inferfleet.gke.recipes.version import below

B200 = pool(recipe("a4-highgpu-8g"), "Spot")
TCPXO = pool(recipe("a3-megagpu-8g", networking={"gpuDirect": "TCPXO"}))
L4 = recipe("g2-standard-4")
DRA = recipe("g2-standard-4", allocation="DRA", driver="INSTALLATION_DISABLED")
TOOLKIT = "(cluster-toolkit, gke-node-pool)"


@pytest.mark.parametrize(
    ("written", "needed", "old"),
    [
        ("1.31", "1.32.2-gke.1652000", True),
        ("1.32", "1.32.2-gke.1652000", False),
        ("1.32.1", "1.32.2-gke.1652000", True),
        ("1.32.2-gke.1651999", "1.32.2-gke.1652000", True),
        ("1.32.2-gke.1652000", "1.32.2-gke.1652000", False),
        ("1.33", "1.32.8", False),
        ("1.32.10", "1.32.8", False),
        ("1.34.1-gke.1829001", "1.34", False),
    ],
)
def test_a_version_may_be_any_that_begins_so(written: str, needed: str, old: bool) -> None:
    assert below(written, needed) is old


@pytest.mark.parametrize(
    ("asked", "version", "what"),
    [
        (B200, "1.31", f"needs GKE 1.32 for a4-highgpu-8g; minVersion is 1.31 {TOOLKIT}"),
        (
            TCPXO,
            "1.28.9-gke.1250000",
            f"needs GKE 1.28.15-gke.3163000 for GPUDirect TCPXO; minVersion is 1.28.9-gke.1250000 {TOOLKIT}",
        ),
        (
            pool(L4, "FlexStart"),
            "1.31.4",
            "needs GKE 1.32.2-gke.1652000 for FlexStart; minVersion is 1.31.4 (GKE, flex-start, 2026-04-14)",
        ),
        (
            pool(DRA, nodeCount=1),
            "1.33",
            "needs GKE 1.34 for DRA; minVersion is 1.33 (GKE, set up DRA)",
        ),
    ],
)
def test_a_version_that_is_too_old_is_refused(
    asked: tuple[dict[str, Any], dict[str, Any]], version: str, what: str
) -> None:
    problem = f"spec.cluster.gke.minVersion: pool p of cluster east {what}"
    assert told(stack({"p": asked}, minVersion=version)) == ([problem], [])


@pytest.mark.parametrize("channel", ["STABLE", "EXTENDED"])
def test_a_late_channel_without_a_version_is_warned_about(channel: str) -> None:
    assert told(stack({"p": B200}, releaseChannel=channel)) == (
        [],
        [
            "spec.cluster.gke.releaseChannel: pool p of cluster east needs GKE 1.32 for a4-highgpu-8g; "
            f"channel {channel} may have an older one {TOOLKIT}"
        ],
    )


@pytest.mark.parametrize(
    ("asked", "gke"),
    [
        (B200, {"releaseChannel": "REGULAR"}),
        (B200, {"releaseChannel": "STABLE", "minVersion": "1.32"}),
        (TCPXO, {"releaseChannel": "STABLE"}),
        (pool(L4), {"releaseChannel": "EXTENDED"}),
    ],
)
def test_other_clusters_are_new_enough(
    asked: tuple[dict[str, Any], dict[str, Any]], gke: dict[str, Any]
) -> None:
    assert told(stack({"p": asked}, **gke)) == ([], [])
