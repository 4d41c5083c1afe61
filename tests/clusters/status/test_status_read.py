"""What is asked of a cluster for its status."""

from collections.abc import Callable
from typing import Any

from fake_cluster import FakeCluster, thing

from inferfleet.clusters.status.read import LiveCluster, read
from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject
from inferfleet.documents.problems import Problem
from inferfleet.fleet.decisions import Plan

STACK = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}
Start = Callable[..., FakeCluster]


def look(
    fake: FakeCluster, *objects: dict[str, Any], state: Any = "active", **more: Any
) -> dict[str, LiveCluster | Problem]:
    connection = Connection("east", "existing/east", state, config_key="east", uid=more.pop("uid", None))
    components = (Component("ServingStack", "east", tuple(KubeObject("n", wanted) for wanted in objects)),)
    desired = Desired("prod", (DesiredCluster(connection, components, **more),), Plan(), frozenset(), ())
    return read(desired, {"east": fake.kubeconfig}, seconds=300)


def test_objects_of_this_stack_and_pods_of_engines_and_pickers_are_read(cluster: Start) -> None:
    route = thing("HTTPRoute", "qwen", "ml", labels=STACK, status={"parents": []})
    engine = thing("Pod", "qwen-a", "ml", labels={"inferfleet.dev/deployment": "qwen"})
    picker = thing("Pod", "qwen-epp-a", "ml", labels={"app.kubernetes.io/managed-by": "inferfleet"})
    theirs = thing("Gateway", "shared", "infra", status={"addresses": []})
    fake = cluster(
        objects=[
            route,
            thing("HTTPRoute", "other", "ml", labels={**STACK, "inferfleet.dev/stack": "dev"}),
            engine,
            picker,
            thing("Pod", "somebody", "ml"),
            theirs,
        ]
    )
    seen = look(fake, thing("HTTPRoute", "qwen", "ml"), gateway_ref=("infra", "shared"))
    wanted = LiveCluster(
        {("HTTPRoute", "ml", "qwen"): route, ("Gateway", "infra", "shared"): theirs}, (engine, picker)
    )
    assert seen == {"east": wanted}


def test_values_of_secrets_are_never_asked_for(cluster: Start) -> None:
    fake = cluster(objects=[thing("Secret", "hf", "ml", labels=STACK)])
    look(fake, thing("Secret", "hf", "ml"))
    accepted = [accept for path, accept in fake.asked if path.startswith("/api/v1/secrets")]
    assert accepted
    assert all("as=PartialObjectMetadataList" in header for header in accepted)


def test_a_kind_the_cluster_does_not_know_leaves_its_objects_unseen(cluster: Start) -> None:
    fake = cluster(kinds={"v1": {"Pod": ("pods", True)}})
    assert look(fake, thing("HTTPRoute", "qwen", "ml")) == {"east": LiveCluster()}


def test_another_cluster_under_the_name_is_not_taken_for_ours(cluster: Start) -> None:
    problem = look(cluster(uid="uid-2"), uid="uid-1")["east"]
    assert isinstance(problem, Problem)
    assert problem.what.startswith("another cluster answers under the name 'east'")


def test_a_lost_cluster_is_asked_nothing(cluster: Start) -> None:
    fake = cluster()
    assert look(fake, state="lost") == {}
    assert fake.asked == []
