"""What pods name and the stack does not make has to be on their cluster; each has the line that names it."""

from typing import Any

import pytest
from small_stack import cluster, deployment, made

from inferfleet.desired.values import ObjectNeed

TEMPLATE = "spec.workers.template.spec"
CLAIM = {"name": "models", "persistentVolumeClaim": {"claimName": "models"}}
CLASS = {"volumeClaimTemplate": {"spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}}}


def _needs(*documents: Any, **settings: Any) -> tuple[ObjectNeed, ...]:
    return made(cluster("east"), *documents, **settings).clusters[0].objects_needed


def _need(
    what: str,
    name: str,
    path: str,
    *keys: str,
    namespace: str = "ml",
    document: tuple[str, str] = ("ModelDeployment", "ml/a"),
) -> ObjectNeed:
    return ObjectNeed(what, namespace, name, keys, ("ml/a",), *document, path)


@pytest.mark.parametrize(
    ("pod", "needed"),
    [
        (
            {"volumes": [CLAIM]},
            _need(
                "PersistentVolumeClaim", "models", f"{TEMPLATE}.volumes[0].persistentVolumeClaim.claimName"
            ),
        ),
        (
            {"volumes": [{"name": "b", "csi": {"driver": "gcsfuse.csi.storage.gke.io"}}]},
            _need(
                "CSIDriver",
                "gcsfuse.csi.storage.gke.io",
                f"{TEMPLATE}.volumes[0].csi.driver",
                namespace="",
            ),
        ),
        (
            {"volumes": [{"name": "b", "ephemeral": CLASS}]},
            _need(
                "StorageClass",
                "fast",
                f"{TEMPLATE}.volumes[0].ephemeral.volumeClaimTemplate.spec.storageClassName",
                namespace="",
            ),
        ),
        (
            {
                "volumes": [
                    {"name": "c", "configMap": {"name": "rules", "items": [{"key": "k", "path": "k"}]}}
                ]
            },
            _need("ConfigMap", "rules", f"{TEMPLATE}.volumes[0].configMap.name", "k"),
        ),
        (
            {"serviceAccountName": "reader"},
            _need("ServiceAccount", "reader", f"{TEMPLATE}.serviceAccountName"),
        ),
        (
            {"runtimeClassName": "nvidia"},
            _need("RuntimeClass", "nvidia", f"{TEMPLATE}.runtimeClassName", namespace=""),
        ),
        (
            {"priorityClassName": "serving"},
            _need("PriorityClass", "serving", f"{TEMPLATE}.priorityClassName", namespace=""),
        ),
    ],
    ids=lambda value: value.object_kind if isinstance(value, ObjectNeed) else "",
)
def test_what_a_template_names_is_needed_at_its_own_line(pod: dict[str, Any], needed: ObjectNeed) -> None:
    assert _needs(deployment("a", pod=pod)) == (needed,)


@pytest.mark.parametrize(
    "pod",
    [
        {"serviceAccountName": "default"},
        {"priorityClassName": "system-node-critical"},
        {"volumes": [{"name": "c", "configMap": {"name": "kube-root-ca.crt"}}]},
        {"volumes": [{"name": "c", "configMap": {"name": "rules", "optional": True}}]},
    ],
    ids=["account of each namespace", "class of each cluster", "ConfigMap of each namespace", "optional"],
)
def test_what_every_cluster_has_and_what_is_optional_is_not_needed(pod: dict[str, Any]) -> None:
    assert _needs(deployment("a", pod=pod)) == ()


def test_a_claim_that_a_plugin_names_is_needed_at_the_line_of_the_plugin() -> None:
    cache = {"name": "model-cache", "config": {"pvc": {"claimName": "nothere"}}}
    of_stack = _need("PersistentVolumeClaim", "nothere", "plugins[0]", document=("Settings", "test"))
    assert _needs(deployment("a"), plugins=[cache]) == (of_stack,)
    of_deployment = _need("PersistentVolumeClaim", "nothere", "spec.plugins[0]")
    assert _needs(deployment("a", plugins=[cache])) == (of_deployment,)


def test_the_deployments_that_name_an_object_are_listed_together() -> None:
    (need,) = _needs(deployment("a", pod={"volumes": [CLAIM]}), deployment("b", pod={"volumes": [CLAIM]}))
    assert (need.name, need.deployments, need.key) == ("models", ("ml/a", "ml/b"), "ml/a")


def test_a_paused_deployment_needs_nothing() -> None:
    assert _needs(deployment("a", pod={"volumes": [CLAIM]}, paused=True)) == ()
