"""What somebody changed by hand in a Kubernetes object; and what servers and controllers add."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.gke.drift import Drift
from inferfleet.status.drift import object_drift

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
    found: dict[str, Any] = copy.deepcopy({key: MANIFEST[key] for key in ("metadata", "spec")})
    found["metadata"] |= {"uid": "1", "annotations": {"deployment.kubernetes.io/revision": "1"}}
    pod = found["spec"]["template"]["spec"]
    pod["restartPolicy"] = "Always"
    pod["containers"][0]["resources"]["limits"] = {"cpu": "1", "nvidia.com/gpu": "4"}
    return found


def engine(found: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = found["spec"]["template"]["spec"]["containers"][0]
    return container


def told(change: Callable[[dict[str, Any]], object] = lambda _: None, *, whole: bool = True) -> list[str]:
    found = live()
    change(found)
    return [str(one) for one in object_drift("east", "x", MANIFEST, found, whole=whole)]


def sidecar(found: dict[str, Any]) -> None:
    found["spec"]["template"]["spec"]["containers"].insert(0, {"name": "theirs", "image": "x"})


@pytest.mark.parametrize(
    "change",
    [
        lambda _: None,
        lambda found: found["metadata"]["labels"].update(theirs="x"),
        lambda found: engine(found)["env"].insert(0, {"name": "B", "value": "2"}),
        sidecar,
    ],
    ids=["nothing", "a label more", "a variable more", "a container more"],
)
def test_what_a_manifest_does_not_set_is_not_compared(change: Callable[[dict[str, Any]], object]) -> None:
    assert told(change) == []


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda found: found["spec"].update(replicas=0), "spec.replicas is 0, documents say 2"),
        (
            lambda found: found["metadata"]["labels"].clear(),
            "metadata.labels.app is unset, documents say qwen",
        ),
        (
            lambda found: engine(found).update(image="vllm:2"),
            "spec.template.spec.containers[engine].image is vllm:2, documents say vllm:1",
        ),
        (
            lambda found: engine(found)["env"][0].update(value="2"),
            "spec.template.spec.containers[engine].env[A].value is 2, documents say 1",
        ),
        (
            lambda found: engine(found)["args"].append("--c"),
            'spec.template.spec.containers[engine].args is ["--a", "--b", "--c"], documents say '
            '["--a", "--b"]',
        ),
        (
            lambda found: engine(found)["args"].reverse(),
            "spec.template.spec.containers[engine].args[0] is --b, documents say --a",
        ),
        (
            lambda found: engine(found)["resources"]["limits"].update(cpu="2"),
            "spec.template.spec.containers[engine].resources.limits.cpu is 2, documents say 1000m",
        ),
        (
            lambda found: found["spec"]["template"]["spec"]["tolerations"][0].update(key="x"),
            "spec.template.spec.tolerations[0].key is x, documents say gpu",
        ),
        (
            lambda found: found["spec"]["template"]["spec"].update(hostNetwork=True),
            "spec.template.spec.hostNetwork is true, documents say false",
        ),
    ],
)
def test_a_field_that_was_changed_is_named_with_both_values(
    change: Callable[[dict[str, Any]], object], what: str
) -> None:
    assert told(change)[0] == f"x: {what}"


@pytest.mark.parametrize(
    ("owner", "drifted"),
    [
        ({"manager": "kube-controller-manager", "subresource": "scale"}, False),
        ({"manager": "kubectl", "subresource": "scale"}, True),
    ],
    ids=["an autoscaler", "a person"],
)
def test_a_number_of_replicas_belongs_to_the_autoscaler_that_set_it(
    owner: dict[str, str], drifted: bool
) -> None:
    def scale(found: dict[str, Any]) -> None:
        found["spec"]["replicas"] = 5
        found["metadata"]["managedFields"] = [{**owner, "fieldsV1": {"f:spec": {"f:replicas": {}}}}]

    assert bool(told(scale)) == drifted


def test_of_a_secret_the_metadata_alone_is_compared() -> None:
    def only_metadata(found: dict[str, Any]) -> None:
        del found["spec"]
        found["metadata"]["labels"]["app"] = "y"

    assert told(only_metadata, whole=False) == ["x: metadata.labels.app is y, documents say qwen"]


def test_a_change_is_told_with_its_cluster_and_object() -> None:
    found = live()
    found["spec"]["replicas"] = 3
    assert list(object_drift("east", "east Deployment ml/qwen", MANIFEST, found, whole=True)) == [
        Drift("east", "east Deployment ml/qwen", "spec.replicas", "3", "2")
    ]
