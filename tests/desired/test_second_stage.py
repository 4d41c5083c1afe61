"""All problems of CEL, command lines, plugins and placement come at once; without any, a whole value."""

import pytest
from small_stack import cluster, deployment, lock, made, service

from inferfleet.documents.problems import InvalidDocuments

UNKNOWN = "plugin unheard-of is not registered"
HF = {"name": "hf", "key": "token"}


def test_problems_of_every_kind_come_at_once() -> None:
    tweak = {"name": "demo-pod-tweaks", "config": {"colour": "red"}}
    with pytest.raises(InvalidDocuments) as raised:
        made(
            cluster("east"),
            deployment("a", nodeSelector={"cel": "capcity"}),
            deployment("b", engine={"command": ["vllm", "serve", "m", "--port=1"]}),
            deployment("c", plugins=[tweak]),
            deployment("d", plugins=[{"name": "unheard-of"}]),
            deployment("e", pod={"nodeSelector": {"inferfleet.dev/pool": "mine"}}),
            deployment("g", engine={"env": [{"name": "T", "valueFrom": {"secretKeyRef": HF}}]}),
            service("s", app="nobody"),
            secrets={"ml/hf": ["user"]},
            lock=lock({"f gone/l4": 1}),
            plugins=[{"name": "unheard-of"}],
        )
    assert [(problem.path, problem.what.partition(":")[0]) for problem in raised.value.problems] == [
        ("", "the lock has 1 replica of ml/f on cluster gone, but that cluster has no document"),
        ("plugins[0].name", UNKNOWN),
        (
            "spec.endpoints[0].selector",
            "selector app=nobody matches no deployment of namespace ml where it may run",
        ),
        ("spec.nodeSelector.cel", "line 1, column 1 of the expression"),
        ("spec.plugins[0].config.colour", "build plugin demo-pod-tweaks"),
        ("spec.plugins[0].name", UNKNOWN),
        (
            "spec.workers.template.spec",
            "ml/g reads key 'token' of secret hf, and the stack holds only user for ml/hf",
        ),
        (
            "spec.workers.template.spec.containers[0]",
            "--port is 1, and engine.port of the document is 8000",
        ),
        (
            "spec.workers.template.spec.nodeSelector",
            "no pool of the clusters that clusterSelector matches has nodes for this template (east/l4",
        ),
    ]


def test_the_same_values_give_the_same_value() -> None:
    documents = [cluster("east"), cluster("west"), deployment("a", 3), service("s")]
    assert made(*documents) == made(*reversed(documents))


def test_outputs_are_replicas_by_deployment_and_spot_and_clusters_by_service() -> None:
    found = made(
        cluster("east", pools=("p", "q")),
        cluster("west"),
        deployment("a", 4),
        deployment("b"),
        service("s"),
        lock=lock({"a east/p": 2, "a east/q": 1, "a west/l4": 1, "b east/q": 1}),
    )
    assert found.outputs == {
        "placements": {
            "ml/a": {"east decode=p": 2, "east decode=q": 1, "west decode=l4": 1},
            "ml/b": {"east decode=q": 1},
        },
        "services": {"ml/s": ["east", "west"]},
        "plugins": {},
    }


def test_a_stack_without_documents_desires_nothing() -> None:
    found = made()
    assert (found.clusters, found.outputs) == ((), {"placements": {}, "services": {}, "plugins": {}})
