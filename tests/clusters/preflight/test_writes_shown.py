"""Which objects API servers are asked about before an update, and as which they are shown."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from fake_cluster import FakeCluster, thing

from inferfleet.clusters.preflight.observe import Observation, observe
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.fleet.decisions import Plan

Start = Callable[..., FakeCluster]
OURS = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}
ML = thing("Namespace", "ml", labels=OURS)
DEPLOYMENTS = "/apis/apps/v1/namespaces/ml/deployments"


def look(fake: FakeCluster, *objects: KubeObject) -> Observation:
    connection = Connection("east", "existing/east", "active", config_key="east")
    cluster = DesiredCluster(connection, (Component("ServingStack", "east", objects),))
    desired = Desired("prod", (cluster,), Plan(), frozenset(), ())
    return observe(desired, {"east": fake.kubeconfig}, seconds=300)


def scaled(replicas: int, **spec: Any) -> dict[str, Any]:
    return {"replicas": replicas, "template": {"spec": {}}, **spec}


def made(kind: str, name: str, *, ignore: tuple[str, ...] = (), **more: Any) -> KubeObject:
    return KubeObject(f"{kind}/{name}", thing(kind, name, "ml", labels=OURS, **more), ignore=ignore)


def there(manifest: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The object as an update wrote it, with the fields that it then set."""
    entry = {"manager": "pulumi-kubernetes-1a2b3c4d", "operation": "Apply", "fieldsV1": fields}
    return {**manifest, "metadata": {**manifest["metadata"], "managedFields": [entry]}}


def shown(fake: FakeCluster) -> dict[str, dict[str, str]]:
    """The queries of dry runs, without what all have, by path."""
    queries = {urlsplit(path).path: dict(parse_qsl(urlsplit(path).query)) for path, _ in fake.patched}
    assert {query.pop("dryRun") for query in queries.values()} <= {"All"}
    assert len(queries) == len(fake.patched)
    return queries


def test_one_request_is_sent_for_each_object_that_is_new_or_changes_and_none_for_the_others(
    cluster: Start,
) -> None:
    same = [made("Service", f"s{number}", spec={"type": "ClusterIP"}) for number in range(40)]
    other = made("Deployment", "other", spec=scaled(2))
    foreign = made("Deployment", "foreign", spec=scaled(2))
    fake = cluster(
        objects=[
            ML,
            *(there(each.manifest) for each in same),
            there({**other.manifest, "spec": scaled(1)}),
            {**thing("Deployment", "foreign", "ml"), "spec": scaled(1)},
        ]
    )
    look(fake, KubeObject("ml", ML), *same, other, foreign, made("Deployment", "new", spec=scaled(2)))
    assert shown(fake) == {
        f"{DEPLOYMENTS}/other": {"fieldManager": "pulumi-kubernetes-1a2b3c4d", "force": "false"},
        f"{DEPLOYMENTS}/new": {"fieldManager": "pulumi-kubernetes", "force": "false"},
    }


def test_items_of_lists_have_no_kind_and_are_no_change_for_that(cluster: Start) -> None:
    one = made("Service", "a", spec={"type": "ClusterIP"})
    fake = cluster(objects=[ML, one.manifest])
    bare = {key: value for key, value in one.manifest.items() if key not in ("apiVersion", "kind")}
    fake.behind["/api/v1/namespaces/ml/services?limit=500"] = (200, {})
    listed = {"metadata": {}, "items": [bare]}
    fake.behind["/api/v1/namespaces/ml/services"] = (200, listed)
    look(fake, one)
    assert shown(fake) == {}


PORTS = {"ports": [{"name": "http", "port": 80}]}
OF_PORT = {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}}}


@pytest.mark.parametrize(
    ("fields", "changes"),
    [
        ({"f:ports": OF_PORT}, False),
        ({"f:ports": {**OF_PORT, 'k:{"port":90,"protocol":"TCP"}': {".": {}}}}, True),
        ({"f:ports": OF_PORT, "f:sessionAffinity": {}}, True),
    ],
)
def test_what_an_update_wrote_and_nobody_wants_any_longer_is_a_change(
    cluster: Start, fields: dict[str, Any], changes: bool
) -> None:
    wanted = made("Service", "a", spec=PORTS)
    fields = {"f:spec": fields, "f:metadata": {"f:annotations": {"f:pulumi.com/skipAwait": {}}}}
    fake = cluster(objects=[ML, there(wanted.manifest, **fields)])
    look(fake, wanted)
    assert [*shown(fake)] == ["/api/v1/namespaces/ml/services/a"] * changes


def test_entries_of_a_set_that_are_gone_are_a_change(cluster: Start) -> None:
    wanted = made("Service", "a", metadata={"finalizers": ["x/a"]})
    fields = {"f:metadata": {"f:finalizers": {'v:"x/a"': {}, 'v:"x/b"': {}}}}
    fake = cluster(objects=[ML, there(wanted.manifest, **fields)])
    look(fake, wanted)
    assert [*shown(fake)] == ["/api/v1/namespaces/ml/services/a"]


