"""Which kinds of objects a plugin may add: those that exist, hold no secrets, and that nothing else plans."""

from typing import Any

import pytest
from running import mine, outcome_of, ran

from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.plugins.contract import Edited, Request
from inferfleet.plugins.link import Link
from inferfleet.plugins.registry import Registry

LINK = Link(PluginSpec(name="mine"), "deployment", "ModelDeployment", "ml/web")


def _adding(manifest: dict[str, Any]) -> Registry:
    return Registry((mine(lambda template, request, config: Edited(template, (manifest,))),))


def _named(api_version: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web-decode-h100-mine"}, **more}


POD = {"template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}}
RUNS, WHOLE = "runs pods, which nothing plans", "belongs to a whole cluster"


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (_named("v1", "Secret", stringData={"key": "canary-Zx81"}), "would hold a secret in plain text"),
        (_named("v1", "Pod", spec={}), RUNS),
        (_named("apps/v1", "Deployment", spec=POD), RUNS),
        (_named("batch/v1", "CronJob"), RUNS),
        (_named("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec={"leaderWorkerTemplate": POD}), RUNS),
        (_named("serving.knative.dev/v1", "Service", spec=POD), RUNS),
        (_named("rbac.authorization.k8s.io/v1", "ClusterRole"), WHOLE),
        (_named("v1", "Namespace"), WHOLE),
        (_named("storage.k8s.io/v1", "StorageClass"), WHOLE),
        (_named("apiextensions.k8s.io/v1", "CustomResourceDefinition"), WHOLE),
        (_named("authentication.k8s.io/v1", "TokenReview"), WHOLE),
        (_named("gateway.networking.k8s.io/v1", "GatewayClass"), WHOLE),
        (_named("v1", "secret", stringData={"key": "canary-Zx81"}), "would hold a secret in plain text"),
    ],
)
def test_kinds_that_no_plugin_may_add_are_refused(
    generated: dict[str, Any], pod_request: Request, manifest: dict[str, Any], said: str
) -> None:
    outcome, (problem,) = ran(generated, pod_request, [LINK], _adding(manifest))
    assert (said in problem.what, "canary" in problem.what, outcome.companions) == (True, False, ())


@pytest.mark.parametrize(
    ("api_version", "kind", "said"),
    [
        (" v1", "ConfigMap", "has the apiVersion ' v1', but it must be one such as v1 or example.com/v1"),
        ("a/b/c", "Thing", "has the apiVersion 'a/b/c'"),
        ("example.com/v1", "Th:ing", "is of kind 'Th:ing', but a kind has at most 63 letters"),
        ("inferfleet.dev/v1alpha1", "ModelDeployment", "a document of inferfleet, which no cluster knows"),
    ],
)
def test_what_is_no_kind_of_an_object_is_refused(
    generated: dict[str, Any], pod_request: Request, api_version: str, kind: str, said: str
) -> None:
    _, (problem,) = ran(generated, pod_request, [LINK], _adding(_named(api_version, kind)))
    assert said in problem.what


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("example.com/v1", "Thing"),
        ("example.com/v1", "DenyList"),
        ("example.com/v1", "ServicePatch"),
        ("networking.istio.io/v1", "Sidecar"),
        ("gateway.networking.k8s.io/v1", "HTTPRoute"),
        ("coordination.k8s.io/v1", "Lease"),
    ],
)
def test_custom_resources_of_any_kind_may_be_added(
    generated: dict[str, Any], pod_request: Request, api_version: str, kind: str
) -> None:
    outcome = outcome_of(generated, pod_request, [LINK], _adding(_named(api_version, kind)))
    assert [beside.title for beside in outcome.companions] == [f"{kind} web-decode-h100-mine"]


TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web-decode-h100"}
SCALES = "scales the workload web-decode-h100, whose replicas the plan says; set spec.replicas"
CHANGES = "changes what pods of the workload web-decode-h100 ask for, which the plan says"
VPA = ("autoscaling.k8s.io/v1", "VerticalPodAutoscaler")


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (_named("autoscaling/v2", "HorizontalPodAutoscaler", spec={"scaleTargetRef": TARGET}), SCALES),
        (
            _named("keda.sh/v1alpha1", "ScaledObject", spec={"scaleTargetRef": {"name": TARGET["name"]}}),
            SCALES,
        ),
        (_named(*VPA, spec={"targetRef": TARGET}), CHANGES),
        (_named(*VPA, spec={"targetRef": TARGET, "updatePolicy": {"updateMode": "Initial"}}), CHANGES),
    ],
)
def test_what_changes_the_workload_by_itself_is_refused(
    generated: dict[str, Any], pod_request: Request, manifest: dict[str, Any], said: str
) -> None:
    _, (problem,) = ran(generated, pod_request, [LINK], _adding(manifest))
    assert said in problem.what


@pytest.mark.parametrize(
    "manifest",
    [
        _named(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            spec={"scaleTargetRef": {**TARGET, "name": "gateway"}},
        ),
        _named(*VPA, spec={"targetRef": TARGET, "updatePolicy": {"updateMode": "Off"}}),
    ],
)
def test_what_scales_something_else_or_only_recommends_may_be_added(
    generated: dict[str, Any], pod_request: Request, manifest: dict[str, Any]
) -> None:
    assert len(outcome_of(generated, pod_request, [LINK], _adding(manifest)).companions) == 1


GPUS = {"limits": {"nvidia.com/gpu": 8}}


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (_named("example.com/v1", "Steps", spec={"steps": [{"image": "a:1"}]}), RUNS),
        (_named("example.com/v1", "Script", spec={"templates": [{"script": {"image": "a:1"}}]}), RUNS),
        (_named("example.com/v1", "Server", spec={"predictor": {"containers": [{"image": "a:1"}]}}), RUNS),
        (
            _named("example.com/v1", "Server", spec={"model": {"resources": GPUS}}),
            "asks for nvidia.com/gpu in spec.model.resources.limits, which nothing plans",
        ),
        (
            _named("example.com/v1", "Server", spec={"perNode": {"requests": {"nvidia.com/mig-1g.10gb": 1}}}),
            "asks for nvidia.com/mig-1g.10gb in spec.perNode.requests",
        ),
        (
            _named("example.com/v1", "Server", spec={"resourceClaims": [{"resourceClaimName": "a"}]}),
            "claims devices in spec.resourceClaims, which nothing plans",
        ),
        (
            _named("v1", "LimitRange", spec={"limits": [{"type": "Container", "default": {"cpu": "1"}}]}),
            "gives containers of the namespace amounts that the plan does not count",
        ),
    ],
)
def test_pods_and_devices_by_another_road_are_refused(
    generated: dict[str, Any], pod_request: Request, manifest: dict[str, Any], said: str
) -> None:
    _, (problem,) = ran(generated, pod_request, [LINK], _adding(manifest))
    assert said in problem.what


@pytest.mark.parametrize(("number", "taken"), [(2**53, True), (2**53 + 1, False), (-(2**53) - 1, False)])
def test_whole_numbers_reach_the_cluster_as_they_are(
    generated: dict[str, Any], pod_request: Request, number: int, taken: bool
) -> None:
    thing = _named("example.com/v1", "Thing", spec={"limits": [{"bytes": number}]})
    outcome, problems = ran(generated, pod_request, [LINK], _adding(thing))
    said = f"has {number} in spec.limits[0].bytes, and Pulumi keeps whole numbers up to 9007199254740992"
    assert (len(outcome.companions) == 1, [said in problem.what for problem in problems]) == (
        taken,
        [] if taken else [True],
    )


def test_a_group_of_pods_may_say_what_they_need_together(
    generated: dict[str, Any], pod_request: Request
) -> None:
    group = _named(
        "scheduling.volcano.sh/v1beta1", "PodGroup", spec={"minResources": {"nvidia.com/gpu": "8"}}
    )
    assert len(outcome_of(generated, pod_request, [LINK], _adding(group)).companions) == 1
