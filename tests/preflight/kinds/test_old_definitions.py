"""Definitions (CRDs) that are older than what is written needs are told before anything is written."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import FakeCluster
from own_cluster import connection, east_problem

from inferfleet.api.problems import Problem
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.fleet.decisions import Plan
from inferfleet.preflight.kinds.definitions import old_definitions
from inferfleet.preflight.observe import observe
from inferfleet.reach.api import RefusedError
from inferfleet.reach.resources import ApiKind, ApiResource

ROUTE, POOL = (
    ("gateway.networking.k8s.io/v1", "HTTPRoute"),
    ("inference.networking.k8s.io/v1", "InferencePool"),
)
PLURALS = {ROUTE: "httproutes", POOL: "inferencepools"}
SERVED = {kind: ApiResource(f"/apis/{kind[0]}", plural, namespaced=True) for kind, plural in PLURALS.items()}
EAST = Connection("east", "existing/east", "active")
RELEASES = "https://github.com/kubernetes-sigs"
GATEWAY_API = (
    f"Run `kubectl apply -f {RELEASES}/gateway-api/releases/download/v1.5.1/standard-install.yaml` there"
)
INFERENCE = (
    f"Run `kubectl apply -f {RELEASES}/gateway-api-inference-extension/releases/download/v1.5.0/"
    "v1-manifests.yaml` there"
)
TIMED = {"rules": [{"backendRefs": [{"name": "a"}], "timeouts": {"request": "3600s"}}]}
OF_ROUTES = {"type": "object", "properties": {"name": {"type": "string"}}}


def _object(kind: ApiKind, name: str, spec: dict[str, Any]) -> KubeObject:
    metadata = {"name": name, "namespace": "ml"}
    return KubeObject(name, {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata, "spec": spec})


def _definition(spec: dict[str, Any], **annotations: str) -> dict[str, Any]:
    named = {key.replace("_", "/", 1).replace("_", "-"): text for key, text in annotations.items()}
    schema = {"openAPIV3Schema": {"properties": {"spec": {"properties": spec}}}}
    other: dict[str, Any] = {"openAPIV3Schema": {"properties": {"spec": {"properties": {}}}}}
    versions = [{"name": "v1beta1", "schema": other}, {"name": "v1", "schema": schema}]
    return {"metadata": {"annotations": named}, "spec": {"versions": versions}}


def _routes(**fields: Any) -> dict[str, Any]:
    """The `rules` of a definition of routes, with fields besides `backendRefs`."""
    refs = {"type": "array", "items": OF_ROUTES}
    return {"rules": {"type": "array", "items": {"properties": {"backendRefs": refs} | fields}}}


def _ports(most: int) -> dict[str, Any]:
    return {"targetPorts": {"maxItems": most, "items": {"properties": {"number": {}}}}}


class _Api:
    """Answers with a definition, or refuses with a status."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.asked = answer, [""]

    def get(self, path: str) -> Any:
        self.asked.append(path)
        if isinstance(self.answer, int):
            raise RefusedError(self.answer, path)
        return self.answer


def _told(
    definition: Any, *objects: KubeObject, where: Connection = EAST, **needed: str
) -> tuple[Problem, ...]:
    definitions = {f"{group}.networking.k8s.io": release for group, release in needed.items()}
    wanted = DesiredCluster(where, (Component("ModelEndpoint", "c", objects),), definitions=definitions)
    api: Any = _Api(definition)
    problems = tuple(old_definitions(api, wanted, SERVED))
    groups = {plural: kind[0].partition("/")[0] for kind, plural in PLURALS.items()}
    assert {path.rpartition("/")[2] for path in api.asked} - {""} <= {
        f"{plural}.{group}" for plural, group in groups.items()
    }
    return problems


def test_a_field_that_is_written_and_not_defined_is_named_with_the_release_that_brought_it() -> None:
    old = _definition(_routes(), **{"gateway.networking.k8s.io_bundle_version": "v1.1.0"})
    routes = [_object(ROUTE, name, TIMED) for name in "abc"]
    assert _told(old, *routes) == (
        east_problem(
            "the CRD of HTTPRoute on cluster 'east', of Gateway API v1.1.0, does not know "
            "spec.rules.timeouts, which an update writes into ml/a, ml/b, and 1 more; that needs 1.2.0 or "
            "later",
            GATEWAY_API,
        ),
    )


