"""Secrets: created where the stack holds them and a pod reads them, asked for where it does not."""

from typing import Any

import pytest
from small_stack import cluster, deployment, find, lock, made, stack

from inferfleet.desired.secrets import missing_key_problems
from inferfleet.desired.values import Desired
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.pods.references import Reference
from inferfleet.documents.problems import InvalidDocuments, Problem

HF = {"secretKeyRef": {"name": "hf", "key": "token"}}


def _env(**ref: Any) -> dict[str, Any]:
    return {"env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": ref}}]}


def _volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


def _sidecar(kind: str, **fields: Any) -> dict[str, Any]:
    return {kind: [{"name": "fetch", "image": "fetch:1", **fields}]}


# A Secret that must be on the cluster: kind, namespace, name, keys and readers.
_Need = tuple[str, str, str, tuple[str, ...], tuple[str, ...]]


def _need(*keys: str, readers: tuple[str, ...] = ("ml/a",)) -> _Need:
    return "Secret", "ml", "hf", keys, readers


def _needed(found: Desired) -> list[_Need]:
    needs = [one for one in found.clusters[0].objects_needed if one.object_kind == "Secret"]
    return [(one.object_kind, one.namespace, one.name, one.keys, one.deployments) for one in needs]


def _secrets(found: Desired) -> dict[str, list[str]]:
    """The Secrets that are created, by cluster."""
    return {
        part.connection.cluster: [one.name for one in part.objects if one.kind == "Secret"]
        for part in found.clusters
    }


READS = [
    pytest.param(_env(name="hf", key="token"), {}, ("token",), id="environment"),
    pytest.param({"envFrom": [{"secretRef": {"name": "hf"}}]}, {}, (), id="envFrom"),
    pytest.param({}, {"imagePullSecrets": [{"name": "hf"}]}, (".dockerconfigjson",), id="pull secret"),
    pytest.param({}, _volume(secret={"secretName": "hf"}), (), id="volume"),
    pytest.param(
        {},
        _volume(secret={"secretName": "hf", "items": [{"key": "b", "path": "b"}, {"key": "a", "path": "a"}]}),
        ("a", "b"),
        id="volume with items",
    ),
    pytest.param(
        {},
        _volume(projected={"sources": [{"configMap": {"name": "c"}}, {"secret": {"name": "hf"}}]}),
        (),
        id="projected volume",
    ),
    pytest.param(
        {},
        _volume(projected={"sources": [{"secret": {"name": "hf", "items": [{"key": "a", "path": "x"}]}}]}),
        ("a",),
        id="projected volume with items",
    ),
    pytest.param({}, _sidecar("initContainers", **_env(name="hf", key="k")), ("k",), id="init container"),
]


@pytest.mark.parametrize(("engine", "pod", "keys"), READS)
def test_a_secret_that_the_stack_does_not_hold_must_be_on_the_cluster(
    engine: dict[str, Any], pod: dict[str, Any], keys: tuple[str, ...]
) -> None:
    found = made(cluster("east"), deployment("a", engine=engine, pod=pod))
    assert _needed(found) == [_need(*keys)]
    assert _secrets(found) == {"east": []}


@pytest.mark.parametrize(("engine", "pod", "keys"), READS)
def test_a_secret_that_the_stack_holds_is_created_before_its_workload(
    engine: dict[str, Any], pod: dict[str, Any], keys: tuple[str, ...]
) -> None:
    held = {"ml/hf": sorted(keys) or ["token"]}
    found = made(cluster("east"), deployment("a", engine=engine, pod=pod), secrets=held)
    assert _needed(found) == []
    secret = find(found, "Secret", "east/ml/hf")
    assert secret.key in find(found, "Deployment", "east/ml/a-decode-l4").after


def test_a_created_secret_says_its_type_and_keys_and_no_value() -> None:
    found = made(
        cluster("east"),
        deployment("a", engine=_env(name="hf", key="token"), pod={"imagePullSecrets": [{"name": "reg"}]}),
        secrets={"ml/hf": ["token", "user"], "ml/reg": [".dockerconfigjson"]},
    )
    labels = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "test"}
    assert [find(found, "Secret", f"east/ml/{name}").manifest for name in ("hf", "reg")] == [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "hf",
                "namespace": "ml",
                "labels": labels,
                "annotations": {"inferfleet.dev/keys": "token,user"},
            },
            "type": "Opaque",
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "reg",
                "namespace": "ml",
                "labels": labels,
                "annotations": {"inferfleet.dev/keys": ".dockerconfigjson"},
            },
            "type": "kubernetes.io/dockerconfigjson",
        },
    ]