def test_fields_of_somebody_else_are_shown_as_they_are(cluster: Start) -> None:
    wanted = made("Deployment", "a", ignore=("spec.replicas",), spec=scaled(1, paused=True))
    fake = cluster(objects=[ML, there({**wanted.manifest, "spec": scaled(7)})])
    look(fake, wanted)
    assert [body["spec"] for _, body in fake.patched] == [scaled(7, paused=True)]
    alike = cluster(objects=[ML, there({**wanted.manifest, "spec": scaled(7, paused=True)})])
    look(alike, wanted)
    assert alike.patched == []


@pytest.mark.parametrize(
    "metadata",
    [
        {"annotations": {"inferfleet.dev/replicas": "1-4"}},
        {"annotations": {"pulumi.com/patchForce": "true"}},
        {"managedFields": [{"manager": "kubectl-edit", "operation": "Update"}]},
    ],
)
def test_an_update_takes_over_what_people_and_scalers_of_before_have_set(
    cluster: Start, metadata: dict[str, Any]
) -> None:
    wanted = made("Deployment", "a", spec=scaled(2))
    live = there({**wanted.manifest, "spec": scaled(5)})
    extra = {**live["metadata"], **metadata}
    extra["managedFields"] = [*live["metadata"]["managedFields"], *metadata.get("managedFields", [])]
    fake = cluster(objects=[ML, {**live, "metadata": extra}])
    look(fake, wanted)
    assert shown(fake) == {
        f"{DEPLOYMENTS}/a": {"fieldManager": "pulumi-kubernetes-1a2b3c4d", "force": "true"}
    }


SCALES = {"manager": "kube-controller-manager", "subresource": "scale"}
LABELS = {"f:metadata": {"f:labels": {"f:inferfleet.dev/stack": {}}}}
SCALED = {"f:spec": {"f:replicas": {}}}
OF_ENGINE = {
    "f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"engine"}': {".": {}, "f:args": {}}}}}}
}


@pytest.mark.parametrize(
    ("theirs", "ours", "changes"),
    [
        ([SCALES | {"fieldsV1": SCALED}, {"manager": "x", "fieldsV1": OF_ENGINE}], LABELS, False),
        ([SCALES | {"fieldsV1": SCALED}], LABELS, True),
        ([SCALES | {"fieldsV1": SCALED}, {"manager": "x", "fieldsV1": OF_ENGINE}], SCALED, True),
    ],
)
def test_what_others_alone_have_set_is_no_change(
    cluster: Start, theirs: list[Any], ours: dict[str, Any], changes: bool
) -> None:
    def workload(replicas: int, *args: str) -> dict[str, Any]:
        template = {"spec": {"containers": [{"name": "engine", "args": [*args]}]}}
        return {"replicas": replicas, "template": template}

    wanted = made("Deployment", "a", spec=workload(1, "one", "two"))
    live = there({**wanted.manifest, "spec": workload(4, "one", "other")}, **ours)
    live["metadata"]["managedFields"] += theirs
    fake = cluster(objects=[ML, live])
    look(fake, wanted)
    assert [*shown(fake)] == [f"{DEPLOYMENTS}/a"] * changes


def test_what_goes_into_a_namespace_to_come_is_shown_in_default(cluster: Start) -> None:
    fake = cluster()
    look(
        fake,
        KubeObject("ml", ML),
        made("Deployment", "a", spec=scaled(1)),
        made("Secret", "hf"),
        made("HTTPRoute", "a"),
    )
    assert sorted(urlsplit(path).path for path, _ in fake.patched) == [
        "/api/v1/namespaces/ml",
        "/apis/apps/v1/namespaces/default/deployments/a",
        "/apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes/a",
    ]
    assert {body["metadata"].get("namespace") for _, body in fake.patched} == {"default", None}


def test_values_of_secrets_are_neither_asked_for_nor_shown(cluster: Start) -> None:
    fake = cluster(objects=[ML, thing("Secret", "hf", "ml", labels=OURS, data={"token": "aHVudGVyMg=="})])
    look(fake, made("Secret", "hf"))
    assert fake.patched == []
    lists = [accept for path, accept in fake.asked if "/secrets" in path]
    assert lists
    assert all("as=PartialObjectMetadataList" in accept for accept in lists)


def test_kinds_that_a_cluster_does_not_know_are_not_asked_about(cluster: Start) -> None:
    fake = cluster(kinds={"v1": {"Namespace": ("namespaces", False)}}, objects=[ML])
    look(fake, made("Deployment", "a", spec=scaled(1)))
    assert fake.patched == []
