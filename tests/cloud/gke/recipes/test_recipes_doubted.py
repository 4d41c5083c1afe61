"""Recipes of which it is not certain that Google takes them: warned about, never refused."""

from typing import Any

import pytest
from recipe_text import alone, recipe

from inferfleet.cloud.gke.facts import sources

RESERVED = {"name": "r"}
DRA = {"allocation": "DRA", "driver": "INSTALLATION_DISABLED"}


@pytest.mark.parametrize(
    ("spec", "model", "fields", "warning"),
    [
        (
            recipe("a3-edgegpu-8g"),
            "FlexStart",
            {},
            "pool p of cluster east wants a3-edgegpu-8g as FlexStart, about which sources disagree or are "
            f"silent ({sources.FLEX_START})",
        ),
        (
            recipe("a3-highgpu-1g"),
            "Reservation",
            {"reservation": RESERVED},
            "pool p of cluster east wants a3-highgpu-1g as Reservation, about which sources disagree or are "
            f"silent ({sources.GPUS})",
        ),
        (
            recipe("a3-megagpu-8g"),
            "Spot",
            {},
            "pool p of cluster east wants a3-megagpu-8g as Spot, pools of which came up broken "
            f"({sources.BROKEN_SPOT})",
        ),
        (
            recipe("g2-standard-4"),
            "Queued",
            {},
            "pool p of cluster east is Queued: its nodes start for a ProvisioningRequest only, which Kueue "
            "makes for each pod, and which is made once for a workload that is in no queue of Kueue "
            f"({sources.PROVISIONING_REQUEST})",
        ),
        (
            recipe("a3-megagpu-8g", compactPlacement=True),
            "Reservation",
            {"reservation": RESERVED},
            "pool p of cluster east takes reservation r with compact placement (class p), which Google has "
            f"refused: a reservation places its machines itself ({sources.COMPACT_RESERVED})",
        ),
        (
            recipe("g2-standard-4"),
            "OnDemand",
            {"zones": []},
            "pool p of cluster east names no zone; GKE picks some of us-east5, where not all may have "
            f"nvidia-l4 ({sources.GPU_ZONES})",
        ),
        (
            recipe("g2-standard-4", **DRA),
            "OnDemand",
            {},
            "pool p of cluster east starts from 0 nodes with DRA; older GKE sees no devices in a pool "
            f"without nodes, and never starts one ({sources.DRA}; {sources.DRA_FROM_ZERO})",
        ),
        (
            recipe("g2-standard-4", allocation="DRA"),
            "OnDemand",
            {"minNodeCount": 1},
            "class p hands out GPUs by DRA and has GKE's own driver, which Google asks to leave out "
            f"({sources.DRA})",
        ),
        (
            recipe("g2-standard-4", driver="INSTALLATION_DISABLED"),
            "OnDemand",
            {},
            "class p leaves out GKE's own driver; nodes offer no GPUs until another one is installed "
            f"({sources.GKE_GPUS})",
        ),
        (
            recipe("a4x-highgpu-4g"),
            "Reservation",
            {"reservation": RESERVED, "nodeCount": 18},
            f"class p has machine type a4x-highgpu-4g, whose nodes are arm64 ({sources.GPUS})",
        ),
        (
            recipe(
                "a9-hypergpu-8g",
                devices=56,
                memory="40Gi",
                accelerator={"type": "nvidia-r100", "count": 8, "partitionSize": "1g.41gb"},
            ),
            "Spot",
            {},
            "class p has machine type a9-hypergpu-8g, which is not in the table of 2026-04-14: what the "
            "class says of it is not checked",
        ),
    ],
)
def test_what_is_not_certain_is_a_warning(
    spec: dict[str, Any], model: str, fields: dict[str, Any], warning: str
) -> None:
    problems, warnings = alone(spec, model, **fields)
    assert (problems, [one.partition(": ")[2] for one in warnings]) == ([], [warning])


@pytest.mark.parametrize(
    ("spec", "model"),
    [
        (recipe("a3-edgegpu-8g"), "FlexStart"),
        (recipe("g2-standard-4", driver="INSTALLATION_DISABLED"), "OnDemand"),
    ],
)
def test_a_class_that_was_verified_settles_its_doubts(spec: dict[str, Any], model: str) -> None:
    spec["provisioning"]["gke"]["verified"] = "us-east5-a, 2026-11-02"
    assert alone(spec, model) == ([], [])


def test_flex_start_on_g4_is_certain() -> None:
    assert alone(recipe("g4-standard-48"), "FlexStart") == ([], [])


def test_what_the_table_refuses_is_a_warning_where_the_class_was_verified() -> None:
    assert alone(recipe("a3-highgpu-1g", verified="us-east5-a, 2026-11-02")) == (
        [],
        [
            "spec.nodePools[0].capacity.model: pool p of cluster east wants a3-highgpu-1g as OnDemand; "
            f"Google offers it as Spot, FlexStart or Queued only ({sources.GPUS}), "
            "but was seen to work: us-east5-a, 2026-11-02"
        ],
    )


def test_verified_lifts_no_rule_that_rests_on_no_table() -> None:
    problems, _ = alone(
        recipe("g2-standard-4", verified="yes"), nodeCount=3, zones=["us-east5-a", "us-east5-b"]
    )
    assert len(problems) == 1
