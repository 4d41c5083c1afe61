"""What pods ask of the labels of nodes, as kube-scheduler compares it, for known labels and others."""

from typing import Any

import pytest

from inferfleet.fleet.node_conditions import (
    ALL_MATCH,
    LabelMatch,
    MatchingNodes,
    NodeConditions,
    Requirement,
    conditions_of,
    label_match,
)

ZONE, ARCH = "topology.kubernetes.io/zone", "kubernetes.io/arch"
KNOWN = {
    "inferfleet.dev/pool": ("l4-1a2b3c",),
    ARCH: ("amd64",),
    ZONE: ("us-east4-a", "us-east4-b"),
    "generation": ("4",),
    "spot": (None,),
    "rack": (None, "r1"),
}
Term = list[tuple[str, str, list[str]]]


def judged(*terms: Term, known: Any = KNOWN, products: Any = None, **spec: Any) -> LabelMatch:
    """How nodes stand to a required affinity with these terms, each of expressions, and to a selector."""
    written = [
        {"matchExpressions": [dict(zip(("key", "operator", "values"), one, strict=True)) for one in term]}
        for term in terms
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": written}}
    conditions = conditions_of({**({"affinity": {"nodeAffinity": required}} if terms else {}), **spec})
    assert conditions is not None
    return label_match(conditions, known, products or {})


@pytest.mark.parametrize(
    "term",
    [
        [("inferfleet.dev/pool", "In", ["l4-1a2b3c", "h100"])],
        [(ZONE, "Exists", []), (ARCH, "NotIn", ["arm64"])],
        [(ZONE, "In", ["us-east4-a", "us-east4-b"])],
        [("generation", "Gt", ["3"]), ("generation", "Lt", ["5"])],
        [("spot", "DoesNotExist", [])],
        [("spot", "NotIn", ["true"])],
    ],
)
def test_every_node_meets(term: Term) -> None:
    assert judged(term) == ALL_MATCH
    # Terms are alternatives: the others do not matter.
    assert judged([(ARCH, "In", ["arm64"])], [("unheard-of", "Exists", [])], term) == ALL_MATCH


@pytest.mark.parametrize(
    ("term", "needs", "key"),
    [
        ([(ZONE, "In", ["us-east4-b"]), (ZONE, "NotIn", ["us-east4-a"])], f"{ZONE}=us-east4-b", ZONE),
        ([("rack", "Exists", [])], "rack", "rack"),
        ([("rack", "NotIn", ["r1"])], "rack notin (r1)", "rack"),
    ],
)
def test_some_nodes_meet(term: Term, needs: str, key: str) -> None:
    assert judged(term) == LabelMatch(MatchingNodes.SOME, (needs,), (key,))


@pytest.mark.parametrize(
    ("term", "needs", "has"),
    [
        (
            [("inferfleet.dev/pool", "In", ["h100"])],
            "inferfleet.dev/pool=h100",
            "inferfleet.dev/pool=l4-1a2b3c",
        ),
        (
            [(ZONE, "In", ["us-east4-b"]), (ZONE, "NotIn", ["us-east4-b", "us-east4-c"])],
            f"{ZONE} notin (us-east4-b,us-east4-c)",
            f"{ZONE}=us-east4-a or {ZONE}=us-east4-b",
        ),
        ([(ARCH, "DoesNotExist", [])], f"!{ARCH}", f"{ARCH}=amd64"),
        ([("generation", "Gt", ["4"])], "generation > 4", "generation=4"),
        ([("generation", "Gt", [])], "generation > ", "generation=4"),
        ([(ARCH, "Lt", ["4"])], f"{ARCH} < 4", f"{ARCH}=amd64"),
        ([("spot", "In", ["true"])], "spot=true", "no label spot"),
        ([("spot", "Gt", ["1"])], "spot > 1", "no label spot"),
        ([("rack", "In", ["r2"])], "rack=r2", "rack=r1 or no label rack"),
    ],
)
def test_no_node_meets(term: Term, needs: str, has: str) -> None:
    assert judged(term, term) == LabelMatch(MatchingNodes.NONE, (needs,), (term[-1][0],), has)
    assert judged(term).why == f"its nodes have {has}, and the template needs {needs}"


def test_of_terms_that_no_node_meets_all_are_told_and_an_empty_one_takes_no_node() -> None:
    assert judged([(ARCH, "In", ["arm64"])], [(ZONE, "In", ["z"])], []).why == (
        f"its nodes have {ARCH}=amd64 and {ZONE}=us-east4-a or {ZONE}=us-east4-b, and the template needs "
        f"{ARCH}=arm64; or {ZONE}=z; or an empty term, which takes no node"
    )


def test_what_is_not_known_is_neither_met_nor_unmet() -> None:
    unknown = LabelMatch(MatchingNodes.UNKNOWN, ("disk=fast",), ("disk",))
    assert judged(nodeSelector={"disk": "fast", ARCH: "amd64"}) == unknown
    assert judged([(ARCH, "In", ["arm64"])], [("disk", "In", ["fast"])]) == unknown
    assert judged([("disk", "DoesNotExist", []), (ARCH, "In", ["arm64"])]).nodes == MatchingNodes.NONE
    assert judged([(ZONE, "In", ["us-east4-a"])], [("disk", "In", ["fast"])]).nodes == MatchingNodes.SOME


def test_labels_of_one_term_are_needed_together() -> None:
    together = LabelMatch(MatchingNodes.UNKNOWN, ("disk=fast, rank=1",), ("disk", "rank"))
    assert judged(nodeSelector={"disk": "fast", "rank": "1"}) == together
    assert judged([("rank", "In", ["1"])], nodeSelector={"disk": "fast"}) == together


def test_what_contradicts_itself_takes_no_node_whatever_labels_there_are() -> None:
    of_both = judged([("team", "In", ["search"])], nodeSelector={"team": "chat"})
    assert of_both == LabelMatch(MatchingNodes.NONE, ("team=chat, team=search",), ("team",))
    assert judged([("team", "In", ["a"]), ("team", "NotIn", ["a"])]).why == "needs team=a, team notin (a)"


def test_a_label_with_a_product_has_that_of_the_class_or_is_not_there() -> None:
    products = {"nvidia.com/gpu.product": "NVIDIA-L4"}

    def nodes(product: str) -> MatchingNodes:
        return judged(nodeSelector={"nvidia.com/gpu.product": product}, products=products).nodes

    assert nodes("NVIDIA-H100-80GB-HBM3") == MatchingNodes.NONE
    assert nodes("NVIDIA-L4") == nodes("NVIDIA-L4-SHARED") == MatchingNodes.UNKNOWN


def test_the_name_of_a_node_is_read_like_a_label() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["bad"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    assert conditions_of({"affinity": {"nodeAffinity": required}}) == NodeConditions(
        (), ((Requirement("metadata.name", "NotIn", ("bad",)),),)
    )


@pytest.mark.parametrize("spec", [{}, {"nodeSelector": {}}, {"affinity": {"podAffinity": {}}}])
def test_most_pods_ask_nothing_of_labels(spec: dict[str, Any]) -> None:
    assert conditions_of(spec) is None
