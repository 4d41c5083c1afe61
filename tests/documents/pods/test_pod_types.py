"""The types of a pod: every field of another type is named by its path, with its container or volume."""

import copy
import sys
from subprocess import run
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferfleet.documents.pods.template import spec_mistakes, template_mistakes, without_nulls
from inferfleet.documents.wording import path_of

ENGINE = {"name": "engine", "image": "engine:1"}


def _said(pod: dict[str, Any] | None = None, **engine: Any) -> list[tuple[str, str, str]]:
    """What is said of an engine with these fields in a pod with those."""
    spec = {"containers": [ENGINE | engine], **(pod or {})}
    return [(path_of(mistake.field_path), mistake.what, mistake.next_step) for mistake in spec_mistakes(spec)]


@pytest.mark.parametrize(
    ("pod", "path", "what", "next_step"),
    [
        (
            {"volumes": "x"},
            "volumes",
            "{field} must be a list, not 'x'",
            "Write a list",
        ),
        ({"volumes": [3]}, "volumes[0]", "{field} must be a map, not 3", "Write a map"),
        ({"volumes": [{"emptyDir": {}}]}, "volumes[0].name", "field name is missing", "Add name"),
        (
            {"volumes": [{"name": "v"}, {"name": "v"}]},
            "volumes[1].name",
            "a second entry of volumes has the name 'v'",
            "Change or remove one of the two",
        ),
        (
            {"volumes": [{"name": "v", "emptyDir": "Memory"}]},
            "volumes[0].emptyDir",
            "volume v: {field} must be a map, not 'Memory'",
            "Write a map",
        ),
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "s", "items": [{"key": 1, "path": "p"}]}}]},
            "volumes[0].secret.items[0].key",
            "volume v: {field} must be a string, not 1",
            "Quote it",
        ),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"secret": "s"}]}}]},
            "volumes[0].projected.sources[0].secret",
            "volume v: {field} must be a map, not 's'",
            "Write a map",
        ),
        ({"nodeSelector": ["x"]}, "nodeSelector", "{field} must be a map, not a list", "Write a map"),
        (
            {"nodeSelector": {"disk": True}},
            "nodeSelector.disk",
            "{field} must be a string, not true",
            "Quote it",
        ),
        (
            {"nodeSelector": {"disk": None}},
            "nodeSelector.disk",
            "{field} must be a string, not nothing",
            "Write a string",
        ),
        ({"nodeName": 5}, "nodeName", "{field} must be a string, not 5", "Quote it"),
        ({"tolerations": [None]}, "tolerations[0]", "{field} must be a map, not nothing", "Write a map"),
        ({"affinity": "none"}, "affinity", "{field} must be a map, not 'none'", "Write a map"),
        (
            {"affinity": {"podAffinity": 1}},
            "affinity.podAffinity",
            "{field} must be a map, not 1",
            "Write a map",
        ),
        (
            {"terminationGracePeriodSeconds": "1m"},
            "terminationGracePeriodSeconds",
            "{field} must be an integer, not '1m'",
            "Write an integer",
        ),
        (
            {"hostNetwork": "yes"},
            "hostNetwork",
            "{field} must be true or false, not 'yes'",
            "Write true or false",
        ),
        ({"priority": True}, "priority", "{field} must be an integer, not true", "Write an integer"),
        ({"imagePullSecrets": ["s"]}, "imagePullSecrets[0]", "{field} must be a map, not 's'", "Write a map"),
        (
            {"initContainers": {}},
            "initContainers",
            "{field} must be a list, not a map",
            "Write a list",
        ),
    ],
)
def test_a_field_of_a_pod_of_another_type_is_a_mistake(
    pod: dict[str, Any], path: str, what: str, next_step: str
) -> None:
    assert _said(pod) == [(path, what, next_step)]


@pytest.mark.parametrize(
    ("engine", "path", "what", "next_step"),
    [
        (
            {"command": "vllm serve"},
            "command",
            "{field} must be a list, not 'vllm serve'",
            "Write a list",
        ),
        ({"args": ["--port", 8000]}, "args[1]", "{field} must be a string, not 8000", "Quote it"),
        (
            {"env": {"A": "1"}},
            "env",
            "{field} must be a list, not a map",
            "Write a list",
        ),
        ({"env": [{"value": "1"}]}, "env[0].name", "field name is missing", "Add name"),
        (
            {"env": [{"name": ""}]},
            "env[0].name",
            "{field} '' must be printable ASCII characters other than '='",
            "Change it",
        ),
        ({"env": [{"name": "A", "value": 1}]}, "env[0].value", "{field} must be a string, not 1", "Quote it"),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": 5, "key": "k"}}}]},
            "env[0].valueFrom.secretKeyRef.name",
            "{field} must be a string, not 5",
            "Quote it",
        ),
        (
            {"envFrom": [{"secretRef": {"name": "s", "optional": "yes"}}]},
            "envFrom[0].secretRef.optional",
            "{field} must be true or false, not 'yes'",
            "Write true or false",
        ),
        ({"ports": [8000]}, "ports[0]", "{field} must be a map, not 8000", "Write a map"),
        (
            {"ports": [{"containerPort": "http"}]},
            "ports[0].containerPort",
            "{field} must be an integer, not 'http'",
            "Write an integer",
        ),
        ({"ports": [{}]}, "ports[0].containerPort", "field containerPort is missing", "Add containerPort"),
        ({"resources": {"limits": 2}}, "resources.limits", "{field} must be a map, not 2", "Write a map"),
        (
            {"resources": {"limits": {"cpu": None}}},
            "resources.limits.cpu",
            "{field} must be a quantity such as 80Gi, 500m or 4, not nothing",
            "Write a quantity such as 80Gi, 500m or 4",
        ),
        (
            {"volumeMounts": [{"name": "", "mountPath": "/v"}]},
            "volumeMounts[0].name",
            "the pod has no volume ''",
            "Add it to the volumes of the pod",
        ),
        (
            {"resources": {"limits": {"memory": "512m"}}},
            "resources.limits.memory",
            "{field} '512m' is thousandths of a byte",
            "Write 512Mi",
        ),
        ({"lifecycle": []}, "lifecycle", "{field} must be a map, not a list", "Write a map"),
        ({"arg": []}, "arg", "Kubernetes 1.36 has no field 'arg' here", "Did you mean args?"),
        ({"image": 5}, "image", "{field} must be a string, not 5", "Quote it"),
    ],
)
def test_a_field_of_a_container_of_another_type_is_a_mistake(
    engine: dict[str, Any], path: str, what: str, next_step: str
) -> None:
    assert _said(**engine) == [(f"containers[0].{path}", f"container engine: {what}", next_step)]


