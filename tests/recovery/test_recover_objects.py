"""Whether objects whose creation was cut off are on their clusters."""

from collections.abc import Callable
from typing import Any

import pytest
from fake_cluster import FakeCluster, thing
from own_cluster import connection, desired_on
from small_state import Values, config_map, resource, urn

from inferfleet.desired.values import Connection, Desired, DesiredCluster
from inferfleet.documents.problems import Problem
from inferfleet.fleet.decisions import Plan
from inferfleet.recovery.state import Absent, Presence, Present, StackResource
from inferfleet.recovery.survey import presence

Start = Callable[..., FakeCluster]
ON_A = urn("kubernetes:core/v1:ConfigMap", "east/ml/a")
OURS = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}


def fleet(*, state: Any = "active", uid: str | None = None, name: str = "east") -> Desired:
    cluster = DesiredCluster(Connection(name, f"existing/{name}", state, config_key="key", uid=uid), ())
    return Desired("prod", (cluster,), Plan(), frozenset(), ())


def look(
    desired: Desired, *resources: Values, kubeconfig: str | None = None, google: str = "http://127.0.0.1:9"
) -> dict[str, Presence]:
    texts = {"east": kubeconfig} if kubeconfig else {}
    unread = {} if kubeconfig else {"east": Problem("no kubeconfig", "Name one")}
    of = tuple(StackResource(resource) for resource in resources)
    return presence(of, desired, texts, unread, container_api=google, seconds=300)


def on_cluster(labels: dict[str, str], *managers: str) -> dict[str, Any]:
    made = thing("ConfigMap", "a", "ml", labels=labels)
    made["metadata"]["managedFields"] = [
        {"manager": manager, "operation": "Apply" if manager.startswith("pulumi") else "Update"}
        for manager in managers
    ]
    return made


def test_an_object_of_this_stack_stands_and_tells_who_owns_its_fields(cluster: Start) -> None:
    fake = cluster(objects=[on_cluster(OURS, "kube-controller-manager", "pulumi-kubernetes-1")])
    known = look(fleet(), config_map("a"), config_map("b"), kubeconfig=fake.kubeconfig)
    assert known == {
        ON_A: Present("pulumi-kubernetes-1"),
        urn("kubernetes:core/v1:ConfigMap", "east/ml/b"): Absent(),
    }


@pytest.mark.parametrize("labels", [{}, {**OURS, "inferfleet.dev/stack": "dev"}])
def test_an_object_of_somebody_else_is_not_taken(cluster: Start, labels: dict[str, str]) -> None:
    fake = cluster(objects=[on_cluster(labels)])
    known = look(fleet(), config_map("a"), kubeconfig=fake.kubeconfig)
    assert known == {ON_A: Absent("what is on its cluster under that name is not this stack's")}


def test_a_namespace_needs_no_label_of_the_stack(cluster: Start) -> None:
    inputs = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    namespace = resource("kubernetes:core/v1:Namespace", "east/ml", inputs=inputs)
    fake = cluster(objects=[thing("Namespace", "ml")])
    assert look(fleet(), namespace, kubeconfig=fake.kubeconfig) == {namespace["urn"]: Present()}


def test_a_cluster_without_the_kind_has_no_such_object(cluster: Start) -> None:
    fake = cluster(kinds={})
    known = look(fleet(), config_map("a"), kubeconfig=fake.kubeconfig)
    assert known == {ON_A: Absent("its cluster does not know the kind")}


def test_of_a_cluster_that_is_another_one_nothing_is_believed(cluster: Start) -> None:
    fake = cluster(objects=[on_cluster(OURS)])
    (answer,) = look(fleet(uid="uid-2"), config_map("a"), kubeconfig=fake.kubeconfig).values()
    assert isinstance(answer, Problem)


def test_a_cluster_that_cannot_be_asked_leaves_it_open() -> None:
    assert look(fleet(), config_map("a")) == {ON_A: Problem("no kubeconfig", "Name one")}


@pytest.mark.parametrize("state", ["lost", "abandoned"])
def test_on_a_cluster_that_was_given_up_nothing_is_waited_for(state: str) -> None:
    why = f"cluster 'east' is {state}; an update finds it by its name"
    desired = fleet(state=state)
    known = presence(
        [StackResource(config_map("a"))], desired, {}, {}, container_api="http://127.0.0.1:9", seconds=5
    )
    assert known == {ON_A: Absent(why)}


def test_a_cluster_without_a_document_leaves_it_open() -> None:
    known = presence(
        [StackResource(config_map("a"))],
        fleet(name="west"),
        {},
        {},
        container_api="http://127.0.0.1:9",
        seconds=300,
    )
    step = "Put its document back, with `state: abandoned` if it is to be given up"
    assert known == {ON_A: Problem("cluster 'east' has no document any more", step)}


def test_a_cluster_that_google_does_not_have_has_no_objects(google: Any) -> None:
    assert connection().cloud is not None
    known = look(desired_on(), config_map("a"), google=google.address)
    assert known == {ON_A: Absent("Google Cloud has no cluster east-1a2b3c in project acme, us-east5")}
