"""Pods of several deployments that keep each other off the nodes of one pool."""

from typing import Any

import pytest
from small_stack import NOTHING, cluster, deployment, stack

from inferfleet.desired import desired
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.plugins.api import Config, Plugin, PodTemplate, Request
from inferfleet.plugins.registry import builtin

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
# The pool has two nodes of four GPUs, and each pod one.
PORT = [{"containerPort": 9000, "hostPort": 9000}]


def apart(**labels: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": HOST}
    return {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}}


def said(*deployments: Any, plugins: Any = (), edit: Any = None) -> list[tuple[str, str]]:
    registry = builtin().with_(Plugin("mine", Config, edit, version="1.0.0")) if edit else builtin()
    try:
        desired(stack(cluster("east"), *deployments, plugins=list(plugins)), NOTHING, registry=registry)
    except InvalidDocuments as invalid:
        return [(f"{problem.key} {problem.path}", problem.what) for problem in invalid.problems]
    return []


SAME_PORT = (
    "pods of ml/a and ml/b take port 9000 of the node, which one pod per node has, but 3 were placed on pool "
    "l4 of cluster east, which has 2 nodes"
)
APART = (
    "pods of ml/a and ml/b may not share a node, but they need 3 nodes of pool l4 of cluster east, where "
    "they were placed, which has 2"
)


def test_two_deployments_with_one_port_of_the_node_and_too_few_nodes_are_refused() -> None:
    a, b = deployment("a", 2, engine={"ports": PORT}), deployment("b", engine={"ports": PORT})
    place = "spec.workers.template.spec.containers[0].ports[0].hostPort"
    assert said(a, b) == [(f"ml/b {place}", SAME_PORT)]
    assert said(deployment("a", engine={"ports": PORT}), b) == []
    udp = [{"containerPort": 9000, "hostPort": 9000, "protocol": "UDP"}]
    assert said(a, deployment("b", engine={"ports": udp})) == []
    assert said(a, deployment("b", engine={"ports": [PORT[0] | {"hostIP": "10.0.0.1"}]})) == []


def test_a_plugin_that_takes_a_port_for_two_deployments_is_named() -> None:
    def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
        template["spec"]["hostNetwork"] = True
        return template

    (problem,) = said(deployment("a", 2), deployment("b"), plugins=[{"name": "mine"}], edit=edit)
    what = SAME_PORT.replace("9000", "8000")
    where = "(deployment ml/a, role decode on east/l4)"
    assert problem == ("test plugins[0]", f"plugin mine: spec.hostNetwork: {what} {where}")


@pytest.mark.parametrize(
    ("a", "b", "problems"),
    [
        # Two nodes for eight pods, and another one for those that they keep away.
        (deployment("a", 5, pod=apart(**{"inferfleet.dev/deployment": "b"})), deployment("b"), [APART]),
        (deployment("a", 4, pod=apart(**{"inferfleet.dev/deployment": "b"})), deployment("b", 4), []),
        (
            deployment("a", 2, pod=apart(**{"inferfleet.dev/role": "decode"})),
            deployment("b", pod=apart(**{"inferfleet.dev/role": "decode"})),
            [APART],
        ),
        (deployment("a", 2, pod=apart(**{"inferfleet.dev/role": "decode"})), deployment("b"), [APART]),
        (
            deployment("a", 2, pod=apart(**{"inferfleet.dev/role": "decode"})),
            deployment("b", namespace="others"),
            [],
        ),
        (deployment("a", 5, pod=apart(app="else")), deployment("b"), []),
    ],
)
def test_deployments_that_may_not_share_nodes_need_enough_of_them(
    a: Any, b: Any, problems: list[str]
) -> None:
    assert [what for _, what in said(a, b)] == problems
