"""Pods below the baseline: who is told, whether the run goes on, and what their namespaces say."""

from dataclasses import replace
from typing import Any

import pytest
from small_stack import NOTHING, cluster, deployment, find, made, stack

from inferfleet.desired import desired
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.problems import InvalidDocuments, Problem
from inferfleet.plugins import contract
from inferfleet.plugins.contract import Plugin, PodTemplate, Request
from inferfleet.plugins.registry import builtin

PRIVILEGED = {"securityContext": {"privileged": True}}
FORBIDDEN = "have what level baseline of the Pod Security Standards forbids"
REFUSED = "a namespace that enforces the level takes their workload and refuses the pods"
AT = "spec.workers.template.spec.containers[0].securityContext.privileged"
OURS = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "test"}
WARNS = {
    "pod-security.kubernetes.io/warn": "baseline",
    "pod-security.kubernetes.io/audit": "baseline",
    "pod-security.kubernetes.io/warn-version": "v1.34",
    "pod-security.kubernetes.io/audit-version": "v1.34",
}
ENFORCES = {
    "pod-security.kubernetes.io/enforce": "baseline",
    "pod-security.kubernetes.io/enforce-version": "v1.34",
    **WARNS,
}
EAST, WEST = cluster("east"), cluster("west")


class Nothing(contract.Config):
    pass


def _privileged(template: PodTemplate, request: Request, config: Nothing) -> PodTemplate:
    template["spec"]["containers"][0].setdefault("securityContext", {})["privileged"] = True
    return template


def _modest(template: PodTemplate, request: Request, config: Nothing) -> PodTemplate:
    template["spec"]["containers"][0].pop("securityContext", None)
    return template


REGISTRY = builtin().with_(
    Plugin("privileged", Nothing, _privileged, version="1.0.0"),
    Plugin("modest", Nothing, _modest, version="1.0.0"),
)


def _link(name: str) -> list[dict[str, Any]]:
    return [{"name": name, "config": {}}]


def _spaces(*documents: Any, **settings: Any) -> dict[str, dict[str, str]]:
    """Labels of all namespaces beside those that every object has."""
    value = desired(stack(*documents, **settings), NOTHING, registry=REGISTRY)
    spaces = [item for part in value.clusters for item in part.objects if item.kind == "Namespace"]
    return {
        space.name: {
            name: text
            for name, text in space.manifest["metadata"]["labels"].items()
            if OURS.get(name) != text
        }
        for space in spaces
    }


def test_a_document_that_asks_for_a_privileged_pod_is_warned_of_once_wherever_it_runs() -> None:
    value = made(EAST, WEST, deployment("a", 12, engine=PRIVILEGED))
    assert len(value.plan.placements) == 2
    assert value.warnings == (
        Problem(
            f"pods of ml/a {FORBIDDEN}: container engine has privileged: true",
            f"Remove what is not needed: {REFUSED}",
            AT,
            kind="ModelDeployment",
            key="ml/a",
            severity="warning",
        ),
    )


def test_with_enforce_the_same_is_refused() -> None:
    with pytest.raises(InvalidDocuments) as raised:
        made(EAST, deployment("a", engine=PRIVILEGED), podSecurity="enforce")
    assert raised.value.problems == (
        Problem(
            f"pods of ml/a {FORBIDDEN}: container engine has privileged: true",
            f"Remove what is not needed: {REFUSED}; setting podSecurity: warn would only warn of it",
            AT,
            kind="ModelDeployment",
            key="ml/a",
        ),
    )


def test_with_ignore_nothing_is_said_and_namespaces_say_nothing() -> None:
    documents = (EAST, deployment("a", engine=PRIVILEGED))
    assert made(*documents, podSecurity="ignore").warnings == ()
    assert _spaces(*documents, podSecurity="ignore") == {"east/inferfleet-system": {}, "east/ml": {}}


def test_a_plugin_that_makes_pods_privileged_is_the_one_to_blame() -> None:
    documents = stack(EAST, deployment("a", plugins=_link("privileged")))
    assert desired(documents, NOTHING, registry=REGISTRY).warnings == (
        Problem(
            f"pods of ml/a {FORBIDDEN}: container engine (by plugin privileged) has privileged: true",
            f"Remove what is not needed: {REFUSED}",
            "spec.plugins[0]",
            kind="ModelDeployment",
            key="ml/a",
            severity="warning",
        ),
    )


def test_all_that_is_forbidden_of_workers_of_two_nodes_is_one_line() -> None:
    def template(**context: Any) -> dict[str, Any]:
        container = {"name": "engine", "image": "engine:1", "securityContext": context}
        pod = {"hostNetwork": True, "volumes": [{"name": "v", "hostPath": {"path": "/"}}]}
        return {"template": {"spec": {"containers": [container], **pod}}}

    workers = {
        "topology": {"tensor": 4, "pipeline": 2},
        "entry": template(privileged=True, capabilities={"add": ["IPC_LOCK"]}),
        "follower": template(privileged=True),
    }
    warnings = made(EAST, WEST, deployment("a", 2, workers=workers)).warnings
    assert [warning.what for warning in warnings if FORBIDDEN in warning.what] == [
        f"pods of ml/a {FORBIDDEN}: the pod has hostNetwork: true; volume v has hostPath: a folder of the "
        "node; container engine has privileged: true, capabilities.add: IPC_LOCK"
    ]


def test_a_plugin_of_the_stack_is_told_once_for_all_deployments() -> None:
    documents = stack(EAST, deployment("a"), deployment("b"), plugins=_link("privileged"))
    assert desired(documents, NOTHING, registry=REGISTRY).warnings == (
        Problem(
            f"plugin privileged gives pods of ml/a and 1 more {FORBIDDEN.removeprefix('have ')}: "
            "container engine has privileged: true",
            f"Remove what is not needed: {REFUSED}",
            "plugins[0]",
            kind="Settings",
            key="test",
            severity="warning",
        ),
    )


