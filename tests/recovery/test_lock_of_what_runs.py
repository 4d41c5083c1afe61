"""placement.lock as it follows from what runs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_cluster import FakeCluster

from inferfleet.clusters.connections.google import GOOGLE
from inferfleet.clusters.connections.kubeconfig import Kubeconfigs
from inferfleet.desired import desired
from inferfleet.desired.values import Desired, DesiredCluster
from inferfleet.documents.documents import Documents
from inferfleet.documents.loading.stack import load_stack
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.names import SERVICE
from inferfleet.recovery.placement_lock import Content, lock_of_what_runs, rebuilt
from inferfleet.serving.workload import WORKER_SET

ROOT = Path(__file__).parents[2]
STACKS = sorted(path.name.split(".")[1] for path in (ROOT / "stacks").glob("Pulumi.*.yaml"))
Start = Callable[..., FakeCluster]


def planned(stack: str) -> tuple[Documents, Desired]:
    documents, _ = load_stack(ROOT, stack)
    return documents, desired(documents, Lock(stack=stack))


def content(cluster: DesiredCluster) -> Content:
    """What the cluster has once the update is done."""
    manifests = [wanted.manifest for wanted in cluster.objects]
    return Content(
        f"uid-{cluster.connection.cluster}",
        tuple(one for one in manifests if one["kind"] in ("Deployment", WORKER_SET)),
        frozenset(
            f"{one['metadata']['namespace']}/{one['metadata']['labels'][SERVICE]}"
            for one in manifests
            if SERVICE in one["metadata"].get("labels", {})
        ),
    )


@pytest.mark.parametrize("stack", STACKS)
def test_what_an_update_made_gives_the_lock_of_that_update(stack: str) -> None:
    documents, made = planned(stack)
    contents = {cluster.connection.cluster: content(cluster) for cluster in made.clusters}
    lock, problems = rebuilt(documents, stack, contents)
    assert (lock.placements, lock.services, problems) == (
        made.plan.lock.placements,
        made.plan.lock.services,
        (),
    )
    again = desired(documents, lock).plan.lock
    uids = {name: replace(one, uid=f"uid-{name}") for name, one in made.plan.lock.clusters.items()}
    assert again == replace(made.plan.lock, clusters=uids)


def _changed(stack: str, change: Callable[[list[dict[str, Any]]], object]) -> tuple[str, ...]:
    """What is said of the first cluster of a stack once its workloads are changed."""
    documents, made = planned(stack)
    cluster = next(one for one in made.clusters if content(one).workloads)
    whole = content(cluster)
    workloads = [{**one, "spec": dict(one["spec"])} for one in whole.workloads]
    change(workloads)
    changed = replace(whole, workloads=tuple(workloads))
    _, problems = rebuilt(documents, stack, {cluster.connection.cluster: changed})
    return tuple(problem.what for problem in problems)


def _engines(workloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in workloads if "inferfleet.dev/placement" in one["metadata"]["labels"]]


def _scaled_to(number: int) -> Callable[[list[dict[str, Any]]], object]:
    return lambda workloads: _engines(workloads)[0]["spec"].update(replicas=number)


def test_a_workload_that_somebody_scaled_by_hand_does_not_say_how_many_replicas_there_are() -> None:
    assert _changed("disaggregated", _scaled_to(0))[0].endswith(": it was scaled by hand")


def test_roles_that_do_not_agree_in_their_replicas_are_not_paired() -> None:
    (said,) = _changed("disaggregated", _scaled_to(9))
    assert said.startswith("it is not clear which pools of ")


def test_a_deployment_without_a_document_is_left_out() -> None:
    documents, made = planned("local")
    contents = {cluster.connection.cluster: content(cluster) for cluster in made.clusters}
    without = replace(documents, deployments={})
    lock, problems = rebuilt(without, "local", contents)
    assert (lock.placements, problems) == ({}, ())


def _asked(*texts: tuple[str, str]) -> Lock:
    documents, made = planned("local")
    return lock_of_what_runs(documents, made, Kubeconfigs(dict(texts), {}, ()), google=GOOGLE, seconds=60)


def test_clusters_are_asked_for_workloads_and_routes_of_the_stack(cluster: Start) -> None:
    _, made = planned("local")
    fakes = {
        one.connection.cluster: cluster(
            uid=f"uid-{one.connection.cluster}", objects=[wanted.manifest for wanted in one.objects]
        )
        for one in made.clusters
    }
    lock = _asked(*((name, fake.kubeconfig) for name, fake in fakes.items()))
    uids = {name: replace(one, uid=f"uid-{name}") for name, one in made.plan.lock.clusters.items()}
    assert lock == replace(made.plan.lock, clusters=uids, nodes={}, pools={})


def test_a_cluster_that_is_not_asked_is_an_error(cluster: Start) -> None:
    _, made = planned("local")
    first, *others = [one.connection.cluster for one in made.clusters]
    with pytest.raises(InvalidDocuments) as refused:
        _asked(*((name, cluster().kubeconfig) for name in others))
    assert [problem.what for problem in refused.value.problems] == [
        f"cluster {first!r} was not asked, so it is not known what runs there"
    ]
