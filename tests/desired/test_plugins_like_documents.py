"""What a document may not say, a plugin may not make of it: the same rules, whoever wrote it."""

from collections.abc import Callable
from typing import Any

import pytest
from said_of_both import TRIED, Change, beside, by_document, by_plugin, engine, pod
from small_stack import NOTHING, cluster, deployment, stack

from inferfleet.desired import desired
from inferfleet.documents.kinds.base import API_VERSION
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.loading.validation import validated
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.plugins.api import Config, Plugin, PodTemplate, Request, put_volume
from inferfleet.plugins.registry import builtin


def asking(resource: str) -> dict[str, Any]:
    return {"resources": {"limits": {resource: 1}}}


MOUNT = {"name": "models", "mountPath": "/models"}
SPREAD = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}


@pytest.mark.parametrize(
    ("change", "place", "what"),
    [
        (
            pod(topologySpreadConstraint=[SPREAD]),
            "spec.topologySpreadConstraint",
            "has no field 'topologySpreadConstraint' here",
        ),
        (
            beside(**asking("nvidia.com/pgpu")),
            'spec.containers[side].resources.limits["nvidia.com/pgpu"]',
            "nvidia.com/pgpu, ",
        ),
        (
            beside(**asking("nvidia.com/mig-1g.5gb")),
            'spec.containers[side].resources.limits["nvidia.com/mig-1g.5gb"]',
            "asks for 1",
        ),
        (
            beside(**asking("amd.com/gpu")),
            'spec.containers[side].resources.limits["amd.com/gpu"]',
            "asks for 1",
        ),
        (
            beside(volumeMounts=[{"name": "modles", "mountPath": "/models"}]),
            "spec.containers[side].volumeMounts[/models].name",
            "the pod has no volume 'modles'",
        ),
        (
            lambda spec: (
                put_volume({"spec": spec}, {"name": "models", "emptyDir": {}}),
                beside(volumeMounts=[MOUNT, MOUNT])(spec),
            ),
            "spec.containers[side].volumeMounts[1].mountPath",
            "a second entry of volumeMounts has the mountPath '/models'",
        ),
        (pod(restartPolicy="never"), "spec.restartPolicy", "'never' is not one of Always, Never, OnFailure"),
        (
            pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}]),
            "spec.resourceClaims",
            "the pod claims devices of its own, but replicas are placed by nvidia.com/gpu",
        ),
        (
            pod(nodeSelector={"inferfleet.dev/pool": "h100"}),
            'spec.nodeSelector["inferfleet.dev/pool"]',
            "h100",
        ),
        (pod(nodeName="node-1"), "spec.nodeName", "node-1"),
    ],
)
def test_a_plugin_is_refused_what_a_document_is(change: Change, place: str, what: str) -> None:
    told = by_plugin(lambda template: change(template["spec"]))
    assert [what in text for text in by_document(change)] == [True]
    assert {(problem.kind, problem.key, problem.path) for problem in told} == {
        ("Settings", "test", "plugins[0]")
    }
    first = told[0].what
    assert (first.startswith(TRIED), place in first, what in first) == (True, True, True)
    assert first.endswith("(deployment ml/a, role decode on east/l4)")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda t: t["metadata"].update(finalizers=["a.example.com/b"]), "metadata.finalizers"),
        (lambda t: t["metadata"].update(name="a"), "metadata.name"),
        (
            lambda t: t["spec"]["containers"][0].pop("readinessProbe", None),
            "spec.containers[engine].readinessProbe",
        ),
        (
            lambda t: t["spec"]["containers"][0].pop("startupProbe", None),
            "spec.containers[engine].startupProbe",
        ),
        (
            lambda t: t["spec"]["containers"][0].pop("lifecycle", None),
            "spec.containers[engine].lifecycle.preStop",
        ),
        (
            lambda t: t["spec"].pop("terminationGracePeriodSeconds", None),
            "spec.terminationGracePeriodSeconds",
        ),
        (
            lambda t: t["spec"]["containers"][0].pop("volumeMounts", None),
            "spec.containers[engine].volumeMounts[/dev/shm]",
        ),
        (
            lambda t: t["spec"].update(volumes=[{"name": "dshm", "emptyDir": {}}]),
            "spec.containers[engine].volumeMounts[/dev/shm]",
        ),
        (
            lambda t: t["spec"]["containers"][0].update(ports=[{"name": "http", "containerPort": 80}]),
            "spec.containers[engine].ports[http]",
        ),
        (
            lambda t: t["spec"]["containers"][0]["resources"].update(limits={}),
            'spec.containers[engine].resources.limits["nvidia.com/gpu"]',
        ),
    ],
)
def test_what_was_generated_is_not_taken_away_and_each_thing_is_told_once(
    change: Callable[[PodTemplate], Any], place: str
) -> None:
    whats = [problem.what for problem in by_plugin(change)]
    assert [what.startswith(TRIED) and place in what for what in whats] == [True]