def test_secrets_are_created_only_on_clusters_and_in_namespaces_that_read_them() -> None:
    reads = _env(name="hf", key="token")
    found = made(
        cluster("east"),
        cluster("west"),
        deployment("a", engine=reads),
        deployment("b"),
        lock=lock({"a east/l4": 1, "b west/l4": 1}),
        secrets={"ml/hf": ["token"], "other/hf": ["token"], "ml/unread": ["token"]},
    )
    assert _secrets(found) == {"east": ["east/ml/hf"], "west": []}


def test_a_secret_of_the_same_name_in_another_namespace_is_another_secret() -> None:
    found = made(
        cluster("east"),
        deployment("a", engine=_env(name="hf", key="token")),
        deployment("b", engine=_env(name="hf", key="token"), namespace="other"),
        secrets={"other/hf": ["token"]},
    )
    assert _secrets(found) == {"east": ["east/other/hf"]}
    assert _needed(found) == [_need("token")]


def test_a_key_that_the_stack_does_not_hold_is_a_problem_with_the_command_that_sets_it() -> None:
    documents = [cluster("east"), cluster("west"), deployment("a", 2, engine=_env(name="hf", key="token"))]
    with pytest.raises(InvalidDocuments) as raised:
        made(*documents, secrets={"ml/hf": ["user", "mail"]})
    assert raised.value.problems == (
        Problem(
            "ml/a reads key 'token' of secret hf, and the stack holds only mail, user for ml/hf",
            """Run: pulumi config set --secret --path 'inferfleet:secrets["ml/hf"]["token"]'""",
            "spec.workers.template.spec",
            kind="ModelDeployment",
            key="ml/a",
        ),
    )


@pytest.mark.parametrize(
    ("engine", "pod"),
    [
        (_env(name="hf", key="token", optional=True), {}),
        ({"envFrom": [{"secretRef": {"name": "hf", "optional": True}}]}, {}),
        ({}, _volume(secret={"secretName": "hf", "optional": True})),
        ({}, _volume(projected={"sources": [{"secret": {"name": "hf", "optional": True}}]})),
    ],
)
def test_an_optional_secret_need_not_be_there_and_need_not_have_the_key(
    engine: dict[str, Any], pod: dict[str, Any]
) -> None:
    documents = [cluster("east"), deployment("a", engine=engine, pod=pod)]
    assert _needed(made(*documents)) == []
    held = made(*documents, secrets={"ml/hf": ["user"]})
    assert (_secrets(held), _needed(held)) == ({"east": ["east/ml/hf"]}, [])


def test_what_several_pods_read_of_one_secret_is_asked_for_together() -> None:
    found = made(
        cluster("east"),
        deployment("a", engine=_env(name="hf", key="token")),
        deployment("b", engine=_env(name="hf", key="mail")),
    )
    assert _needed(found) == [_need("mail", "token", readers=("ml/a", "ml/b"))]


def test_a_secret_that_only_a_plugin_asks_for_counts_too() -> None:
    tweak = {"name": "demo-pod-tweaks", "config": {"env": [{"name": "TOKEN", "valueFrom": HF}]}}
    documents = [cluster("east"), deployment("a", plugins=[tweak])]
    assert _needed(made(*documents)) == [_need("token")]
    assert _secrets(made(*documents, secrets={"ml/hf": ["token"]})) == {"east": ["east/ml/hf"]}


def test_a_secret_that_no_pod_reads_is_a_warning() -> None:
    reader = deployment("qwen", engine=_env(name="hf", key="token"))
    result = made(cluster("east"), reader, secrets={"ml/hf": ["token"], "ml/old": ["token"]})
    assert [(problem.severity, problem.path, problem.what) for problem in result.warnings] == [
        ("warning", 'secrets["ml/old"]', "no pod reads secret ml/old, so it is not created on any cluster")
    ]


def test_nothing_is_said_of_secrets_whose_readers_are_not_known() -> None:
    many = deployment("many", 2, gpus=4)
    waits = deployment("waits", 3, gpus=4, namespace="other")
    result = made(
        cluster("east"), many, waits, lock=lock({"many east/l4": 2}), secrets={"other/hf": ["token"]}
    )
    placed = {placement.spot.deployment for placement in result.plan.placements}
    unread = [problem.what for problem in result.warnings if problem.kind == "Settings"]
    assert (placed, unread) == ({"ml/many"}, [])


