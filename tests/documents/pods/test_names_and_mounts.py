"""Names that are there twice in a pod, mounts without a volume, and what is left to the API server."""

from typing import Any

import pytest

from inferfleet.documents.pods.template import spec_mistakes, template_mistakes
from inferfleet.documents.wording import path_of

ENGINE = {"name": "engine", "image": "engine:1"}
V = {"name": "v", "mountPath": "/v"}


def _said(spec: dict[str, Any]) -> list[tuple[str, str]]:
    whole = {"containers": [ENGINE], **spec}
    return [(path_of(mistake.field_path), mistake.what) for mistake in spec_mistakes(whole)]


def _engine(**fields: Any) -> dict[str, Any]:
    return {"containers": [ENGINE | fields]}


@pytest.mark.parametrize(
    ("spec", "path", "what"),
    [
        (
            {"containers": [ENGINE, ENGINE]},
            "containers[1].name",
            "a second entry of containers has the name 'engine'",
        ),
        (
            {"initContainers": [{"name": "engine", "image": "x"}]},
            "initContainers[0].name",
            "a container and an init container are both named 'engine'",
        ),
        (
            _engine(ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
            "containers[0].ports[1].name",
            "container engine: a second port is named 'a'",
        ),
        (
            _engine(ports=[{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}]),
            "containers[0].ports[1].containerPort",
            "container engine: a second entry of ports has the containerPort '1' and the protocol 'TCP'",
        ),
        (
            _engine(volumeMounts=[V]),
            "containers[0].volumeMounts[0].name",
            "container engine: the pod has no volume 'v'",
        ),
        (
            {
                "initContainers": [
                    {"name": "a", "image": "x", "volumeDevices": [{"name": "v", "devicePath": "/d"}]}
                ]
            },
            "initContainers[0].volumeDevices[0].name",
            "init container a: the pod has no volume 'v'",
        ),
        (
            {"volumes": [{"name": "v"}], **_engine(volumeMounts=[V, V])},
            "containers[0].volumeMounts[1].mountPath",
            "container engine: a second entry of volumeMounts has the mountPath '/v'",
        ),
    ],
)
def test_a_doubled_name_and_a_mount_without_a_volume_are_named(
    spec: dict[str, Any], path: str, what: str
) -> None:
    assert _said(spec) == [(path, what)]


def test_the_volume_that_was_meant_is_named() -> None:
    mount = {"name": "modles", "mountPath": "/models"}
    spec = {"volumes": [{"name": "models"}], **_engine(volumeMounts=[mount])}
    (mistake,) = spec_mistakes({"containers": [ENGINE], **spec})
    assert mistake.next_step == "Did you mean models?"


def test_names_of_pods_are_not_a_templates_to_give() -> None:
    template = {"metadata": {"name": "a", "finalizers": ["example.com/a"]}, "spec": {"containers": [ENGINE]}}
    assert [path_of(mistake.field_path) for mistake in template_mistakes(template)] == [
        "metadata.name",
        "metadata.finalizers",
    ]


@pytest.mark.parametrize(
    "spec",
    [
        _engine(resources={"requests": {"nvidia.com/gpu": 1, "cpu": 2}, "limits": {"cpu": 1}}),
        _engine(livenessProbe={"httpGet": {"port": 70_000}, "tcpSocket": {"port": 1}}),
        _engine(lifecycle={"preStop": {"sleep": {"seconds": 90_000}}}),
        {"containers": [{"name": "engine"}]},
        {"restartPolicy": "Never", "priority": 5, "hostUsers": False, "hostPID": True},
        {"volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]},
    ],
)
def test_what_an_api_server_says_itself_is_left_to_it(spec: dict[str, Any]) -> None:
    assert _said(spec) == []
