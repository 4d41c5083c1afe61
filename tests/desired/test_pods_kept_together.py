"""Pods of a worker that are told to share a node, where each has one of its own."""

from typing import Any

import pytest
from small_stack import NOTHING, cluster, deployment, stack

from inferfleet.api.problems import InvalidDocuments, Problem
from inferfleet.desired import desired

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
OWN = {"inferfleet.dev/deployment": "a"}
GROUP = {"matchLabelKeys": ["leaderworkerset.sigs.k8s.io/group-key"]}
ENGINE = {"name": "engine", "image": "engine:1"}
ENCODE = {"encode": {"workers": {"topology": {"tensor": 1}, "template": {"spec": {"containers": [ENGINE]}}}}}


def said(pods: int = 2, *, key: str = HOST, **term: Any) -> list[Problem]:
    """What is said of a worker of so many pods with a required affinity to pods by this term."""
    more = term.pop("more", {})
    affinity = {
        "podAffinity": {REQUIRED: [{"labelSelector": {"matchLabels": OWN}, "topologyKey": key, **term}]}
    }
    template = {"spec": {"containers": [ENGINE], "affinity": affinity}}
    workers = {"topology": {"tensor": 1, "pipeline": pods}, "template": template}
    documents = stack(cluster("east"), deployment("a", workers=workers, **more))
    try:
        desired(documents, NOTHING)
    except InvalidDocuments as invalid:
        return list(invalid.problems)
    return []


@pytest.mark.parametrize(
    "term",
    [
        {},
        {
            "labelSelector": {"matchLabels": {**OWN, "inferfleet.dev/role": "decode"}},
            "more": {"roles": ENCODE},
        },
        {"labelSelector": {}, **GROUP},
    ],
)
def test_a_worker_whose_pods_require_each_other_on_one_node_is_refused(term: dict[str, Any]) -> None:
    assert said(**term) == [
        Problem(
            "it requires all pods of the workload on one node, but the 2 pods of a worker stand on nodes of "
            "their own in pool l4 of cluster east",
            "Remove it, or make it preferred",
            f"spec.workers.template.spec.affinity.podAffinity.{REQUIRED}[0]",
            kind="ModelDeployment",
            key="ml/a",
        )
    ]


@pytest.mark.parametrize(
    "term",
    [
        {"pods": 1},
        {"key": "topology.kubernetes.io/zone"},
        {"labelSelector": {"matchLabels": {"app": "cache"}}},
        {"labelSelector": {}},
        {"namespaces": ["others"]},
        {"more": {"roles": ENCODE}},  # each pod may stand beside one of the other role
    ],
)
def test_pods_that_may_stand_beside_others_are_not(term: dict[str, Any]) -> None:
    assert said(**term) == []