def test_a_list_that_may_hold_less_than_is_written_is_named() -> None:
    pool = _object(POOL, "kimi", {"targetPorts": [{"number": 8000}, {"number": 8001}]})
    old = _definition(_ports(1), **{"inference.networking.k8s.io_bundle_version": "v1.0.2"})
    assert _told(old, pool) == (
        east_problem(
            "the CRD of InferencePool on cluster 'east', of Gateway API Inference Extension v1.0.2, takes no "
            "more than 1 in spec.targetPorts, which an update writes into ml/kimi; that needs 1.1.0 or later",
            INFERENCE,
        ),
    )
    assert _told(_definition(_ports(8)), pool) == ()


@pytest.mark.parametrize(
    "has",
    [
        _routes(timeouts={"properties": {"request": {}}}),
        _routes(timeouts={"properties": {}, "x-kubernetes-preserve-unknown-fields": True}),
        _routes(timeouts={"type": "object"}),
    ],
)
def test_what_a_definition_takes_is_right_whatever_release_it_says(has: dict[str, Any]) -> None:
    """Earlier releases have some fields in the channel `experimental`, and forks have what they like."""
    for release in ("v1.0.0", "main-dev", "0.3"):
        old = _definition(has, **{"gateway.networking.k8s.io_bundle_version": release})
        assert _told(old, _object(ROUTE, "a", TIMED), gateway="1.0.0") == ()


def test_without_the_annotation_a_field_is_looked_for_all_the_same() -> None:
    bare = _definition(_routes())
    del bare["metadata"]["annotations"]
    assert [problem.what for problem in _told(bare, _object(ROUTE, "a", TIMED), gateway="9.0.0")] == [
        "the CRD of HTTPRoute on cluster 'east' does not know spec.rules.timeouts, which an update writes "
        "into ml/a; that needs 1.2.0 or later"
    ]


def test_a_release_before_the_one_that_pickers_need_is_told_once() -> None:
    old = _definition(_ports(1), **{"inference.networking.k8s.io_bundle_version": "v1.5.0-rc.2"})
    pool = _object(POOL, "kimi", {"targetPorts": [{"number": 8000}, {"number": 8001}]})
    assert _told(old, pool, inference="1.6.0") == (
        east_problem(
            "the CRD of InferencePool on cluster 'east', of Gateway API Inference Extension v1.5.0-rc.2, is "
            "older than 1.6.0, which the endpoint pickers there need",
            INFERENCE,
            "spec.serving.profile",
        ),
    )
    assert _told(old, _object(POOL, "kimi", {}), inference="1.5.0") == ()


def test_what_google_manages_is_upgraded_with_gke_and_on_a_cluster_of_the_stack_it_is_a_warning() -> None:
    googles = {
        "inference.networking.k8s.io_bundle_version": "v1.0.0",
        "components.gke.io_component_name": "gateway-api-crds",
    }
    pool = _object(POOL, "kimi", {"targetPorts": [{"number": 8000}, {"number": 8001}]})
    (there,) = _told(_definition(_ports(1), **googles), pool)
    step = (
        "GKE manages it: give the cluster a newer version, or see "
        "https://github.com/GoogleCloudPlatform/gke-gateway-api/tree/main/self-upgrades"
    )
    assert (there.next_step, there.severity) == (step, "error")
    assert _told(_definition(_ports(1), **googles), pool, where=connection()) == (
        replace(there, severity="warning"),
    )


@pytest.mark.parametrize("status", [403, 404])
def test_who_may_not_read_definitions_is_told_nothing(status: int) -> None:
    assert _told(status, _object(ROUTE, "a", TIMED)) == ()


def test_nothing_is_asked_of_kinds_that_the_cluster_does_not_serve_or_others_release() -> None:
    other = _object(("example.net/v1", "Thing"), "x", {"a": 1})
    gateway = _object((ROUTE[0], "Gateway"), "x", {"a": 1})
    assert _told(_definition({}), other, gateway) == ()


def test_previews_look_at_definitions(cluster: Callable[..., FakeCluster]) -> None:
    old = _definition(_routes(), **{"gateway.networking.k8s.io_bundle_version": "v1.1.0"})
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/httproutes.gateway.networking.k8s.io"
    route = _object(ROUTE, "a", TIMED)
    wanted = DesiredCluster(replace(EAST, config_key="east"), (Component("ModelEndpoint", "c", (route,)),))
    fake = cluster(behind={path: (200, old)})
    seen = observe(Desired("prod", (wanted,), Plan(), frozenset(), ()), {"east": fake.kubeconfig})
    assert [problem.what.partition(", which")[0] for problem in seen.problems] == [
        "the CRD of HTTPRoute on cluster 'east', of Gateway API v1.1.0, does not know spec.rules.timeouts"
    ]
