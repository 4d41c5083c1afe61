"""What somebody changed by hand in a Kubernetes object; and what servers and controllers add."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.cloud.values import Drift
from inferfleet.clusters.status.drift import object_drift

MANIFEST = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "qwen",
        "namespace": "ml",
        "labels": {"app": "qwen"},
        "annotations": {"pulumi.com/skipAwait": "true"},
    },
    "spec": {
        "replicas": 2,
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "engine",
                        "image": "vllm:1",
                        "args": ["--a", "--b"],
                        "env": [{"name": "A", "value": "1"}],
                        "resources": {"limits": {"cpu": "1000m", "nvidia.com/gpu": 4}},
                    }
                ],
                "tolerations": [{"key": "gpu", "operator": "Exists"}],
                "hostNetwork": False,
            }
        },
    },
}


def live() -> dict[str, Any]:
    """As the API server has it: without apiVersion and kind in lists, with defaults and normal forms."""
    actual: dict[str, Any] = copy.deepcopy({key: MANIFEST[key] for key in ("metadata", "spec")})
    actual["metadata"] |= {"uid": "1", "annotations": {"deployment.kubernetes.io/revision": "1"}}
    pod = actual["spec"]["template"]["spec"]
    pod["restartPolicy"] = "Always"
    pod["containers"][0]["resources"]["limits"] = {"cpu": "1", "nvidia.com/gpu": "4"}
    return actual


def engine(actual: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = actual["spec"]["template"]["spec"]["containers"][0]
    return container


def drifted(change: Callable[[dict[str, Any]], object] = lambda _: None, *, whole: bool = True) -> list[str]:
    actual = live()
    change(actual)
    return [str(drift) for drift in object_drift("east", "x", MANIFEST, actual, whole=whole)]


def sidecar(actual: dict[str, Any]) -> None:
    actual["spec"]["template"]["spec"]["containers"].insert(0, {"name": "theirs", "image": "x"})


@pytest.mark.parametrize(
    "change",
    [
        lambda _: None,
        lambda actual: actual["metadata"]["labels"].update(theirs="x"),
        lambda actual: engine(actual)["env"].insert(0, {"name": "B", "value": "2"}),
        sidecar,
    ],
    ids=["nothing", "a label more", "a variable more", "a container more"],
)
def test_what_a_manifest_does_not_set_is_not_compared(change: Callable[[dict[str, Any]], object]) -> None:
    assert drifted(change) == []


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda actual: actual["spec"].update(replicas=0), "spec.replicas is 0, documents say 2"),
        (
            lambda actual: actual["metadata"]["labels"].clear(),
            "metadata.labels.app is unset, documents say qwen",
        ),
        (
            lambda actual: engine(actual).update(image="vllm:2"),
            "spec.template.spec.containers[engine].image is vllm:2, documents say vllm:1",
        ),
        (
            lambda actual: engine(actual)["env"][0].update(value="2"),
            "spec.template.spec.containers[engine].env[A].value is 2, documents say 1",
        ),
        (
            lambda actual: engine(actual)["args"].append("--c"),
            'spec.template.spec.containers[engine].args is ["--a", "--b", "--c"], documents say '
            '["--a", "--b"]',
        ),
        (
            lambda actual: engine(actual)["args"].reverse(),
            "spec.template.spec.containers[engine].args[0] is --b, documents say --a",
        ),
        (
            lambda actual: engine(actual)["resources"]["limits"].update(cpu="2"),
            "spec.template.spec.containers[engine].resources.limits.cpu is 2, documents say 1000m",
        ),
        (
            lambda actual: actual["spec"]["template"]["spec"]["tolerations"][0].update(key="x"),
            "spec.template.spec.tolerations[0].key is x, documents say gpu",
        ),
        (
            lambda actual: actual["spec"]["template"]["spec"].update(hostNetwork=True),
            "spec.template.spec.hostNetwork is true, documents say false",
        ),
    ],
)
def test_a_field_that_was_changed_is_named_with_both_values(
    change: Callable[[dict[str, Any]], object], what: str
) -> None:
    assert drifted(change)[0] == f"x: {what}"


@pytest.mark.parametrize(
    ("owner", "reported"),
    [
        ({"manager": "kube-controller-manager", "subresource": "scale"}, False),
        ({"manager": "kubectl", "subresource": "scale"}, True),
    ],
    ids=["an autoscaler", "a person"],
)
def test_a_number_of_replicas_belongs_to_the_autoscaler_that_set_it(
    owner: dict[str, str], reported: bool
) -> None:
    def scale(actual: dict[str, Any]) -> None:
        actual["spec"]["replicas"] = 5
        actual["metadata"]["managedFields"] = [{**owner, "fieldsV1": {"f:spec": {"f:replicas": {}}}}]

    assert bool(drifted(scale)) == reported


def test_of_a_secret_the_metadata_alone_is_compared() -> None:
    def only_metadata(actual: dict[str, Any]) -> None:
        del actual["spec"]
        actual["metadata"]["labels"]["app"] = "y"

    assert drifted(only_metadata, whole=False) == ["x: metadata.labels.app is y, documents say qwen"]


def test_a_change_is_told_with_its_cluster_and_object() -> None:
    actual = live()
    actual["spec"]["replicas"] = 3
    assert list(object_drift("east", "east Deployment ml/qwen", MANIFEST, actual, whole=True)) == [
        Drift("east", "east Deployment ml/qwen", "spec.replicas", "3", "2")
    ]


OURS = {"manager": "pulumi-kubernetes-1a2b3c4d", "operation": "Apply"}
CONTROLLERS = {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status"}


@pytest.mark.parametrize(
    ("writers", "undeployed"),
    [
        pytest.param([OURS, CONTROLLERS], True, id="an update alone"),
        pytest.param([OURS, {"manager": "kubectl-edit", "operation": "Update"}], False, id="a person too"),
        pytest.param([], False, id="nobody knows"),
    ],
)
def test_what_an_update_wrote_and_nobody_else_is_not_deployed_yet(
    writers: list[dict[str, str]], undeployed: bool
) -> None:
    actual = live()
    actual["metadata"]["managedFields"] = writers
    engine(actual)["image"] = "vllm:0"
    # Of what is gone nobody knows who took it.
    del engine(actual)["args"]
    told = {
        drift.field: drift.undeployed for drift in object_drift("east", "x", MANIFEST, actual, whole=True)
    }
    pod = "spec.template.spec.containers[engine]"
    assert told == {f"{pod}.image": undeployed, f"{pod}.args": False}