@pytest.mark.parametrize(
    "change",
    [
        engine(readinessProbe={"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 1}),
        pod(terminationGracePeriodSeconds=600),
        pod(volumes=[{"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]),
        engine(command=["vllm", "serve", "m"], args=["--port=8000", "--max-num-seqs=64"]),
        beside(ports=[{"containerPort": 9000}]),
        beside(**asking("rdma/ib")),
        beside(**asking("example.com/nic")),
        pod(nodeSelector={"inferfleet.dev/pool": "l4", "disk": "ssd"}),
    ],
)
def test_numbers_may_be_tuned_and_parts_added(change: Change) -> None:
    assert by_plugin(lambda template: change(template["spec"])) == []
    assert by_document(change) == []


def test_what_a_document_says_wrongly_is_not_the_fault_of_a_plugin() -> None:
    wrong = {"command": ["vllm", "serve", "m", "--port=9999"]}
    (problem,) = by_plugin(lambda t: t["metadata"]["labels"].update(team="ml"), engine=wrong)
    assert (problem.kind, problem.path) == (
        "ModelDeployment",
        "spec.workers.template.spec.containers[0]",
    )


def test_twelve_broken_links_of_one_document_are_told_in_one_run() -> None:
    names = [f"unknown-{number}" for number in range(12)]
    documents = stack(cluster("east"), deployment("a", plugins=[{"name": name} for name in names]))
    with pytest.raises(InvalidDocuments) as invalid:
        desired(documents, NOTHING)
    assert {(problem.path, problem.what) for problem in invalid.value.problems} == {
        (f"spec.plugins[{place}].name", f"plugin {name} is not registered")
        for place, name in enumerate(names)
    }


def test_twelve_links_that_fail_on_a_pod_are_told_in_one_run() -> None:
    class Field(Config):
        field: str

    def edit(template: PodTemplate, request: Request, config: Field) -> PodTemplate:
        template["spec"][config.field] = 5
        return template

    registry = builtin().with_(Plugin("mine", Field, edit, version="1.0.0"))
    links = [{"name": "mine", "config": {"field": f"unknown{number}"}} for number in range(12)]
    documents = stack(cluster("east"), deployment("a", plugins=links))
    with pytest.raises(InvalidDocuments) as invalid:
        desired(documents, NOTHING, registry=registry)
    told = {(problem.path, problem.what.partition(": ")[0]) for problem in invalid.value.problems}
    assert told == {(f"spec.plugins[{place}]", "plugin mine") for place in range(12)}


def test_a_bad_link_of_a_stack_is_told_once_however_many_placements_there_are() -> None:
    links = [{"name": "unknown"}, {"name": "accelerator", "scope": {"roles": ["decod"]}}]
    deployments = [deployment(name) for name in "abcde"]
    with pytest.raises(InvalidDocuments) as invalid:
        desired(stack(cluster("east"), cluster("west"), *deployments, plugins=links), NOTHING)
    assert [problem.path for problem in invalid.value.problems] == [
        "plugins[0].name",
        "plugins[1].scope.roles[0]",
    ]


def test_a_misspelt_role_is_told_in_every_chain() -> None:
    link = [{"name": "accelerator", "scope": {"roles": ["decod"]}}]
    documents = stack(cluster("east", plugins=link), deployment("a", plugins=link), plugins=link)
    l4 = documents.classes["l4"]
    spec = l4.spec.model_copy(update={"plugins": documents.settings.plugins})
    documents.classes["l4"] = l4.model_copy(update={"spec": spec})  # type: ignore[index]  # a dict here
    with pytest.raises(InvalidDocuments) as invalid:
        desired(documents, NOTHING)
    assert sorted((problem.kind, problem.path) for problem in invalid.value.problems) == [
        ("InferenceClass", "spec.plugins[0].scope.roles[0]"),
        ("InferenceCluster", "spec.plugins[0].scope.roles[0]"),
        ("ModelDeployment", "spec.plugins[0].scope.roles[0]"),
        ("Settings", "plugins[0].scope.roles[0]"),
    ]


def test_a_template_has_no_status() -> None:
    template = {"spec": {"containers": [{"name": "engine", "image": "engine:1"}]}, "status": {}}
    workers = {"topology": {"tensor": 1}, "template": template}
    _, problems = validated(
        ModelDeployment,
        {
            "apiVersion": API_VERSION,
            "kind": "ModelDeployment",
            "metadata": {"name": "a", "namespace": "ml"},
            "spec": {"replicas": 1, "workers": workers},
        },
    )
    assert [(problem.path, problem.what) for problem in problems] == [
        ("spec.workers.template.status", "unknown field 'status'")
    ]
    (problem,) = by_plugin(lambda template: template.update(status={}))
    assert (problem.path, problem.what) == (
        "plugins[0]",
        f"{TRIED}returned a template that Kubernetes refuses: status: Kubernetes 1.36 has no field 'status' "
        "here (deployment ml/a, role decode on east/l4)",
    )
