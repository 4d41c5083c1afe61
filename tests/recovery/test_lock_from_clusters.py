"""placement.lock as it follows from what runs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import small_gke
from fake_cluster import FakeCluster
from fake_google import FakeGoogle
from small_gke import DOCUMENTS, at, decided, path_of, written

from inferfleet.clusters.connections.google import GOOGLE
from inferfleet.clusters.connections.kubeconfig import Kubeconfigs
from inferfleet.desired import desired
from inferfleet.desired.values import Desired, DesiredCluster
from inferfleet.documents import load
from inferfleet.documents.documents import Documents
from inferfleet.documents.loading.stack import load_stack
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet.lock.lock import Lock, LockedCluster
from inferfleet.fleet.names import SERVICE
from inferfleet.recovery.placement_lock import Content, lock_from_clusters, rebuilt, with_created
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
    return lock_from_clusters(documents, made, Kubeconfigs(dict(texts), {}, ()), google=GOOGLE, seconds=60)


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
    whole = replace(made.plan.lock, clusters=uids)
    documents, _ = planned("local")
    assert with_created(lock, documents, made, google=GOOGLE, seconds=60) == (whole, ())


def test_a_cluster_that_is_not_asked_is_an_error(cluster: Start) -> None:
    _, made = planned("local")
    first, *others = [one.connection.cluster for one in made.clusters]
    with pytest.raises(InvalidDocuments) as refused:
        _asked(*((name, cluster().kubeconfig) for name in others))
    assert [problem.what for problem in refused.value.problems] == [
        f"cluster {first!r} was not asked, so it is not known what runs there"
    ]


def test_a_paused_gke_cluster_is_an_error(google: FakeGoogle, tmp_path: Path) -> None:
    file = tmp_path / "documents.yaml"
    file.write_text(DOCUMENTS.replace("  nodePools:", "  state: paused\n  nodePools:"))
    documents = load([file], catalogue=None)
    with pytest.raises(InvalidDocuments) as refused:
        lock_from_clusters(
            documents,
            desired(documents, Lock()),
            Kubeconfigs({}, {}, ()),
            google=at(google),
            seconds=300,
        )
    assert [problem.what for problem in refused.value.problems] == [
        "cluster 'east' is paused, so the lock cannot say what it and its pools were made with"
    ]


def _created(
    google: FakeGoogle, folder: Path, *pools: str, pods: str = "10.0.0.0/15", gke: str = ""
) -> tuple[Lock, Lock, tuple[str, ...]]:
    """The lock of a plan, that of a cluster of which Google has these pools, and what is said of them."""
    documents = written(folder, gke=gke)
    planned, cloud = decided(documents)
    if pools:
        names = [{"name": cloud.pool_names.get(pool, pool)} for pool in pools]
        answer = {"status": "RUNNING", "nodePools": names, "clusterIpv4Cidr": pods}
        google.clusters[path_of(cloud)] = 200, answer
    lock = Lock(planned.stack, clusters={"east": LockedCluster("GKE", "uid-east")})
    made, problems = with_created(lock, documents, planned, google=at(google), seconds=300)
    return planned.plan.lock, made, tuple(problem.what for problem in problems)


def test_pools_that_google_has_by_the_names_of_the_plan_were_created_as_documents_say(
    google: FakeGoogle, tmp_path: Path
) -> None:
    planned, made, _ = _created(google, tmp_path, "h100", "l4")
    assert (made.pools, made.clusters["east"].uid) == (planned.pools, "uid-east")
    assert made.clusters["east"].settings == planned.clusters["east"].settings


def test_a_pool_of_another_name_was_created_otherwise(google: FakeGoogle, tmp_path: Path) -> None:
    _, made, said = _created(google, tmp_path, "l4-old")
    assert made.pools == {}
    assert said[0].endswith("(it has: l4-old), so an update would create it, and delete what the stack had")


def test_a_cluster_keeps_the_block_that_its_pods_have_in_google_cloud(
    google: FakeGoogle, tmp_path: Path
) -> None:
    planned, made, _ = _created(google, tmp_path, "h100", "l4", pods="10.8.0.0/15")
    settings = planned.clusters["east"].settings
    assert (settings["block"], made.clusters["east"].settings) == (
        "10.0.0.0/14",
        {**settings, "block": "10.8.0.0/14"},
    )


@pytest.mark.parametrize(
    ("pods", "gke", "said"),
    [
        (
            "10.8.0.0/15",
            "network: {block: 10.4.0.0/14}",
            "block 10.4.0.0/14 of cluster 'east' is not 10.8.0.0/14, which it was made with in Google Cloud",
        ),
        (
            "10.10.0.0/15",
            "",
            "pods of cluster 'east' have 10.10.0.0/15 in Google Cloud, which is no first half of a block",
        ),
    ],
)
def test_a_block_that_google_does_not_confirm_is_an_error(
    google: FakeGoogle, tmp_path: Path, pods: str, gke: str, said: str
) -> None:
    with pytest.raises(InvalidDocuments) as refused:
        _created(google, tmp_path, "h100", "l4", pods=pods, gke=gke)
    assert [(problem.what, problem.path) for problem in refused.value.problems] == [
        (said, "spec.cluster.gke.network.block")
    ]


def test_the_block_of_networks_between_gpus_alone_must_be_written(
    google: FakeGoogle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = "gke: {networking: {gpuDirect: TCPXO}, machineType: a3-megagpu-8g"
    monkeypatch.setattr(small_gke, "DOCUMENTS", DOCUMENTS.replace("gke: {machineType: a3-megagpu-8g", fast))
    existing = "existing: {name: shared, subnetwork: nodes, podsRange: pods, servicesRange: services}"
    with pytest.raises(InvalidDocuments) as refused:
        _created(google, tmp_path, "h100", "l4", gke=f"network: {{{existing}}}")
    assert [problem.what for problem in refused.value.problems] == [
        "Google does not say which block of addresses the networks between GPUs of 'east' are in"
    ]
    written = f"network: {{block: 10.8.0.0/14, {existing}}}"
    _, made, _ = _created(google, tmp_path, "h100", "l4", gke=written)
    assert made.clusters["east"].settings["block"] == "10.8.0.0/14"


def test_it_is_an_error_where_google_does_not_answer(google: FakeGoogle, tmp_path: Path) -> None:
    with pytest.raises(InvalidDocuments) as refused:
        _created(google, tmp_path)
    assert [problem.what for problem in refused.value.problems] == [
        "Google does not say which addresses and node pools cluster 'east' has"
    ]
