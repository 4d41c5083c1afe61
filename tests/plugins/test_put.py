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
            lambda t: api.put_field(t, "spec", "hostname", value="a"),
            ("hostname",),
            "a",
        ),
        (
            _engine(lambda c: api.put_field(c, "securityContext", "runAsUser", value=7)),
            ("containers", 1, "securityContext"),
            {"runAsUser": 7},
        ),
        (
            _engine(lambda c: api.put_resource(c, "memory", "4Gi")),
            ("containers", 1, "resources"),
            {
                "limits": {"nvidia.com/gpu": "2", "memory": "4Gi"},
                "requests": {"nvidia.com/gpu": "2", "memory": "4Gi"},
            },
        ),
        (
            lambda t: api.put_init_container(
                t, {"name": "fetch", "image": "fetch:1", "args": ["more"]}, same=("image",)
            ),
            ("initContainers",),
            [{"name": "fetch", "image": "fetch:1"}],
        ),
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
            _engine(lambda c: api.add_args(c, "--set=a=1", "--set=b=1")),
            ("containers", 1, "args"),
            ["--set=a=1", "--set=b=1"],
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
        (
            lambda t: api.put_init_container(t, {"name": "fetch", "image": "fetch:2"}, same=("image",)),
            "the pod has another init container fetch",
        ),
        (
            lambda t: api.put_field(t, "spec", "schedulerName", value="volcano"),
            "schedulerName volcano contradicts the template, which has kai; remove one of the two",
        ),
        (
            lambda t: api.put_field(t, "spec", "priority", value=True),
            "priority True contradicts the template, which has 1",
        ),
        (
            _engine(lambda c: api.put_resource(c, "nvidia.com/gpu", 4)),
            "container engine asks for 2 nvidia.com/gpu already, and not 4; remove one of the two",
        ),
        (
            _engine(lambda c: api.add_args(c, "--port=9")),
            "the container has --port=8000 already, and not --port=9",
        ),
        (
            _engine(lambda c: api.add_args(c, "--fast=2")),
            "the container has --fast already, and not --fast=2",
        ),
        (
            _engine(lambda c: api.add_args(c, "--set=a=2")),
            "the container has --set=a=1 already, and not --set=a=2; remove one of the two",
        ),
        (
            _engine(lambda c: api.add_args(c, "--trust")),
            "the container has --trust=false already, and not --trust; remove one of the two",
        ),
        (
            _engine(lambda c: api.put_env(c, {"name": "HF_HOME", "value": "/x"}, replace=False)),
            "container engine has HF_HOME already, with another value; remove one of the two",
        ),
        (
            _engine(lambda c: api.put_env(c, {"name": "A", "value": "1"}, {"name": "A", "value": "1"})),
            "variable A is set twice; keep one of the two",
        ),
        (_engine(lambda c: api.add_capability(c, "NET_RAW")), "the container drops the capability NET_RAW"),
        (lambda t: api.require_nodes(t, ZONE, ()), rf"\(\) are no values of the label {ZONE} that nodes may"),
        (lambda t: api.require_nodes(t, ZONE, "a"), f"'a' are no values of the label {ZONE} that nodes may"),
    ],
)
def test_what_is_there_already_in_another_way_is_told(
    generated: PodTemplate, change: Change, said: str
) -> None:
    generated["spec"] |= {"schedulerName": "kai", "priority": 1}
    generated["spec"]["volumes"] = [{"name": "v", "hostPath": {"path": "/v"}}]
    api.engine(generated).update(
        volumeMounts=[{"name": "w", "mountPath": "/data"}],
        args=["--port", "8000", "--set", "a=1", "--trust=false", "-tp", "8", "--fast"],
        securityContext={"capabilities": {"drop": ["NET_RAW"]}},
    )
    with pytest.raises(PluginError, match="^" + said):
        change(generated)


def test_a_script_of_a_shell_gets_no_flags_and_is_not_read(generated: PodTemplate) -> None:
    api.engine(generated).update(command=["/bin/bash", "-e", "-c"], args=["vllm serve m --fast=2"])
    before = copy.deepcopy(generated)
    assert api.add_args(api.engine(generated), "--trust", "--fast") == (
        "container engine is started by the script of a shell, which gets no flags; --trust --fast must be "
        "in it",
    )
    assert generated == before


def test_a_script_that_is_handed_words_gets_flags_among_them(generated: PodTemplate) -> None:
    api.engine(generated).update(command=["sh", "-c", 'exec "$0" "$@"'], args=["vllm", "serve"])
    assert api.add_args(api.engine(generated), "--trust") == ()
    assert api.engine(generated)["args"] == ["vllm", "serve", "--trust"]


@pytest.mark.parametrize(
    ("args", "argument"),
    [
        (["--enable-metrics", "-tp", "8"], "--enable-metrics"),
        (["--enable-metrics", "model"], "--enable-metrics"),
        (["--seed", "-1"], "--seed=-1"),
        (["--otlp-endpoint", "a_b"], "--otlp-endpoint=a_b"),
    ],
)
def test_a_flag_that_is_there_in_other_words_is_not_added(
    generated: PodTemplate, args: list[str], argument: str
) -> None:
    api.engine(generated)["args"] = list(args)
    api.add_args(api.engine(generated), argument)
    assert api.engine(generated)["args"] == args


def test_as_much_in_other_words_stays_as_it_is(generated: PodTemplate) -> None:
    api.engine(generated)["resources"] = {"limits": {"memory": "4096Mi"}}
    api.put_resource(api.engine(generated), "memory", "4Gi")
    assert api.engine(generated)["resources"] == {
        "limits": {"memory": "4096Mi"},
        "requests": {"memory": "4Gi"},
    }


def test_an_init_container_comes_before_the_routing_proxy(generated: PodTemplate) -> None:
    generated["spec"]["initContainers"] = [{"name": "first"}, {"name": "routing-proxy"}]
    api.put_init_container(generated, {"name": "fetch", "image": "fetch:1"})
    names = [container["name"] for container in generated["spec"]["initContainers"]]
    assert names == ["first", "fetch", "routing-proxy"]
