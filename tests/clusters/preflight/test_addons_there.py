"""Add-ons that an update installs: never over somebody else's, nor over a newer version."""

from typing import Any

import pytest

from inferfleet.clusters.connections.api import RefusedError
from inferfleet.clusters.preflight.addons import (
    defined_kinds,
    newer_definitions,
    provided_problems,
    stored_version_problems,
    taken_over_problems,
    unserved,
)
from inferfleet.clusters.preflight.ownership import ExistingObject
from inferfleet.desired.values import Component, Connection, DesiredCluster, KubeObject
from inferfleet.documents.problems import cluster_problem

SETS = "leaderworkersets.leaderworkerset.x-k8s.io"
VERSION = "inferfleet.dev/addon-version"
OURS = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}


def definition(version: str, *served: str, labels: dict[str, str] = OURS, **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": SETS, "labels": labels, "annotations": {VERSION: version}},
        "spec": {
            "group": "leaderworkerset.x-k8s.io",
            "names": {"kind": "LeaderWorkerSet"},
            "versions": [{"name": name, "served": True} for name in served],
        },
    } | ({"status": status} if status else {})


MANAGER: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "manager", "namespace": "lws-system", "labels": OURS},
}
SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lws-system", "labels": OURS}}
HOOKS = KubeObject("hooks", {"apiVersion": "v1", "kind": "X", "metadata": {"name": "hooks"}})
KIMI = KubeObject(
    "east/ml/kimi",
    {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "kimi", "namespace": "ml"},
    },
    webhooks=(HOOKS,),
)


def installing(
    *manifests: dict[str, Any], provider: str = "none", addon: str = "leaderWorkerSet"
) -> DesiredCluster:
    objects = tuple(
        KubeObject(f"east/{addon}/{manifest['metadata']['name']}", manifest) for manifest in manifests
    )
    return DesiredCluster(
        Connection("east", "existing/east", "active"),
        (
            Component("ClusterAddon", f"east/{addon}", objects),
            Component("ModelReplicas", "east/ml/kimi", (KIMI,)),
        ),
        gateway_provider=provider,
    )


def there(manifest: dict[str, Any]) -> ExistingObject:
    return ExistingObject(manifest["kind"], manifest)


class _Api:
    """Has these objects at paths; a number is a refusal."""

    def __init__(self, objects: dict[str, Any]) -> None:
        self.objects = objects

    def get(self, path: str) -> dict[str, Any]:
        answer = self.objects.get(path, 404)
        if isinstance(answer, int):
            raise RefusedError(answer, path)
        return dict(answer)


def api(**by_name: Any) -> Any:
    place = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    return _Api({f"{place}/{SETS}": manifest for manifest in by_name.values()})


def test_kinds_of_definitions_are_served_by_the_time_that_they_are_needed() -> None:
    assert defined_kinds(installing(definition("0.9.0", "v1"))) == {
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
    }


def test_what_somebody_else_installed_is_not_taken_over() -> None:
    cluster = installing(definition("0.9.0", "v1"), SPACE, MANAGER)
    foreign = {**MANAGER, "metadata": {**MANAGER["metadata"], "labels": {}}}
    space = {**SPACE, "metadata": {"name": "lws-system"}}
    existing = [there(foreign), there(space), there(definition("0.9.0", "v1"))]
    assert list(taken_over_problems(cluster, "prod", existing)) == [
        cluster_problem(
            "east",
            "LeaderWorkerSet is on cluster 'east' already, and not of this stack: "
            "Deployment lws-system/manager",
            "Write leaderWorkerSet: Provided, so that it stays whose it is, or uninstall it there",
            "spec.serving.stack.leaderWorkerSet",
        )
    ]
    assert list(taken_over_problems(cluster, "prod", [there(MANAGER)])) == []


@pytest.mark.parametrize(("live", "stays"), [("0.10.0", True), ("0.9.0", False), ("0.8.0", False)])
def test_a_definition_that_a_newer_version_wrote_stays(live: str, stays: bool) -> None:
    wanted, present = installing(definition("0.9.0", "v1")), definition(live, "v1", "v2")
    present["metadata"]["uid"] = "1"
    (item,) = wanted.components[0].objects
    kept = dict(newer_definitions(api(crd=present), wanted, [there(present)]))
    assert kept == ({item.key: definition(live, "v1", "v2")} if stays else {})


def test_a_version_in_which_objects_are_stored_is_not_dropped() -> None:
    wanted = installing(definition("0.9.0", "v1"))
    present = definition("0.8.0", "v1alpha1", "v1", storedVersions=["v1alpha1", "v1"])
    (problem,) = stored_version_problems(api(crd=present), wanted, [there(present)])
    assert problem.what == (
        f"on cluster 'east' objects of {SETS} are stored as v1alpha1, which the new definition does not have"
    )
    fine = definition("0.8.0", "v1alpha1", "v1", storedVersions=["v1"])
    assert list(stored_version_problems(api(crd=fine), wanted, [there(fine)])) == []


def test_going_back_is_not_refused_for_a_version_that_stays() -> None:
    wanted = installing(definition("0.9.0", "v1"))
    present = definition("0.10.0", "v1", "v2", storedVersions=["v2"])
    assert list(stored_version_problems(api(crd=present), wanted, [there(present)])) == []


def test_objects_are_not_judged_before_their_controller_is_ready() -> None:
    cluster = installing(definition("0.9.0", "v1"), MANAGER)
    assert unserved(cluster, [there(MANAGER)]) == {KIMI.key}
    assert unserved(cluster, [there({**MANAGER, "status": {"availableReplicas": 1}})]) == frozenset()


def istiod(**variables: str) -> dict[str, Any]:
    env = [{"name": name, "value": value} for name, value in variables.items()]
    return {
        "metadata": {"name": "istiod", "labels": {"app": "istiod"}},
        "spec": {"template": {"spec": {"containers": [{"name": "discovery", "env": env}]}}},
    }


@pytest.mark.parametrize(
    ("deployments", "told"),
    [
        ({"items": [istiod()]}, True),
        ({"items": [istiod(ENABLE_GATEWAY_API_INFERENCE_EXTENSION="true")]}, False),
        ({"items": [istiod(SUPPORT_GATEWAY_API_INFERENCE_EXTENSION="true")]}, False),
        ({"items": []}, False),
        (403, False),
    ],
)
def test_an_istiod_that_does_not_know_pools_is_told(deployments: Any, told: bool) -> None:
    asked: Any = _Api({"/apis/apps/v1/namespaces/istio-system/deployments": deployments})
    provided = installing(MANAGER, provider="istio")
    says = [problem.path for problem in provided_problems(asked, provided)]
    assert says == (["spec.serving.gateway.provider"] if told else [])
    ours = installing(MANAGER, provider="istio", addon="istio")
    assert list(provided_problems(asked, ours)) == []
