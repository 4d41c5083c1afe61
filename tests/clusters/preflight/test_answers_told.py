"""What is told of the answers of API servers: their words, at the line of a document that they are about."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import FakeCluster, thing
from fake_google import PLAN

from inferfleet.clusters.connections.api import served_kinds
from inferfleet.clusters.connections.ask import connect
from inferfleet.clusters.preflight.dry_run import refused_write_problems
from inferfleet.clusters.preflight.observe import observe
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import Problem
from inferfleet.fleet.decisions import Plan

Start = Callable[..., FakeCluster]
OURS = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}
EAST = Connection("east", "existing/east", "active", config_key="east")
ML = thing("Namespace", "ml", labels=OURS)
DEPLOYMENTS = "/apis/apps/v1/namespaces/ml/deployments"
TOKEN = "hf_abcdefghijklmnopqrstuvwxyz"
DOCUMENT = ModelDeployment.model_validate(
    {
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {
            "replicas": 1,
            "workers": {
                "topology": {"tensor": 1},
                "template": {
                    "spec": {
                        "containers": [
                            {"name": "helper", "image": "helper:1"},
                            {"name": "engine", "image": "engine:1", "ports": [{"containerPort": 1}]},
                        ],
                        "tolerations": [{"key": "team", "operator": "Exists"}],
                    }
                },
            },
        },
    }
)


def look(fake: FakeCluster, *objects: dict[str, Any]) -> list[Problem]:
    placed = tuple(KubeObject(made["metadata"]["name"], made) for made in objects)
    cluster = DesiredCluster(EAST, (Component("ServingStack", "east", placed),))
    desired = Desired("prod", (cluster,), Plan(), frozenset(), ())
    texts = {"east": fake.kubeconfig}
    return list(observe(desired, texts, deployments={"ml/web": DOCUMENT}, seconds=300).problems)


def workload(name: str = "web-decode-l4", *, deployment: str = "web") -> dict[str, Any]:
    """As it is generated: with a container and a toleration before those of the document."""
    labels = OURS | {"inferfleet.dev/deployment": deployment, "inferfleet.dev/role": "decode"}
    containers = [
        {"name": "sidecar", "image": "sidecar:1"},
        {"name": "helper", "image": "helper:1", "env": [{"name": "HF_TOKEN", "value": TOKEN}]},
        {"name": "engine", "image": "engine:1", "args": ["--api-key", "sk-0123456789abcdef"], "ports": [{}]},
    ]
    spec = {
        "containers": containers,
        "tolerations": [{"key": "nvidia.com/gpu"}, {"key": "team", "operator": "Exists"}],
    }
    template = {"metadata": {}, "spec": spec}
    return thing("Deployment", name, "ml", labels=labels, spec={"replicas": 1, "template": template})


def invalid(*causes: tuple[str, str]) -> tuple[int, Any]:
    details = {"causes": [{"field": field, "message": message} for field, message in causes]}
    return 422, {"kind": "Status", "message": "Deployment.apps is invalid: [...]", "details": details}


def said(status: int, message: str) -> tuple[int, Any]:
    return status, {"kind": "Status", "message": message}


PODS = "spec.workers.template.spec"


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("spec.template.spec.containers[2].ports[0].hostPort", f"{PODS}.containers[1].ports"),
        ("spec.template.spec.containers[1].securityContext", f"{PODS}.containers[0]"),
        ("spec.template.spec.containers[2].image", f"{PODS}.containers[1].image"),
        ("spec.template.spec.containers[0].image", f"{PODS}.containers"),
        ("spec.template.spec.tolerations[1].value", f"{PODS}.tolerations[0]"),
        ("spec.template.spec.tolerations[0].value", f"{PODS}.tolerations"),
        ("spec.template.spec.hostNetwork", PODS),
        ("spec.template.metadata.annotations[a.b/c]", "spec.workers.template"),
        ("spec.replicas", "spec.workers"),
    ],
)
def test_a_field_is_told_where_the_document_has_it(cluster: Start, field: str, path: str) -> None:
    fake = cluster(objects=[ML], refuses={f"{DEPLOYMENTS}/web-decode-l4": invalid((field, "Invalid: no"))})
    assert look(fake, workload()) == [
        Problem(
            f"the API server of cluster 'east' refuses {field} of Deployment ml/web-decode-l4: Invalid: no",
            "Correct it",
            path,
            kind="ModelDeployment",
            key="ml/web",
        )
    ]


def test_all_fields_are_told_and_alike_refusals_of_several_objects_once(cluster: Start) -> None:
    same = ("spec.strategy", "Forbidden: no")
    more = invalid(same, ("spec.paused", "Forbidden: neither"))
    names = ("a", "b", "c", "d", "e")
    refuses = {f"{DEPLOYMENTS}/{name}": invalid(same) for name in names[1:]} | {f"{DEPLOYMENTS}/a": more}
    fake = cluster(objects=[ML], refuses=refuses)
    assert [problem.what for problem in look(fake, *(workload(name) for name in names))] == [
        "the API server of cluster 'east' refuses spec.strategy of Deployment ml/a (and Deployment ml/b, "
        "Deployment ml/c, Deployment ml/d, and 1 more): Forbidden: no",
        "the API server of cluster 'east' refuses spec.paused of Deployment ml/a: Forbidden: neither",
    ]


ROUTE_OF = OURS | {"inferfleet.dev/deployment": "web"}


@pytest.mark.parametrize(
    ("made", "document"),
    [
        (thing("HTTPRoute", "web", "ml", labels=ROUTE_OF), ("ModelDeployment", "ml/web", "spec.route")),
        (thing("Service", "web", "ml", labels=ROUTE_OF), ("ModelDeployment", "ml/web", "")),
        (
            thing("HTTPRoute", "all", "ml", labels=OURS | {"inferfleet.dev/service": "all"}),
            ("ModelService", "ml/all", ""),
        ),
        (thing("Gateway", "edge", "ml", labels=OURS), ("InferenceCluster", "east", "spec.serving")),
        (
            workload("gone-decode-l4", deployment="gone"),
            ("ModelDeployment", "ml/gone", ""),
        ),
        (
            thing(
                "Deployment",
                "web-epp",
                "ml",
                labels=ROUTE_OF,
                spec={"replicas": 1, "template": {"spec": {"containers": [{"name": "epp"}]}}},
            ),
            ("ModelDeployment", "ml/web", "spec.endpointPicker"),
        ),
    ],
)
def test_every_object_is_told_with_a_document_that_it_comes_from(
    cluster: Start, made: dict[str, Any], document: tuple[str, str, str]
) -> None:
    words = "admission webhook 'x' denied the request: no."
    fake = cluster(objects=[ML])
    root = f"/apis/{made['apiVersion']}" if "/" in made["apiVersion"] else "/api/v1"
    plural = {kind: names[0] for kinds in fake.kinds.values() for kind, names in kinds.items()}[made["kind"]]
    name = made["metadata"]["name"]
    fake.refuses[f"{root}/namespaces/ml/{plural}/{name}"] = said(403, words)
    assert look(fake, made) == [
        Problem(
            f"the API server of cluster 'east' refuses {made['kind']} ml/{name}: {words.removesuffix('.')}",
            "Change what it names, or have whoever keeps this rule on the cluster change it",
            document[2],
            kind=document[0],
            key=document[1],
        )
    ]


def test_a_field_that_a_definition_does_not_have_is_told_with_what_brings_it(cluster: Start) -> None:
    words = (
        "failed to create typed patch object (ml/web; gateway.networking.k8s.io/v1, Kind=HTTPRoute): "
        ".spec.rules[0].timeouts: field not declared in schema"
    )
    path = "/apis/gateway.networking.k8s.io/v1/namespaces/ml/httproutes/web"
    fake = cluster(objects=[ML], refuses={path: said(500, words)})
    assert look(fake, thing("HTTPRoute", "web", "ml", labels=ROUTE_OF)) == [
        Problem(
            "the API server of cluster 'east' refuses spec.rules[0].timeouts of HTTPRoute ml/web: field not "
            "declared in schema",
            "Run `kubectl apply -f https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.5.1/"
            "standard-install.yaml` there, if its CRDs are too old, or correct it",
            "spec.route",
            kind="ModelDeployment",
            key="ml/web",
        )
    ]


def test_on_a_cluster_of_the_stack_newer_definitions_may_come_with_the_update(
    cluster: Start,
) -> None:
    words = "failed to create typed patch object (ml/web; x): .spec.a: field not declared in schema"
    path = "/apis/gateway.networking.k8s.io/v1/namespaces/ml/httproutes/web"
    fake = cluster(objects=[ML], refuses={path: said(500, words)})
    placed = (KubeObject("web", thing("HTTPRoute", "web", "ml", labels=ROUTE_OF)),)
    for connection in (EAST, replace(EAST, cloud=PLAN)):
        made = DesiredCluster(connection, (Component("ModelEndpoint", "east", placed),))
        api = connect(EAST, fake.kubeconfig, seconds=300)
        kinds = served_kinds(api, [(placed[0].api_version, "HTTPRoute")])
        [problem] = refused_write_problems(api, made, "prod", (), kinds, {})
        assert problem.severity == ("warning" if connection.cloud else "error")


def test_a_field_of_an_entry_with_a_name_is_told_where_the_document_has_it(cluster: Start) -> None:
    words = (
        "failed to create typed patch object (ml/web-decode-l4; apps/v1, Kind=Deployment): "
        '.spec.template.spec.containers[name="engine"].image: expected string'
    )
    fake = cluster(objects=[ML], refuses={f"{DEPLOYMENTS}/web-decode-l4": said(500, words)})
    [problem] = look(fake, workload())
    assert (problem.path, problem.next_step) == (f"{PODS}.containers[1].image", "Correct it")


def test_every_field_that_a_schema_does_not_have_is_told(cluster: Start) -> None:
    words = (
        "failed to create typed patch object (ml/web-decode-l4; apps/v1, Kind=Deployment): errors:\n"
        "  .spec.one: field not declared in schema\n  .spec.two: field not declared in schema"
    )
    fake = cluster(objects=[ML], refuses={f"{DEPLOYMENTS}/web-decode-l4": said(500, words)})
    assert [problem.what.partition(" refuses ")[2] for problem in look(fake, workload())] == [
        "spec.one of Deployment ml/web-decode-l4: field not declared in schema",
        "spec.two of Deployment ml/web-decode-l4: field not declared in schema",
    ]


def test_long_words_on_many_lines_are_told_on_one_and_in_short(cluster: Start) -> None:
    words = f"denied the request:\n\n  rule one:\n    {'x' * 2000}"
    fake = cluster(objects=[ML], refuses={f"{DEPLOYMENTS}/web-decode-l4": said(403, words)})
    [problem] = look(fake, workload())
    told = problem.what.partition("ml/web-decode-l4: ")[2]
    assert told == f"denied the request: rule one: {'x' * 970}…"


def test_a_field_that_cannot_change_is_no_error_because_the_object_may_be_replaced(cluster: Start) -> None:
    fake = cluster(
        objects=[ML],
        refuses={f"{DEPLOYMENTS}/web-decode-l4": invalid(("spec.selector", "Invalid: field is immutable"))},
    )
    assert [(problem.severity, problem.next_step) for problem in look(fake, workload())] == [
        (
            "warning",
            "Where the preview says `replace`, it is deleted and made anew; where it does not, the update "
            "fails, and the field must stay",
        )
    ]


def test_a_conflict_of_field_managers_is_told_with_who_can_end_it(cluster: Start) -> None:
    words = 'Apply failed with 1 conflict: conflict with "other": .spec.replicas'
    fake = cluster(objects=[ML], refuses={f"{DEPLOYMENTS}/web-decode-l4": said(409, words)})
    [problem] = look(fake, workload())
    assert (problem.what, problem.next_step) == (
        f"the API server of cluster 'east' refuses Deployment ml/web-decode-l4: {words}",
        "Let whoever has set it give it up (`kubectl get --show-managed-fields -o yaml` shows who), or leave "
        "it out here",
    )


def test_in_a_namespace_to_come_only_the_form_of_an_object_counts(cluster: Start) -> None:
    stand_in = "/apis/apps/v1/namespaces/default/deployments"
    fake = cluster(
        refuses={
            f"{stand_in}/a": said(403, "admission webhook 'x' denied the request: not in default"),
            f"{stand_in}/b": invalid(("spec.replicas", "Invalid: no")),
            f"{stand_in}/c": said(400, "admission webhook 'y' denied the request: nor here"),
            # Others have objects of these names there.
            f"{stand_in}/d": invalid(("spec.selector", "Invalid: field is immutable")),
            f"{stand_in}/e": said(409, "the object is being deleted"),
        }
    )
    assert [problem.what for problem in look(fake, ML, *(workload(name) for name in "abcde"))] == [
        "the API server of cluster 'east' refuses spec.replicas of Deployment ml/b: Invalid: no"
    ]


def test_who_may_only_read_is_told_so_in_one_line(cluster: Start) -> None:
    names = [f"w{number}" for number in range(30)]
    route = thing("HTTPRoute", "web", "ml", labels=ROUTE_OF)
    refuses = {f"{DEPLOYMENTS}/{name}": said(403, "User cannot patch") for name in names}
    refuses["/apis/gateway.networking.k8s.io/v1/namespaces/ml/httproutes/web"] = said(
        403, "User cannot patch"
    )
    denied = {("patch", "deployments"), ("create", "httproutes")}
    fake = cluster(objects=[ML], refuses=refuses, denied=denied)
    assert look(fake, *(workload(name) for name in names), route) == [
        Problem(
            "the credentials of cluster 'east' may not patch or create deployments, httproutes, so its API "
            "server was not asked about 31 objects that an update writes (Deployment ml/w0, Deployment "
            "ml/w1, Deployment ml/w2, and 28 more)",
            "Leave it so where they must not write: an update asks before it writes anything. Else give them "
            "these verbs, without which there is no dry run",
            "spec.cluster.existing.kubeconfig",
            kind="InferenceCluster",
            key="east",
            severity="warning",
        )
    ]
    # Once per kind and namespace, not once per object.
    assert len(fake.posted) == 3


def test_a_webhook_that_cannot_be_asked_is_a_notice(cluster: Start) -> None:
    words = 'admission webhook "old.example.com" does not support dry run'
    fake = cluster(objects=[ML], refuses={f"{DEPLOYMENTS}/{name}": said(400, words) for name in "ab"})
    assert [(problem.severity, problem.what) for problem in look(fake, workload("a"), workload("b"))] == [
        (
            "notice",
            "cluster 'east' was not asked about 2 objects that an update writes (Deployment ml/a, Deployment "
            f"ml/b): {words}",
        )
    ]


def test_a_server_that_is_busy_is_a_warning_and_not_the_fault_of_an_object(cluster: Start) -> None:
    fake = cluster(objects=[ML], refuses={f"{DEPLOYMENTS}/a": said(503, "not now")})
    assert [(problem.severity, problem.what) for problem in look(fake, workload("a"))] == [
        (
            "warning",
            "the API server of cluster 'east' did not say in time whether it takes 1 object that an update "
            "writes (Deployment ml/a)",
        )
    ]


@pytest.mark.parametrize("secret", [TOKEN, "sk-0123456789abcdef"])
def test_secrets_in_plain_text_are_not_in_the_words_of_servers(cluster: Start, secret: str) -> None:
    words = f'Invalid value: "{secret}": no'
    answers = (invalid(("spec.template.spec.containers[1].env[0].value", words)), said(403, words))
    for answer in answers:
        fake = cluster(objects=[ML], refuses={f"{DEPLOYMENTS}/web-decode-l4": answer})
        [problem] = look(fake, workload())
        assert problem.what.endswith(': Invalid value: "(not shown)": no')


def test_an_answer_that_is_no_status_is_told_as_it_is(cluster: Start) -> None:
    fake = cluster(objects=[ML], refuses={f"{DEPLOYMENTS}/a": (418, "a teapot")})
    [problem] = look(fake, workload("a"))
    assert problem.what == "the API server of cluster 'east' refuses Deployment ml/a: status 418"