def test_names_and_keys_that_no_secret_can_have_are_refused_where_a_pod_reads_them() -> None:
    # Of what a volume names Kubernetes asks no more than that it is named.
    items = [{"key": "my token", "path": "token"}]
    pull = deployment("a", pod=_volume(secret={"secretName": "hf..x", "items": items}))
    held = {"ml/hf..x": ["my token", "a"], "ml/unread..x": ["b b"]}
    with pytest.raises(InvalidDocuments) as raised:
        made(cluster("east"), pull, secrets=held)
    rename = "Rename it here and where pods read it"
    assert raised.value.problems == (
        Problem(
            "'hf..x' is no name of a Secret: lowercase letters, digits, '-' and single dots",
            rename,
            'secrets["ml/hf..x"]',
            kind="Settings",
            key="test",
        ),
        Problem(
            "'my token' is no key of a Secret: letters, digits, '-', '_' and '.', at most 253",
            rename,
            'secrets["ml/hf..x"]["my token"]',
            kind="Settings",
            key="test",
        ),
    )


def test_a_missing_key_is_told_at_the_template_that_reads_it() -> None:
    def template(*env: dict[str, Any]) -> dict[str, Any]:
        return {"template": {"spec": {"containers": [{"name": "engine", "image": "x", "env": list(env)}]}}}

    token = {"name": "T", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "b"}}}
    topology = {"tensor": 1, "pipeline": 2}
    for workers, role, path in (
        ({"entry": template(), "follower": template(token)}, {}, "spec.workers.follower.template.spec"),
        (template(), template(token), "spec.roles.encode.workers.template.spec"),
        (template(), {}, "spec.workers.template.spec"),
    ):
        roles = {"encode": {"workers": {"topology": {"tensor": 1}, **role}}} if role else {}
        reader = deployment("a", roles=roles).model_dump(by_alias=True, exclude_unset=True)
        reader["spec"]["workers"] = {"topology": topology, **workers}
        documents = stack(ModelDeployment.model_validate(reader), secrets={"ml/hf": ["a"]})
        read = [Reference("Secret", "hf", "b")]
        assert [problem.path for problem in missing_key_problems(documents, "ml/a", read)] == [path]


PULLED: dict[str, Any] = {"serving": {"gateway": {"className": "any"}, "imagePullSecrets": ["registry"]}}


def test_pods_without_pull_secrets_and_pickers_have_those_of_their_cluster() -> None:
    own = {"imagePullSecrets": [{"name": "own"}]}
    held = {"ml/registry": [".dockerconfigjson"]}
    found = made(cluster("east", **PULLED), deployment("a"), deployment("b", pod=own), secrets=held)
    names = ("a-decode-l4", "a-epp", "b-decode-l4", "b-epp")
    workloads = [find(found, "Deployment", f"east/ml/{name}") for name in names]
    pulled = [each.manifest["spec"]["template"]["spec"]["imagePullSecrets"] for each in workloads]
    registry = [{"name": "registry"}]
    assert pulled == [registry, registry, own["imagePullSecrets"], registry]
    secret = find(found, "Secret", "east/ml/registry").key
    assert [secret in each.after for each in workloads] == [True, True, True, True]


@pytest.mark.parametrize(
    "pod", [{}, {"imagePullSecrets": [{"name": "own"}]}], ids=["of engines", "of pickers"]
)
def test_a_pull_secret_of_a_cluster_must_be_there_where_the_stack_does_not_hold_it(
    pod: dict[str, Any],
) -> None:
    needs = made(cluster("east", **PULLED), deployment("a", pod=pod)).clusters[0].objects_needed
    told = {one.name: (one.keys, one.deployments, one.kind, one.key, one.path) for one in needs}
    path = "spec.workers.template.spec.imagePullSecrets[0].name"
    own = ((".dockerconfigjson",), ("ml/a",), "ModelDeployment", "ml/a", path)
    of_cluster = (
        (".dockerconfigjson",),
        ("ml/a",),
        "InferenceCluster",
        "east",
        "spec.serving.imagePullSecrets",
    )
    assert told == {"registry": of_cluster, **({"own": own} if pod else {})}