def test_what_the_document_says_already_stays_the_documents_with_a_plugin_of_the_stack() -> None:
    documents = stack(EAST, deployment("a", engine=PRIVILEGED), plugins=_link("privileged"))
    (warning,) = desired(documents, NOTHING, registry=REGISTRY).warnings
    assert (warning.kind, warning.key, warning.path) == ("ModelDeployment", "ml/a", AT)


FABRIC = {"name": "network-fabric", "config": {"fabric": "InfiniBand"}}
IB = InferenceClass.model_validate(
    {
        "metadata": {"name": "l4"},
        "spec": {
            "node": {"cpu": "40", "memory": "160Gi"},
            "devices": [
                {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": 4},
                {"name": "nic", "driver": "rdma/ib", "claim": "Synthetic", "count": 4},
            ],
        },
    }
)
LOCKS = {"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}


@pytest.mark.parametrize("engine", [{}, LOCKS])
def test_what_the_network_between_gpus_needs_is_no_risk_to_remove(engine: dict[str, Any]) -> None:
    """Whether the plugin gives it or the template had it before."""
    documents = replace(stack(EAST, deployment("a", engine=engine, plugins=[FABRIC])), classes={"l4": IB})
    assert desired(documents, NOTHING).warnings == ()


def test_without_the_plugin_the_same_is_told() -> None:
    (warning,) = made(EAST, deployment("a", engine=LOCKS)).warnings
    assert warning.what == f"pods of ml/a {FORBIDDEN}: container engine has capabilities.add: IPC_LOCK"


def test_where_namespaces_enforce_the_network_is_refused() -> None:
    documents = stack(EAST, deployment("a", plugins=[FABRIC]), podSecurity="enforce")
    documents = replace(documents, classes={"l4": IB})
    with pytest.raises(InvalidDocuments) as raised:
        desired(documents, NOTHING)
    (problem,) = raised.value.problems
    assert "container engine (by plugin network-fabric) has capabilities.add: IPC_LOCK" in problem.what


def test_only_the_template_after_all_plugins_counts() -> None:
    documents = stack(EAST, deployment("a", engine=PRIVILEGED, plugins=_link("modest")))
    assert desired(documents, NOTHING, registry=REGISTRY).warnings == ()


def test_by_default_namespaces_refuse_nobodys_pods() -> None:
    spaces = _spaces(EAST, deployment("a"), deployment("c", namespace="raw", engine=PRIVILEGED))
    assert spaces == {"east/inferfleet-system": WARNS, "east/ml": WARNS, "east/raw": WARNS}


def test_namespaces_enforce_the_baseline_where_the_stack_does() -> None:
    spaces = _spaces(EAST, deployment("a"), deployment("b", namespace="raw"), podSecurity="enforce")
    # The Gateway's controller is unknown, so what its pods need is too.
    assert spaces == {"east/inferfleet-system": WARNS, "east/ml": ENFORCES, "east/raw": ENFORCES}


def test_a_secret_in_plain_text_is_warned_of_and_not_quoted() -> None:
    documents = (EAST, deployment("a", engine={"env": [{"name": "HF_TOKEN", "value": "canary-Zx81"}]}))
    (warning,) = made(*documents).warnings
    assert warning.path == "spec.workers.template.spec.containers[0].env[0].value"
    assert "canary" not in str(warning)


@pytest.mark.parametrize("prefill", [False, True])
def test_a_secret_in_args_of_a_written_command_is_told_where_they_are_written(prefill: bool) -> None:
    secret = ["--api-key=0123456789abcdef"]
    engine = {"model": "m", "image": "engine:1", "args": [] if prefill else secret}
    workers = {"topology": {"tensor": 1}}
    apart = {"prefill": {"workers": workers, "args": secret}} if prefill else {}
    model = deployment("a", engine={"image": None}, declared=engine, **apart)
    told = [one for one in made(EAST, model).warnings if isinstance(one, Problem)]
    assert [one.path for one in told if "--api-key, in plain text" in one.what] == [
        "spec.prefill.args" if prefill else "spec.engine.args"
    ]
    assert "0123456789abcdef" not in str(told)


def test_the_gateways_namespace_enforces_it_where_its_controllers_pods_are_known_to_meet_it() -> None:
    istio = cluster("east", serving={"gateway": {"className": "istio", "provider": "istio"}})
    spaces = _spaces(istio, deployment("a"), podSecurity="enforce")
    assert spaces["east/inferfleet-system"] == ENFORCES


def test_models_beside_a_gateway_of_an_unknown_controller_do_not_make_its_pods_known() -> None:
    spaces = _spaces(EAST, deployment("a", namespace="inferfleet-system"), podSecurity="enforce")
    assert spaces == {"east/inferfleet-system": WARNS}


def test_namespaces_that_every_cluster_has_get_no_label_about_pods_of_others() -> None:
    spaces = _spaces(EAST, deployment("a", namespace="default"), deployment("b", namespace="kube-models"))
    assert spaces == {"east/default": {}, "east/inferfleet-system": WARNS, "east/kube-models": {}}


def test_a_namespace_is_updated_in_place_when_its_labels_change() -> None:
    before = find(made(EAST, deployment("a"), podSecurity="ignore"), "Namespace", "east/ml")
    after = find(made(EAST, deployment("a")), "Namespace", "east/ml")
    assert (before.key, before.retain) == (after.key, after.retain)
    assert after.manifest == {
        **before.manifest,
        "metadata": {**before.manifest["metadata"], "labels": {**OURS, **WARNS}},
    }
