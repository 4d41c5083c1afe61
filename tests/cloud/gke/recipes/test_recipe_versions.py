"""Clusters that are too old, or may be, for what their pools ask of GKE."""

from typing import Any

import pytest
from recipe_text import pool, recipe, stack, told

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.facts import sources
from inferfleet.cloud.gke.recipes.check import recipe_problems
from inferfleet.documents.problems import of_severity

B200 = pool(recipe("a4-highgpu-8g"), "Spot")
TCPXO = pool(recipe("a3-megagpu-8g", networking={"gpuDirect": "TCPXO"}))
L4 = recipe("g2-standard-4")
DRA = recipe("g2-standard-4", allocation="DRA", driver="INSTALLATION_DISABLED")
GB200 = recipe("a4x-highgpu-4g", diskType="hyperdisk-balanced")
NEW = "1.34.0-gke.1626000"
LLM_D = "(llm-d, GKE gateway, 2026-11-23: https://llm-d.ai/docs/dev/resources/gateway/gke)"
AI_CLUSTER = (
    "(Google, create an AI-optimized GKE cluster, 2026-04-06: "
    "https://docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute)"
)
GPU_DIRECT = (
    "(cluster-toolkit, gpu_direct.tf, 2026-04-28: https://github.com/GoogleCloudPlatform/cluster-toolkit/blob/"
    "10470803/modules/compute/gke-node-pool/gpu_direct.tf)"
)
DOCS = "https://docs.cloud.google.com/kubernetes-engine/docs"
POOLS = f"cluster east may lack the CRD of InferencePools, which GKE brings from {NEW} on; "


@pytest.mark.parametrize(
    ("asked", "version", "what"),
    [
        (
            B200,
            "1.31",
            f"needs GKE 1.32.1-gke.1729000 for a4-highgpu-8g; minVersion is 1.31 {AI_CLUSTER}",
        ),
        (
            TCPXO,
            "1.32.9-gke.1250000",
            "needs GKE 1.32.11-gke.1174000 for GPUDirect TCPXO; minVersion is 1.32.9-gke.1250000 "
            f"{GPU_DIRECT}",
        ),
        (
            pool(L4, "FlexStart"),
            "1.31.4",
            f"needs GKE 1.32.2-gke.1652000 for FlexStart; minVersion is 1.31.4 ({sources.DWS})",
        ),
        (
            pool(DRA, nodeCount=1),
            "1.33",
            f"needs GKE 1.34 for DRA; minVersion is 1.33 ({sources.DRA})",
        ),
        (
            pool(GB200, "Reservation", reservation={"name": "racks"}),
            "1.33.3",
            f"needs GKE 1.33.4-gke.1036000 for a4x-highgpu-4g; minVersion is 1.33.3 {AI_CLUSTER}",
        ),
    ],
)
def test_a_version_that_is_too_old_is_refused(
    asked: tuple[dict[str, Any], dict[str, Any]], version: str, what: str
) -> None:
    errors, _ = told(stack({"p": asked}, minVersion=version))
    assert errors == [f"spec.cluster.gke.minVersion: pool p of cluster east {what}"]


def test_a_new_cluster_to_which_somebody_brings_the_crd_of_pools_is_only_warned_about() -> None:
    documents = stack({"p": pool(L4)}, minVersion="1.33")
    assert [
        (problem.severity, problem.path, problem.what, problem.next_step)
        for problem in recipe_problems(documents, described_clusters(documents))
    ] == [
        (
            "warning",
            "spec.cluster.gke.minVersion",
            f"{POOLS}minVersion is 1.33 {LLM_D}",
            'Write minVersion: "1.34", or a newer one where Google supports that no longer; or install '
            "the CRD as that page says, and deploy then",
        )
    ]


def test_of_a_cluster_that_exists_a_version_is_only_warned_about() -> None:
    documents = stack({"p": B200}, minVersion="1.31")
    problems = tuple(recipe_problems(documents, described_clusters(documents), {"east"}))
    since = "; the cluster exists, and may have been upgraded since"
    assert of_severity(problems, "error") == ()
    assert [problem.what for problem in problems] == [
        f"{POOLS}minVersion is 1.31 {LLM_D}{since}",
        "pool p of cluster east needs GKE 1.32.1-gke.1729000 for a4-highgpu-8g; minVersion is 1.31 "
        f"{AI_CLUSTER}{since}",
    ]


@pytest.mark.parametrize("channel", ["STABLE", "EXTENDED"])
def test_a_late_channel_without_a_version_is_warned_about(channel: str) -> None:
    assert told(stack({"p": B200}, releaseChannel=channel)) == (
        [],
        [f"spec.cluster.gke.releaseChannel: {POOLS}channel {channel} may have an older one {LLM_D}"],
    )


A3 = pool(recipe("a3-highgpu-8g"))
STAYS = {
    "dailyMaintenanceWindow": {"startTime": "09:00"},
    "maintenanceExclusions": [
        {
            "name": "stays",
            "scope": "NO_MINOR_OR_NODE_UPGRADES",
            "startTime": "2026-11-01T00:00:00Z",
            "endTimeBehavior": "UNTIL_END_OF_SUPPORT",
        }
    ],
}


def broken(**gke: Any) -> list[tuple[str, str]]:
    """Path and words of what is told of the machine, but for the pool and the sources."""
    _, warnings = told(stack({"p": A3}, **gke))
    begins = "pool p of cluster east has a3-highgpu-8g, which Google asks not to use with GKE "
    lines = [line.partition(": ") for line in warnings if begins in line]
    return [(path, line.removeprefix(f"{begins}1.34.1-gke.1431000 or later; ")) for path, _, line in lines]


@pytest.mark.parametrize(
    ("gke", "field", "whose"),
    [
        ({}, "releaseChannel", "channel REGULAR may have such a one"),
        ({"maintenancePolicy": STAYS}, "releaseChannel", "channel REGULAR may have such a one"),
        ({"minVersion": "1.33"}, "releaseChannel", "channel REGULAR may upgrade to such a one"),
        ({"minVersion": "1.35"}, "minVersion", "minVersion is 1.35"),
        ({"minVersion": "1.35", "maintenancePolicy": STAYS}, "minVersion", "minVersion is 1.35"),
    ],
)
def test_machines_that_a_version_is_known_to_break_are_warned_about(
    gke: dict[str, Any], field: str, whose: str
) -> None:
    assert broken(**gke) == [
        (
            f"spec.cluster.gke.{field}",
            f"{whose} (GKE release notes, 2025-10-17: {DOCS}/release-notes#October_17_2025; "
            "cluster-toolkit#5673, 2026-05-15: "
            "https://github.com/GoogleCloudPlatform/cluster-toolkit/pull/5673)",
        )
    ]


def test_a_cluster_that_stays_on_a_version_that_works_is_not_warned_about() -> None:
    assert broken(minVersion="1.33", releaseChannel="EXTENDED", maintenancePolicy=STAYS) == []


@pytest.mark.parametrize(
    ("asked", "gke"),
    [
        (B200, {"releaseChannel": "REGULAR"}),
        (B200, {"releaseChannel": "STABLE", "minVersion": "1.34"}),
        (TCPXO, {"releaseChannel": "STABLE", "minVersion": "1.35"}),
        (pool(L4), {"releaseChannel": "EXTENDED", "minVersion": "1.34"}),
    ],
)
def test_other_clusters_are_new_enough(
    asked: tuple[dict[str, Any], dict[str, Any]], gke: dict[str, Any]
) -> None:
    assert told(stack({"p": asked}, **gke)) == ([], [])
