"""Add-ons that the stack installs: where they are needed, in which order they come, what stays."""

from dataclasses import replace
from typing import Any

import pytest
from small_stack import NOTHING, cluster, deployment
from small_stack import stack as documents_of

from inferfleet.desired import desired as desired_of
from inferfleet.desired.addons import unrendered_problems
from inferfleet.desired.transition import with_newer
from inferfleet.desired.values import ClusterAddon, Desired
from inferfleet.documents.documents import Documents, Rendered
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet.lock.lock import Lock, LockedCluster, parse, text

GATEWAY = {"className": "istio", "provider": "istio"}
LABELS = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "test"}


def definition(group: str, plural: str, kind: str) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": {"kind": kind}, "versions": [{"name": "v1", "served": True}]},
    }


def thing(kind: str, name: str, namespace: str | None = None) -> dict[str, Any]:
    versions = {"Deployment": "apps/v1", "MutatingWebhookConfiguration": "admissionregistration.k8s.io/v1"}
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": versions.get(kind, "v1"), "kind": kind, "metadata": metadata}


# In the order of files, which is none.
LWS = Rendered(
    "h1:lws",
    {},
    (
        thing("Deployment", "manager", "lws-system"),
        thing("MutatingWebhookConfiguration", "hooks"),
        thing("Service", "hooks", "lws-system"),
        thing("Namespace", "lws-system"),
        definition("leaderworkerset.x-k8s.io", "leaderworkersets", "LeaderWorkerSet"),
    ),
)
ISTIO = Rendered("h1:istio", {}, (thing("Deployment", "istiod", "istio-system"),))
PAIR = deployment(
    "pair",
    declared={"model": "some/model"},
    workers={
        "topology": {"tensor": 1, "pipeline": 2},
        "template": {"spec": {"containers": [{"name": "engine", "image": "engine:1"}]}},
    },
)


def stack(
    *documents: Any, lock: Lock = NOTHING, **installed: dict[str, Rendered]
) -> tuple[Documents, Desired]:
    with_installed: Any = replace(documents_of(*documents), installed=installed)
    return with_installed, desired_of(with_installed, lock)


def managed(stack: Any = "Managed", **serving: Any) -> Any:
    return cluster("east", serving={"gateway": GATEWAY, "stack": stack, **serving})


def addons(desired: Desired) -> tuple[ClusterAddon, ...]:
    (only,) = desired.clusters
    return only.addons


def test_what_objects_of_the_cluster_need_is_installed_and_says_for_what() -> None:
    _, one_pod = stack(managed(), deployment("one"))
    assert [(addon.name, addon.version) for addon in addons(one_pod)] == [
        ("gatewayAPI", "1.5.1"),
        ("inferenceExtension", "1.5.0"),
        ("istio", "1.31.1"),
    ]
    _, two_pods = stack(managed({"leaderWorkerSet": "Managed"}), PAIR)
    assert addons(two_pods) == (
        ClusterAddon("leaderWorkerSet", "0.9.0", "LeaderWorkerSet ml/pair-decode-l4"),
    )
    assert two_pods.plan.lock.clusters["east"].installed == {"leaderWorkerSet": "0.9.0"}


def test_a_cluster_whose_stack_is_provided_gets_nothing() -> None:
    _, desired = stack(cluster("east"), PAIR)
    assert addons(desired) == ()
    assert "installed" not in text(desired.plan.lock)


def locked(**installed: str) -> Lock:
    return replace(NOTHING, clusters={"east": LockedCluster("Existing", installed=installed)})


def test_what_is_installed_stays_without_need_in_its_version() -> None:
    _, desired = stack(
        managed({"leaderWorkerSet": "Managed"}), deployment("one"), lock=locked(leaderWorkerSet="0.8.0")
    )
    assert addons(desired) == (ClusterAddon("leaderWorkerSet", "0.8.0", ""),)


def test_a_version_in_the_document_is_the_one_that_is_installed() -> None:
    document = managed({"leaderWorkerSet": {"version": "0.9.0"}})
    _, desired = stack(document, PAIR, lock=locked(leaderWorkerSet="0.8.0"))
    assert [addon.version for addon in addons(desired)] == ["0.9.0"]


def test_a_version_that_is_rendered_already_is_not_left_for_a_newer_one() -> None:
    _, desired = stack(managed({"leaderWorkerSet": "Managed"}), PAIR, leaderWorkerSet={"0.8.0": LWS})
    assert [addon.version for addon in addons(desired)] == ["0.8.0"]


def test_what_is_left_to_others_again_is_held_without_objects() -> None:
    _, desired = stack(
        cluster("east"), PAIR, lock=locked(leaderWorkerSet="0.9.0"), leaderWorkerSet={"0.9.0": LWS}
    )
    assert addons(desired) == (ClusterAddon("leaderWorkerSet", "0.9.0", "", left=True),)
    (component,) = [each for each in desired.clusters[0].components if each.kind == "ClusterAddon"]
    assert (component.name, component.objects, component.held) == ("east/leaderWorkerSet", (), True)
    assert desired.plan.lock.clusters["east"].installed == {"leaderWorkerSet": "0.9.0"}


