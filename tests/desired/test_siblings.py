"""Pods that keep their own siblings off the nodes where the plan counted them."""

from typing import Any

import pytest
from said_of_both import TRIED, Change, beside, by_document, by_plugin, pod

from inferfleet.documents.problems import Problem

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
OWN = {"matchLabels": {"inferfleet.dev/deployment": "a"}}
AT = f"spec.affinity.podAntiAffinity.{REQUIRED}[0]"
# The pool has two nodes of four GPUs, and each pod one.


def apart(key: str = HOST, **term: Any) -> Change:
    return pod(affinity={"podAntiAffinity": {REQUIRED: [{"labelSelector": OWN, "topologyKey": key, **term}]}})


def expression(key: str, operator: str, **values: Any) -> dict[str, Any]:
    """A selector of one requirement."""
    return {"matchExpressions": [{"key": key, "operator": operator, **values}]}


@pytest.mark.parametrize(
    ("change", "replicas", "place", "what", "next_step"),
    [
        (
            apart(),
            3,
            AT,
            f"no two pods of the workload may have the same {HOST}, but 3 were placed on pool l4 of cluster "
            "east, whose nodes have 2 between them",
            "Make it preferred, give the pool 3 nodes, or lower replicas",
        ),
        (
            apart("inferfleet.dev/pool"),
            2,
            AT,
            "no two pods of the workload may have the same inferfleet.dev/pool, but 2 were placed on pool l4 "
            "of cluster east, whose nodes have 1 between them",
            "Make it preferred, or lower replicas",
        ),
        (
            pod(hostNetwork=True),
            3,
            "spec.hostNetwork",
            "one pod per node has port 8000 of the node, but 3 were placed on pool l4 of cluster east, which "
            "has 2 nodes",
            "Remove hostNetwork, or lower replicas",
        ),
        (
            beside(ports=[{"containerPort": 9000, "hostPort": 9000}]),
            3,
            "spec.containers[side].ports[9000/TCP].hostPort",
            "one pod per node has port 9000 of the node, but 3 were placed on pool l4 of cluster east, which "
            "has 2 nodes",
            "Remove hostPort, or lower replicas",
        ),
    ],
)
def test_more_pods_than_can_run_beside_each_other_are_refused(
    change: Change, replicas: int, place: str, what: str, next_step: str
) -> None:
    assert by_document(change, replicas) == [what]
    assert by_plugin(lambda template: change(template["spec"]), replicas) == [
        Problem(
            f"{TRIED}{place}: {what} (deployment ml/a, role decode on east/l4)",
            next_step,
            "plugins[0]",
            kind="Settings",
            key="test",
        )
    ]


def test_an_update_that_needs_one_node_more_than_there_are_is_refused() -> None:
    said = [
        f"no two pods of the workload may have the same {HOST}, but an update by Surge has 3 at a time on "
        "pool l4 of cluster east, whose nodes have 2 between them"
    ]
    assert by_document(apart(), 2, rollout="Surge") == said
    assert by_document(apart(matchLabelKeys=["pod-template-hash"]), 2, rollout="Surge") == []
    assert by_document(apart(), 2) == []
    assert by_document(pod(hostNetwork=True), 2, rollout="Surge") == [
        "one pod per node has port 8000 of the node, but an update by Surge has 3 at a time on pool l4 of "
        "cluster east, which has 2 nodes"
    ]


@pytest.mark.parametrize(
    "change",
    [
        apart("topology.kubernetes.io/zone"),  # of which nothing is known here
        apart(labelSelector={"matchLabels": {"inferfleet.dev/deployment": "b"}}),
        apart(labelSelector=None),
        apart(
            labelSelector={"matchExpressions": [{"key": "inferfleet.dev/role", "operator": "DoesNotExist"}]}
        ),
        apart(mismatchLabelKeys=["pod-template-hash"]),
        apart(namespaces=["others"]),
        apart(namespaceSelector={"matchLabels": {"team": "others"}}),
    ],
)
def test_what_may_run_is_taken(change: Change) -> None:
    assert by_document(change, 3) == []
    assert by_plugin(lambda template: change(template["spec"]), 3) == []


@pytest.mark.parametrize(
    "term",
    [
        {"labelSelector": {}},
        {
            "labelSelector": {
                "matchExpressions": [{"key": "inferfleet.dev/role", "operator": "In", "values": ["decode"]}]
            }
        },
        {"labelSelector": {"matchExpressions": [{"key": "pod-template-hash", "operator": "Exists"}]}},
        {"matchLabelKeys": ["pod-template-hash"]},
        {"mismatchLabelKeys": ["tier"]},
        {"namespaces": ["others", "ml"]},
        {"namespaceSelector": {}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ml"}}},
    ],
)
def test_every_way_to_select_siblings_is_seen(term: dict[str, Any]) -> None:
    assert len(by_document(apart(**term), 3)) == 1