def test_containers_are_maps_of_names_of_their_own_and_one_is_the_engine() -> None:
    spec = {
        "containers": ["engine", {"name": "a", "image": "x"}],
        "initContainers": [{"name": "a", "image": "x"}],
    }
    assert [(path_of(mistake.field_path), mistake.what) for mistake in spec_mistakes(spec)] == [
        ("containers[0]", "{field} must be a map, not 'engine'"),
        ("containers", "a template has exactly one container named engine, but this one has none"),
        ("initContainers[0].name", "a container and an init container are both named 'a'"),
    ]


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({}, "field containers is missing"),
        ({"containers": None}, "field containers is missing"),
        ({"containers": []}, "a template has exactly one container named engine, but this one has none"),
    ],
)
def test_a_pod_without_containers_is_one_mistake(spec: dict[str, Any], what: str) -> None:
    mistakes = [(path_of(mistake.field_path), mistake.what) for mistake in spec_mistakes(spec)]
    assert mistakes == [("containers", what)]


@pytest.mark.parametrize(
    ("template", "path", "what"),
    [
        ([], "", "{field} must be a map, not a list"),
        ({}, "spec", "field spec is missing"),
        ({"metadata": {"labels": {"a": 5}}}, "metadata.labels.a", "{field} must be a string, not 5"),
        ({"metadata": {"annotations": []}}, "metadata.annotations", "{field} must be a map, not a list"),
        ({"kind": "Pod"}, "kind", "Kubernetes 1.36 has no field 'kind' here"),
        ({"spec": 3}, "spec", "{field} must be a map, not 3"),
        ({"spec": {"containers": [ENGINE], "x": 1}}, "spec.x", "Kubernetes 1.36 has no field 'x' here"),
    ],
)
def test_a_template_is_checked_from_its_top(template: Any, path: str, what: str) -> None:
    whole = {"spec": {"containers": [ENGINE]}} | template if template else template
    assert [(path_of(mistake.field_path), mistake.what) for mistake in template_mistakes(whole)] == [
        (path, what)
    ]


WHOLE: dict[str, Any] = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"a": ""}},
    "spec": {
        "containers": [
            ENGINE
            | {
                "args": ["serve"],
                "env": [
                    {"name": "A", "value": ""},
                    {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
                    {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                ],
                "envFrom": [{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "c"}}],
                "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP", "hostPort": 1}],
                "resources": {"limits": {"cpu": 2, "memory": "1Gi", "a.b/c": 2}, "requests": {}},
                "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}],
                "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
            }
        ],
        "initContainers": [{"name": "fetch", "image": "x", "restartPolicy": "Always"}],
        "volumes": [
            {"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
            {
                "name": "w",
                "projected": {"sources": [{"secret": {"name": "s"}}, {"configMap": {"name": "c"}}]},
            },
            {"name": "x", "secret": {"secretName": "s", "items": [{"key": "k", "path": "k", "mode": 256}]}},
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]},
                    ]
                }
            },
            "podAntiAffinity": {},
        },
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 0,
        "hostNetwork": False,
        "securityContext": {"runAsUser": 1000},
    },
}


def test_what_kubernetes_takes_passes() -> None:
    assert list(template_mistakes(WHOLE)) == []


def test_a_null_is_an_absent_field() -> None:
    spec = WHOLE["spec"] | {"dnsConfig": None, "hostname": None}
    assert list(spec_mistakes(spec)) == []
    assert without_nulls({"a": None, "b": [{"c": None, "d": 1}]}) == {"b": [{"d": 1}]}


def _places(value: Any) -> list[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in pairs for place in ((value, key), *_places(inner))]


VALUES = st.sampled_from([None, True, -1, 1.5, "", "x", [], {}, [None], ["x"], [{}], {"x": None}, {"x": {}}])


@given(st.integers(0), VALUES)
def test_any_value_anywhere_is_judged_without_a_crash(number: int, value: Any) -> None:
    template = copy.deepcopy(WHOLE)
    places = _places(template)
    holder, key = places[number % len(places)]
    holder[key] = value
    for mistake in template_mistakes(template):
        assert mistake.field_path


def test_the_check_is_light_to_import() -> None:
    code = "import sys, inferfleet.documents.pods.template; sys.exit('pydantic' in sys.modules)"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
