"""What keeps pods off every node of their pool, by the labels that are known of its nodes."""

from typing import Any

import pytest

from inferfleet.serving.pod.check import _unmet_affinity

KNOWN = {
    "inferfleet.dev/pool": ("l4-1a2b3c",),
    "kubernetes.io/arch": ("amd64",),
    "topology.kubernetes.io/zone": ("us-east4-a", "us-east4-b"),
    "generation": ("4",),
}


def requires(*terms: list[tuple[str, str, list[str]]], **spec: Any) -> str | None:
    """What is told of a required affinity with these terms, each of expressions."""
    written = [
        {"matchExpressions": [dict(zip(("key", "operator", "values"), one, strict=True)) for one in term]}
        for term in terms
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": written}}
    return _unmet_affinity({"affinity": {"nodeAffinity": required}, **spec}, KNOWN)


ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    "term",
    [
        [("inferfleet.dev/pool", "In", ["l4-1a2b3c", "h100"])],
        [(ZONE, "In", ["us-east4-b"]), (ZONE, "NotIn", ["us-east4-a"])],
        [(ZONE, "Exists", []), ("kubernetes.io/arch", "NotIn", ["arm64"])],
        [("generation", "Gt", ["3"]), ("generation", "Lt", ["5"])],
        [("nvidia.com/gpu.product", "In", ["H100"]), ("spot", "DoesNotExist", [])],
    ],
)
def test_requirements_that_a_node_of_the_pool_may_meet(term: list[tuple[str, str, list[str]]]) -> None:
    assert requires(term) is None
    # Terms are alternatives: the other one does not matter.
    assert requires([("kubernetes.io/arch", "In", ["arm64"])], term) is None


@pytest.mark.parametrize(
    ("term", "why"),
    [
        ([("inferfleet.dev/pool", "In", ["h100"])], "inferfleet.dev/pool In h100 (nodes have l4-1a2b3c)"),
        (
            [(ZONE, "In", ["us-east4-b"]), (ZONE, "NotIn", ["us-east4-b", "us-east4-c"])],
            f"{ZONE} NotIn us-east4-b, us-east4-c (nodes have us-east4-a or us-east4-b)",
        ),
        (
            [("kubernetes.io/arch", "DoesNotExist", [])],
            "kubernetes.io/arch DoesNotExist (nodes have amd64)",
        ),
        ([("generation", "Gt", ["4"])], "generation Gt 4 (nodes have 4)"),
        ([("generation", "Gt", [])], "generation Gt (nodes have 4)"),
        ([("kubernetes.io/arch", "Lt", ["4"])], "kubernetes.io/arch Lt 4 (nodes have amd64)"),
        ([], "an empty term, which takes no node"),
    ],
)
def test_requirements_that_no_node_of_the_pool_meets(
    term: list[tuple[str, str, list[str]]], why: str
) -> None:
    assert requires(term, term) == why


def test_an_affinity_that_contradicts_the_node_selector_takes_no_node_whatever_labels_there_are() -> None:
    assert requires([("team", "In", ["search"])], nodeSelector={"team": "chat"}) == (
        "team In search (nodes have chat)"
    )