def test_objects_come_by_kind_and_what_they_serve_comes_after_them() -> None:
    _, desired = stack(managed({"leaderWorkerSet": "Managed"}), PAIR, leaderWorkerSet={"0.9.0": LWS})
    (only,) = desired.clusters
    component = only.components[0]
    kinds = ("CustomResourceDefinition", "Namespace", "Service", "Deployment", "MutatingWebhookConfiguration")
    assert tuple(item.kind for item in component.objects) == kinds
    keys = tuple(item.key for item in component.objects)
    assert [item.after for item in component.objects] == [(), *((key,) for key in keys[:-1])]
    assert [item.retain for item in component.objects] == [True, True, False, False, False]
    (workload,) = [item for item in only.objects if item.kind == "LeaderWorkerSet"]
    assert keys[-1] in workload.after
    assert workload.webhooks == (component.objects[-1],)


def test_objects_have_the_labels_of_the_stack_and_definitions_their_version() -> None:
    _, desired = stack(managed({"leaderWorkerSet": "Managed"}), PAIR, leaderWorkerSet={"0.9.0": LWS})
    defined, space, *_ = desired.clusters[0].components[0].objects
    assert space.name == "east/leaderWorkerSet/lws-system"
    assert space.manifest["metadata"] == {"name": "lws-system", "labels": LABELS}
    assert defined.manifest["metadata"] == {
        "name": "leaderworkersets.leaderworkerset.x-k8s.io",
        "labels": LABELS,
        "annotations": {
            "inferfleet.dev/addon-version": "0.9.0",
            "pulumi.com/waitFor": "condition=Established",
        },
    }


def test_one_add_on_comes_after_the_other_and_the_gateway_after_istio() -> None:
    _, desired = stack(managed(), PAIR, istio={"1.31.1": ISTIO}, leaderWorkerSet={"0.9.0": LWS})
    istio, lws, *_ = desired.clusters[0].components
    (istiod,) = istio.objects
    assert lws.objects[0].after == (istiod.key,)
    (gateway,) = [item for item in desired.clusters[0].objects if item.kind == "Gateway"]
    assert istiod.key in gateway.after


def test_what_is_not_rendered_and_other_values_are_problems() -> None:
    document = managed({"leaderWorkerSet": {"values": {"replicaCount": 2}}})
    documents, desired = stack(document, PAIR)
    step = "Run `inferfleet stack render --stack test`, and commit what it writes"
    wanted = {"east": addons(desired)}
    (missing,) = unrendered_problems(documents, wanted)
    assert (missing.what, missing.next_step, missing.path) == (
        "LeaderWorkerSet 0.9.0 is to be installed on cluster 'east', and is not rendered",
        step,
        "spec.serving.stack.leaderWorkerSet",
    )
    other = replace(documents, installed={"leaderWorkerSet": {"0.9.0": LWS}})
    (differs,) = unrendered_problems(other, wanted)
    assert (differs.what, differs.next_step) == (
        "LeaderWorkerSet 0.9.0 is rendered with other values than those of cluster 'east'",
        step,
    )
    same = replace(
        documents, installed={"leaderWorkerSet": {"0.9.0": replace(LWS, values={"replicaCount": 2})}}
    )
    assert list(unrendered_problems(same, wanted)) == []


def test_clusters_with_one_version_have_the_same_values() -> None:
    serving = {"gateway": GATEWAY, "stack": {"istio": "Managed"}}
    other = {"gateway": GATEWAY, "stack": {"istio": {"values": {"a": 1}}}}
    with pytest.raises(InvalidDocuments) as raised:
        stack(cluster("east", serving=serving), cluster("west", serving=other))
    assert [problem.what for problem in raised.value.problems] == [
        "clusters 'east' and 'west' have Istio 1.31.1 with different values, and a stack renders each "
        "version once"
    ]


def test_the_lock_says_what_is_installed() -> None:
    lock = locked(istio="1.31.1", leaderWorkerSet="0.9.0")
    line = '  east: {source: Existing, installed: {istio: "1.31.1", leaderWorkerSet: "0.9.0"}}'
    assert line in text(lock).splitlines()
    assert parse(text(lock), file="placement.lock", stack="test") == lock


def test_a_definition_that_a_newer_version_wrote_is_not_changed() -> None:
    _, desired = stack(managed({"leaderWorkerSet": "Managed"}), PAIR, leaderWorkerSet={"0.9.0": LWS})
    defined, *others = desired.clusters[0].components[0].objects
    live = {**defined.manifest, "spec": {"group": "newer"}}
    kept, *same = with_newer(desired, {defined.key: live}).clusters[0].components[0].objects
    assert (kept, same) == (replace(defined, manifest=live, ignore=("*",)), others)
