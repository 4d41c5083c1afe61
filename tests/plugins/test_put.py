"""Edits that plugins make most: merged by Kubernetes' keys, safe to repeat, loud on conflict."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.plugins import api
from inferfleet.plugins.contract import PluginError, PodTemplate

ZONE = "topology.kubernetes.io/zone"
Change = Callable[[PodTemplate], None]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
A = {"name": "A", "value": "1"}
CACHE: dict[str, Any] = {"name": "cache", "emptyDir": {}}


def _engine(change: Callable[[dict[str, Any]], None]) -> Change:
    return lambda template: change(api.engine(template))


@pytest.mark.parametrize(
    ("change", "path", "expected"),
    [
        (lambda t: api.put_volume(t, CACHE), ("volumes",), [CACHE]),
        (
            _engine(lambda c: api.put_mount(c, {"name": "cache", "mountPath": "/c"})),
            ("containers", 1, "volumeMounts"),
            [{"name": "cache", "mountPath": "/c"}],
        ),
        (
            _engine(lambda c: api.put_port(c, {"name": "metrics", "containerPort": 9000})),
            ("containers", 1, "ports"),
            [
                {"name": "http", "containerPort": 8000, "protocol": "TCP"},
                {"name": "metrics", "containerPort": 9000},
            ],
        ),
        (
            lambda t: api.put_container(t, {"name": "side", "image": "s:1"}),
            ("containers", 2),
            {"name": "side", "image": "s:1"},
        ),
        (
            lambda t: api.put_init_container(t, {"name": "side", "image": "s:1", "restartPolicy": "Always"}),
            ("initContainers", 1),
            {"name": "side", "image": "s:1", "restartPolicy": "Always"},
        ),
        (
            _engine(lambda c: api.put_env(c, {"name": "HF_HOME", "value": "/x"}, A)),
            ("containers", 1, "env"),
            [
                {"name": "HF_HOME", "value": "/x"},
                {"name": "LAST", "value": "$(HF_HOME)"},
                A,
            ],
        ),
        (
            _engine(lambda c: api.add_capability(c, "IPC_LOCK", "SYS_NICE", "IPC_LOCK")),
            ("containers", 1, "securityContext"),
            {"capabilities": {"add": ["IPC_LOCK", "SYS_NICE"]}},
        ),
        (
            _engine(lambda c: api.add_args(c, "--a=1", "--trust")),
            ("containers", 1, "args"),
            ["--a=1", "--trust"],
        ),
        (
            lambda t: api.require_nodes(t, ZONE, ("a", "b")),
            ("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"),
            [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a", "b"]}]}],
        ),
    ],
)
def test_an_edit_adds_what_it_says_once(
    generated: PodTemplate, change: Change, path: tuple[Any, ...], expected: Any
) -> None:
    change(generated)
    here: Any = generated["spec"]
    for step in path:
        here = here[step]
    assert here == expected
    once = copy.deepcopy(generated)
    change(generated)
    assert generated == once


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda t: api.put_volume(t, {"name": "v", "emptyDir": {}}),
            "the pod has another volume v, which is",
        ),
        (
            _engine(lambda c: api.put_mount(c, {"name": "v", "mountPath": "/data"})),
            "the pod has another mount /data",
        ),
        (
            _engine(lambda c: api.put_port(c, {"name": "more", "containerPort": 8000})),
            "the pod has another port 8000/TCP",
        ),
        (
            _engine(lambda c: api.put_port(c, {"name": "http", "containerPort": 8001})),
            "the container has another port named http",
        ),
        (
            lambda t: api.put_container(t, {"name": "logs", "image": "other"}),
            "the pod has another container logs",
        ),
        (
            lambda t: api.put_init_container(t, {"name": "fetch", "image": "other"}),
            "the pod has another init container fetch",
        ),
        (_engine(lambda c: api.add_args(c, "--port=9")), "the container has --port 8000 already, and not 9"),
        (_engine(lambda c: api.add_args(c, "--fast=2")), "the container has --fast already, and not 2"),
        (_engine(lambda c: api.add_capability(c, "NET_RAW")), "the container drops the capability NET_RAW"),
    ],
)
def test_what_is_there_already_in_another_way_is_told(
    generated: PodTemplate, change: Change, said: str
) -> None:
    generated["spec"]["volumes"] = [{"name": "v", "hostPath": {"path": "/v"}}]
    api.engine(generated).update(
        volumeMounts=[{"name": "w", "mountPath": "/data"}],
        args=["--port", "8000", "--fast"],
        securityContext={"capabilities": {"drop": ["NET_RAW"]}},
    )
    with pytest.raises(PluginError, match="^" + said):
        change(generated)
