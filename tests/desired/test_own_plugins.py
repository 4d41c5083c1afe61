"""A plugin of one's own comes through the registry and acts like a built-in one."""

from typing import Any

import pytest
from small_stack import NOTHING, cluster, deployment, find, stack

from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.plugins import contract
from inferfleet.plugins.contract import Companion, Edited, Plugin, PodTemplate, Request
from inferfleet.plugins.registry import builtin


class Config(contract.Config):
    size: str


def _priority(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    template["spec"]["priorityClassName"] = config.size
    return template


def _with_settings(template: PodTemplate, request: Request, config: Config) -> Edited:
    name = request.companion_name("settings")
    metadata = {"name": name, "labels": {"team": "research"}}
    beside = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"size": config.size}}
    template["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": name}}]
    return Edited(template, (beside,))


def _with_many(template: PodTemplate, request: Request, config: Config) -> Edited:
    def named(api_version: str, kind: str, suffix: str = "") -> dict[str, Any]:
        metadata = {"name": request.companion_name("many", suffix)}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata}

    ports = {"selector": dict(request.selector), "ports": [{"port": 80}]}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return Edited(
        template,
        (
            Companion({**named("v1", "Service", "late"), "spec": ports}, when="after"),
            named("v1", "ConfigMap"),
            {**named("v1", "PersistentVolumeClaim"), "spec": claim},
            Companion(named("example.com/v1", "Watch"), when="after"),
        ),
    )


REGISTRY = builtin().with_(
    Plugin("many", Config, _with_many, version="1.0.0"),
    Plugin("priority", Config, _priority, version="1.0.0"),
    Plugin("settings", Config, _with_settings, version="1.0.0"),
)


def _desired(plugin: str) -> Desired:
    link = {"name": plugin, "config": {"size": "large"}}
    documents = stack(cluster("east"), deployment("a", plugins=[link]), deployment("b"))
    return desired(documents, NOTHING, registry=REGISTRY)


def test_a_plugin_of_ones_own_edits_the_pods_whose_chain_names_it_and_no_others() -> None:
    found = _desired("priority")
    specs = {
        name: find(found, "Deployment", f"east/ml/{name}-decode-l4").manifest["spec"]["template"]["spec"]
        for name in ("a", "b")
    }
    assert specs["a"] == {**specs["b"], "priorityClassName": "large"}


def test_steps_tell_what_a_plugin_of_ones_own_changed() -> None:
    steps = {str(spot): roles["decode"] for spot, roles in _desired("priority").effects.items()}
    assert [step.plugin for step in steps["ml/a east decode=l4"]] == ["priority"]
    assert steps["ml/b east decode=l4"] == ()


def test_a_plugin_acts_in_the_chain_of_the_stack_and_of_a_cluster_too() -> None:
    link = {"name": "priority", "config": {"size": "large"}}
    for documents in (
        stack(cluster("east"), deployment("a"), plugins=[link]),
        stack(cluster("east", plugins=[link]), deployment("a")),
    ):
        found = desired(documents, NOTHING, registry=REGISTRY)
        template = find(found, "Deployment", "east/ml/a-decode-l4").manifest["spec"]["template"]
        assert template["spec"]["priorityClassName"] == "large"


def test_companions_carry_our_labels_and_stand_before_their_workload() -> None:
    found = _desired("settings")
    companion = find(found, "ConfigMap", "east/ml/a-decode-l4-settings")
    assert companion.manifest == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a-decode-l4-settings",
            "namespace": "ml",
            "labels": {
                "team": "research",
                "app.kubernetes.io/managed-by": "inferfleet",
                "inferfleet.dev/stack": "test",
                "inferfleet.dev/deployment": "a",
            },
        },
        "data": {"size": "large"},
    }
    space = find(found, "Namespace", "east/ml").key
    assert companion.after == (space,)
    pool = find(found, "InferencePool", "east/ml/a").key
    assert find(found, "Deployment", "east/ml/a-decode-l4").after == (space, companion.key, pool)


def test_companions_are_created_in_order_and_nothing_waits_for_what_needs_pods() -> None:
    found = _desired("many")
    (component,) = (part for part in found.clusters[0].components if part.name == "east/ml/a-l4")
    space = find(found, "Namespace", "east/ml").key
    pool = find(found, "InferencePool", "east/ml/a").key
    text, claim, workload, late, _ = component.objects
    assert [(made.kind, made.kubernetes_name, made.after) for made in component.objects] == [
        ("ConfigMap", "a-decode-l4-many", (space,)),
        ("PersistentVolumeClaim", "a-decode-l4-many", (space, text.key)),
        ("Deployment", "a-decode-l4", (space, text.key, claim.key, pool)),
        ("Service", "a-decode-l4-many-late", (space, workload.key)),
        ("Watch", "a-decode-l4-many", (space, workload.key, late.key)),
    ]
    skipped = [made.manifest["metadata"].get("annotations") for made in component.objects]
    skip = {"pulumi.com/skipAwait": "true"}
    provenance = {"inferfleet.dev/plugins": "many@1.0.0/c56632a8"}
    assert skipped == [None, skip, provenance, skip, None]


def test_without_the_registry_the_plugin_is_a_problem_of_its_chain() -> None:
    documents = stack(
        cluster("east"), deployment("a", plugins=[{"name": "priority", "config": {"size": "x"}}])
    )
    with pytest.raises(InvalidDocuments) as raised:
        desired(documents, NOTHING)
    assert [problem.path for problem in raised.value.problems] == ["spec.plugins[0].name"]


def test_what_a_plugin_adds_beside_its_pods_is_not_looked_for() -> None:
    assert _desired("settings").clusters[0].objects_needed == ()
    needed = _desired("priority").clusters[0].objects_needed
    assert [(one.object_kind, one.name, one.may_follow) for one in needed] == [
        ("PriorityClass", "large", False)
    ]


def test_a_custom_resource_beside_pods_may_have_made_what_they_name() -> None:
    links = [{"name": name, "config": {"size": "large"}} for name in ("many", "priority")]
    found = desired(stack(cluster("east"), deployment("a", plugins=links)), NOTHING, registry=REGISTRY)
    needed = found.clusters[0].objects_needed
    assert [(one.object_kind, one.name, one.may_follow) for one in needed] == [
        ("PriorityClass", "large", True)
    ]
