"""What a change does to a whole cluster of the stack's own, and what the lock remembers of it."""

from dataclasses import replace

import pytest
from small_changes import SPOT, STANDING, after, changes, standing
from small_clouds import clouds, cluster, pool

from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.fleet.lock.lock import LockedCluster, parse, text
from inferfleet.fleet.planning import plan


def test_the_lock_remembers_clusters_and_pools_and_nothing_of_those_that_are_gone() -> None:
    lock = standing(cluster("east"), cluster("west"), replicas=0)
    lock = replace(lock, nodes=dict.fromkeys(lock.pools, 2))
    assert parse(text(lock), file="placement.lock", stack="prod") == lock
    assert (sorted(lock.clusters), sorted(lock.pools)) == (["east", "west"], ["east/l4", "west/l4"])
    east = {"east": lock.clusters["east"]}
    left = after(replace(lock, clusters=east), cluster("east", pool("b")))
    assert (left.clusters, sorted(left.pools)) == (east, ["east/b"])


def test_a_lost_cluster_is_remembered_as_it_was_and_may_not_change() -> None:
    lock = standing(cluster())
    lost = _in_state("lost", cluster("east", pool(capacity={"model": "Spot"}), pool("b"), region="us-east1"))
    assert after(lock, lost) == lock
    assert [one.partition(". ")[0] for one in changes(lock, lost)[1]] == [
        "spec.cluster.gke: cluster east is lost and would be replaced by another: "
        "region (location us-east5 -> us-east1)"
    ]
    stays = _in_state("lost", cluster("east", pool(capacity={"model": "Spot"}), pool("b")))
    assert [one.partition(". ")[0] for one in changes(lock, stays)[1]] == [
        "spec.nodePools: cluster east is lost, and pool east/b is created by the documents",
        f"spec.nodePools[0]: cluster east is lost, and {STANDING} would change: {SPOT}",
    ]


def test_a_plan_hands_memory_on_and_drops_that_of_another_source() -> None:
    lock = standing(cluster("east"), cluster("west"), replicas=0)
    west = {"west": replace(lock.clusters["west"], source="Existing", settings={})}
    moved = replace(lock, clusters=lock.clusters | west)
    found = plan(clouds(cluster("east"), cluster("west")), moved).lock
    assert found.pools == lock.pools
    assert found.clusters == {"east": lock.clusters["east"], "west": LockedCluster("GKE")}


def test_a_cluster_that_is_another_one_has_another_uid() -> None:
    lock = standing(cluster(), replicas=0)
    uids = [after(lock, cluster(region=one)).clusters["east"].uid for one in ("us-east5", "us-east1")]
    assert uids == ["uid-1", None]


@pytest.mark.parametrize(
    ("edited", "told"),
    [
        (cluster(project="acme-two"), "project acme-ml -> acme-two"),
        (cluster(region="us-east1"), "region (location us-east5 -> us-east1)"),
    ],
)
def test_another_place_is_another_cluster_and_needs_the_old_one_empty_and_unprotected(
    edited: InferenceCluster, told: str
) -> None:
    lock, empty = standing(cluster()), standing(cluster(deletionProtection=False), replicas=0)
    assert changes(lock, edited)[1] == [
        f"spec.cluster.gke: cluster east has 2 replicas and would be replaced by another: {told}. Move them "
        "first: change it back, set state: drained, run pulumi up, then change it"
    ]
    protected = [
        "spec.cluster.gke: cluster east would be replaced by another, and its deletionProtection forbids "
        f"deleting the old one: {told}. Change it back, set deletionProtection: false, run pulumi up, then "
        "change it"
    ]
    assert changes(empty, edited)[1] == protected
    assert changes(standing(cluster(), replicas=0), _unprotected(edited))[1] == protected
    assert changes(empty, _unprotected(edited)) == (
        [
            f"cluster east is replaced: {told}; the old one is deleted with everything on it",
            f"pool east/l4 is replaced: {told}; with its cluster",
        ],
        [],
        [],
    )


def test_what_a_cluster_keeps_for_life_is_refused_though_nothing_runs_there() -> None:
    lock = standing(cluster(), replicas=0)
    begins = (
        "spec.cluster.gke: cluster east has immutable settings that would change, so it would have to be "
        "replaced: "
    )
    assert changes(lock, cluster(network={"block": "10.128.0.0/14"}))[1] == [
        f"{begins}network.block 10.0.0.0/14 -> 10.128.0.0/14. Change them back; or add a cluster of another "
        "name, and remove this one once it is drained; where no update has made it, put placement.lock back "
        "as it was before it"
    ]
    existing = {"name": "n", "subnetwork": "s", "podsRange": "p", "servicesRange": "q"}
    (problem,) = changes(lock, cluster(network={"existing": existing}))[1]
    assert problem.startswith(
        f"{begins}network.block 10.0.0.0/14 -> unset, network.existing (clusterSecondaryRangeName pods -> p"
    )


def test_another_source_waits_until_no_replica_is_left() -> None:
    there = InferenceCluster.model_validate(
        {
            "metadata": {"name": "east"},
            "spec": {
                "cluster": {"source": "Existing", "existing": {"kubeconfig": {"path": "k"}}},
                "nodePools": [pool()],
                "serving": {"gateway": {"className": "istio"}},
            },
        }
    )
    assert changes(standing(there), cluster())[1] == [
        "spec.cluster.source: cluster east has 2 replicas and would be replaced by another: source Existing "
        "-> GKE. Move them first: change it back, set state: drained, run pulumi up, then change it"
    ]
    assert changes(standing(cluster(), replicas=0), there)[1] == [
        "spec.cluster.source: cluster east would be replaced by another, and its deletionProtection forbids "
        "deleting the old one: source GKE -> Existing. Change it back, set deletionProtection: false, run "
        "pulumi up, then change it"
    ]
    assert changes(standing(cluster(deletionProtection=False), replicas=0), there) == (
        ["cluster east is replaced: source GKE -> Existing; the old one is deleted with everything on it"],
        [],
        [],
    )
    assert changes(standing(there), there) == ([], [], [])


def test_a_protected_cluster_keeps_its_document_until_an_update_has_let_it_go() -> None:
    lock = standing(cluster(), replicas=0)
    assert changes(lock, cluster("west"))[1] == [
        "cluster east has no document any more, and its deletionProtection forbids deleting it. Put the "
        "document back with deletionProtection: false, run pulumi up, then remove it"
    ]
    let_go = after(lock, cluster(deletionProtection=False))
    assert changes(let_go, cluster("west"))[1] == []


def test_clusters_and_pools_that_come_and_go_are_told() -> None:
    lock = standing(cluster(deletionProtection=False), replicas=0)
    assert changes(lock, cluster("east", pool("b")))[0] == [
        "pool east/b is created",
        "pool east/l4 is removed",
    ]
    assert changes(lock, cluster("west"))[0] == [
        "cluster east is removed",
        "cluster west is created; with pool l4",
    ]


def test_an_abandoned_cluster_changes_in_nothing() -> None:
    given_up = _in_state("abandoned", cluster(region="us-east1"))
    assert changes(standing(cluster()), given_up) == ([], [], [])


def _in_state(state: str, one: InferenceCluster) -> InferenceCluster:
    return one.model_copy(update={"spec": one.spec.model_copy(update={"state": state})})


def _unprotected(one: InferenceCluster) -> InferenceCluster:
    assert one.spec.cluster.gke
    return cluster(
        region=one.spec.cluster.gke.region, project=one.spec.cluster.gke.project, deletionProtection=False
    )
