"""Which endpoint pickers an update replaces, by what runs on the cluster."""

from typing import Any

import pytest
from own_cluster import east_problem

from inferfleet.clusters.preflight.workloads import picker_problems
from inferfleet.desired.values import Component, Connection, DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem


def picker(
    deployment: str = "qwen",
    *args: str,
    name: str = "qwen-epp",
    image: str = "epp:v1",
    cpu: str = "1",
    **pod: Any,
) -> dict[str, Any]:
    container = {
        "name": "epp",
        "image": image,
        "args": ["--pool-name=qwen", "--grpc-port=9002", *args],
        "resources": {"requests": {"cpu": cpu}},
    }
    return {
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "ml", "labels": {"inferfleet.dev/deployment": deployment}},
        "spec": {"template": {"spec": {"containers": [container], **pod}}},
    }


def said(before: list[dict[str, Any]], *after: dict[str, Any]) -> list[Problem]:
    objects = tuple(KubeObject("n", manifest) for manifest in after)
    east = DesiredCluster(
        Connection("east", "existing/east", "active"), (Component("ModelEndpoint", "c", objects),)
    )
    return list(picker_problems(east, before))


def replaced(which: str, what: str) -> Problem:
    return east_problem(
        f"on cluster 'east' an update replaces the endpoint {which} ({what}): the old one serves until the "
        "new one is ready, and ends then",
        "Nodes need room for both meanwhile",
        severity="notice",
    )


def gap(field: str, what: str) -> Problem:
    return Problem(
        f"the endpoint picker of ml/qwen on cluster 'east' {what}, and gateways reach old and new in one "
        "way: requests fail until the old one has left",
        "If they must not, write endpointPicker.replicas: 2 in an update before this one: pickers with "
        "several replicas have a Service and an InferencePool of their own after each change",
        f"spec.endpointPicker.{field}",
        kind="ModelDeployment",
        key="ml/qwen",
        severity="warning",
    )


PLAIN = "--secure-serving=false"
CONFIG = "--config-text=a"


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (picker(), picker(image="epp:v2"), "image"),
        (picker("qwen", "--v=1"), picker("qwen", "--v=2", "--zap-devel=true"), "flag v, flag zap-devel"),
        (picker("qwen", CONFIG), picker("qwen", "--config-text=b"), "configuration"),
        (picker(), picker(cpu="2"), "resources"),
        (picker(), picker(terminationGracePeriodSeconds=130), "its pods"),
        # Another revision or edition has other names.
        (picker(), picker(name="qwen-5e0a77-epp"), "its pods"),
        (picker(), picker("qwen", PLAIN, name="qwen-5e0a77-epp"), "flag secure-serving"),
    ],
)
def test_a_picker_that_changes_is_named_with_what_changes(
    before: dict[str, Any], after: dict[str, Any], what: str
) -> None:
    assert said([before], after) == [replaced("picker of ml/qwen", what)]


def test_pickers_that_change_alike_are_named_together() -> None:
    before = [picker(), picker("gemma", name="gemma-epp")]
    after = [picker(image="epp:v2"), picker("gemma", name="gemma-epp", image="epp:v2")]
    assert said(before, *after) == [replaced("pickers of ml/gemma, ml/qwen", "image")]


def test_a_picker_that_stays_or_is_new_is_not_named() -> None:
    stays = picker(cpu="1000m", schedulerName="default-scheduler", name="qwen-epp")
    engine = {**picker(), "metadata": {"name": "qwen-decode-l4", "namespace": "ml", "labels": {}}}
    assert said([stays, engine], picker(), picker("gemma", name="gemma-epp")) == []


def test_a_picker_that_gateways_reach_in_another_way_is_warned_of() -> None:
    ported = picker()
    [container] = ported["spec"]["template"]["spec"]["containers"]
    container["args"][1] = "--grpc-port=9100"
    assert said([picker()], picker("qwen", PLAIN)) == [
        gap("flags", "begins to serve plain text (secure-serving)"),
        replaced("picker of ml/qwen", "flag secure-serving"),
    ]
    assert said([picker()], ported) == [
        gap("port", "listens for gateways on port 9100 instead of 9002"),
        replaced("picker of ml/qwen", "flag grpc-port"),
    ]
