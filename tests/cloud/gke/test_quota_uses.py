"""What an update takes of Google's quotas beyond what stands."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from small_clouds import L4, clouds, clouds_of, cluster, pool, recipe, with_pickers

from inferfleet.cloud.gke.quotas import SSD_GB, quota_uses
from inferfleet.cloud.provider import locked
from inferfleet.cloud.values import QuotaUse
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.demands import declared_demands
from inferfleet.fleet.lock.lock import Lock, LockedCluster, LockedPool
from inferfleet.fleet.spot import Spot

P, R = "acme-ml", "us-east5"
SPOT = Spot("ml/m0", "east", (("decode", "l4"),))
SYSTEM_POOL = "spec.cluster.gke.systemPool"
SYSTEM = (
    QuotaUse(P, "", "CPUS_ALL_REGIONS", 48, 0, ("east/system",), SYSTEM_POOL),
    QuotaUse(P, R, "CPUS", 48, 0, ("east/system",), SYSTEM_POOL),
)


def fleet(made: InferenceCluster) -> Documents:
    """Return a fleet with a deployment of one GPU for each replica."""
    return with_pickers(clouds(made), "east", {})[0]


def names_in(documents: Documents) -> Mapping[str, str]:
    (found,) = clouds_of(documents, Lock(stack="prod"), Plan())
    return found.pool_names


def taken(
    made: InferenceCluster, *, replicas: int = 0, before: InferenceCluster | None = None, stood: int = 0
) -> list[QuotaUse]:
    """What is taken for so many replicas by a cluster that is new, or was made as `before` says.

    Disks and networks are left out, which every node and cluster has: `disks` and `networks` have them.
    """
    found = all_taken(made, replicas=replicas, before=before, stood=stood)
    return [need for need in found if need.metric not in (SSD_GB, "NETWORKS")]


def networks(made: InferenceCluster, **how: Any) -> list[QuotaUse]:
    """What is taken of the quota of networks."""
    return [need for need in all_taken(made, **how) if need.metric == "NETWORKS"]


def disks(made: InferenceCluster, **how: Any) -> list[QuotaUse]:
    """What is taken of the quota of disks."""
    return [need for need in all_taken(made, **how) if need.metric == SSD_GB]


def all_taken(
    made: InferenceCluster, *, replicas: int = 0, before: InferenceCluster | None = None, stood: int = 0
) -> list[QuotaUse]:
    documents = fleet(made)
    lock, there = Lock(stack="prod"), {}
    if before:
        old = fleet(before)
        lock = Lock(stack="prod", clusters={"east": LockedCluster("GKE")}, placements={SPOT: stood})
        lock = locked(old, lock, clouds_of(old, lock, Plan()))
        there = {"east": ["system-0", *names_in(old).values()]}
    placements = (Placement(SPOT, replicas),) if replicas else ()
    planned = Plan(placements=placements, demands=declared_demands(documents))
    return list(quota_uses(documents, clouds_of(documents, lock, planned), lock, planned, there))


def gpus(metric: str, amount: int, standing: int = 0) -> list[QuotaUse]:
    """A need of GPUs in the region and in the whole project."""
    return [
        QuotaUse(P, "", "GPUS_ALL_REGIONS", amount, standing, ("east/l4",), "spec.nodePools[0]"),
        QuotaUse(P, R, metric, amount, standing, ("east/l4",), "spec.nodePools[0]"),
    ]


def test_a_new_cluster_takes_cpus_for_a_system_node_in_each_zone() -> None:
    assert taken(cluster()) == list(SYSTEM)
    assert [one.amount for one in taken(cluster(zones=["us-east5-a"]))] == [16, 16]


@pytest.mark.parametrize(
    ("capacity", "metric"),
    [
        ("OnDemand", "NVIDIA_L4_GPUS"),
        ("Spot", "PREEMPTIBLE_NVIDIA_L4_GPUS"),
        ("FlexStart", "PREEMPTIBLE_NVIDIA_L4_GPUS"),
        ("Queued", "PREEMPTIBLE_NVIDIA_L4_GPUS"),
    ],
)
def test_an_autoscaled_pool_takes_what_its_replicas_need(capacity: str, metric: str) -> None:
    """Five replicas of one GPU stand on two nodes of four."""
    made = cluster("east", pool(capacity={"model": capacity}))
    assert taken(made, replicas=5) == sorted([*SYSTEM, *gpus(metric, 8)])
    assert taken(made, replicas=5, before=made, stood=4) == gpus(metric, 8, 4)
    assert taken(made, replicas=5, before=made, stood=5) == []


def test_the_least_nodes_of_an_autoscaled_pool_may_be_there_already() -> None:
    made = cluster("east", pool(minNodeCount=1))
    assert taken(made, replicas=4, before=made) == []
    assert taken(made, replicas=5, before=made) == gpus("NVIDIA_L4_GPUS", 8, 4)


def test_a_fixed_pool_takes_all_its_nodes_once() -> None:
    made = cluster("east", pool(nodeCount=2))
    assert taken(made) == sorted([*SYSTEM, *gpus("NVIDIA_L4_GPUS", 8)])
    assert taken(made, before=made) == []


def test_reserved_nodes_take_no_quota() -> None:
    made = cluster("east", pool(nodeCount=2, capacity={"model": "Reservation"}))
    assert taken(made) == list(SYSTEM)


@pytest.mark.parametrize(
    ("model", "metric"),
    [("OnDemand", "GPUS_PER_GPU_FAMILY:NVIDIA_H100_MEGA"), ("Spot", "PREEMPTIBLE_NVIDIA_H100_MEGA_GPUS")],
)
def test_newer_gpus_are_counted_by_family_and_bring_their_cpus_along(model: str, metric: str) -> None:
    made = cluster("east", pool("l4", "mega", nodeCount=1, capacity={"model": model}))
    assert taken(made) == sorted([*SYSTEM, *gpus(metric, 8)])


def test_gpus_that_are_not_known_count_in_the_whole_project() -> None:
    made = cluster("east", pool("l4", "b9", nodeCount=1))
    assert taken(made) == sorted([*SYSTEM, gpus("", 8)[0]])


@pytest.mark.parametrize(
    ("order", "added"),
    [("CreateFirst", gpus("NVIDIA_L4_GPUS", 16, 8)), ("DeleteFirst", [])],
)
def test_a_pool_that_is_replaced_counts_twice_unless_its_old_nodes_end_first(
    order: str, added: list[QuotaUse]
) -> None:
    made = cluster("east", pool(nodeCount=2), replace={"order": order})
    documents = fleet(made)
    lock = Lock(stack="prod", clusters={"east": LockedCluster("GKE")})
    clusters = clouds_of(documents, lock, Plan())
    (now,) = locked(documents, lock, clusters).pools.values()
    old = replace(lock, pools={"east/l4": LockedPool("l4-000000", now.settings)})
    found = list(quota_uses(documents, clusters, old, Plan(), {"east": ["l4-000000"]}))
    both = [QuotaUse(P, R, SSD_GB, 400, 200, ("east/l4",), "spec.nodePools[0]")]
    assert found == ([*added, *both] if added else [])


def test_a_pool_that_becomes_spot_takes_of_another_quota() -> None:
    before = cluster("east", pool(nodeCount=2))
    spot = cluster("east", pool(nodeCount=2, capacity={"model": "Spot"}))
    assert taken(spot, before=before) == [
        QuotaUse(P, "", "GPUS_ALL_REGIONS", 16, 8, ("east/l4",), "spec.nodePools[0]"),
        QuotaUse(P, R, "PREEMPTIBLE_NVIDIA_L4_GPUS", 8, 0, ("east/l4",), "spec.nodePools[0]"),
    ]


def test_pools_of_several_clusters_add_up() -> None:
    documents = clouds(cluster("east", pool(nodeCount=1)), cluster("west", pool(nodeCount=2)), classes=(L4,))
    lock = Lock(stack="prod")
    found = quota_uses(documents, clouds_of(documents, lock, Plan()), lock, Plan(), {})
    assert QuotaUse(P, R, "NVIDIA_L4_GPUS", 12, 0, ("east/l4", "west/l4"), "spec.nodePools[0]") in found
    assert QuotaUse(P, R, "CPUS", 96, 0, ("east/system", "west/system"), SYSTEM_POOL) in found


def test_disks_of_nodes_count_as_ssds_also_those_of_reserved_and_system_nodes() -> None:
    """The default of GKE is balanced: 100 GB for each system node, and what the recipe says for others."""
    reserved = cluster("east", pool(nodeCount=2, capacity={"model": "Reservation"}))
    assert disks(reserved) == [
        QuotaUse(P, R, SSD_GB, 500, 0, ("east/l4", "east/system"), "spec.nodePools[0]")
    ]
    small = cluster(zones=["us-east5-a"], systemPool={"diskSizeGb": 50})
    assert disks(small, replicas=5) == [
        QuotaUse(P, R, SSD_GB, 250, 0, ("east/l4", "east/system"), "spec.nodePools[0]")
    ]
    assert disks(reserved, before=reserved) == []


@pytest.mark.parametrize(
    ("disk", "counted"),
    [({}, 100), ({"diskType": "pd-ssd"}, 100), ({"diskType": "pd-standard"}, 0)],
)
def test_standard_disks_and_those_of_unknown_kinds_do_not_count_as_ssds(
    disk: dict[str, str], counted: int
) -> None:
    made = fleet(cluster("east", pool("g", "g", nodeCount=1)))
    g = recipe("g", "g2-standard-48", "nvidia-l4", 4, **disk)
    documents = replace(made, classes={**made.classes, "g": g})
    lock = Lock(stack="prod")
    found = quota_uses(documents, clouds_of(documents, lock, Plan()), lock, Plan(), {})
    assert [need.amount for need in found if need.metric == SSD_GB] == [300 + counted]


@pytest.mark.parametrize(("kind", "gb"), [("b9", 300), ("gb200", 300), ("mega", 400)])
def test_disks_of_unknown_machines_and_hyperdisks_do_not_count(kind: str, gb: int) -> None:
    made = cluster("east", pool("l4", kind, nodeCount=1, zones=["us-east5-a"]))
    assert [need.amount for need in disks(made)] == [gb]


def test_a_cluster_takes_a_network_of_its_own_and_those_between_its_gpus() -> None:
    def need(amount: int, standing: int = 0) -> list[QuotaUse]:
        return [QuotaUse(P, "", "NETWORKS", amount, standing, ("east",), "spec.cluster.gke")]

    plain, tcpxo = pool(nodeCount=1), pool("mega", "mega", nodeCount=1, zones=["us-east5-a"])
    without, along = cluster("east", plain), cluster("east", plain, tcpxo)
    assert networks(without) == need(1)
    assert networks(along) == need(9)
    assert networks(along, before=without) == need(9, 1)
    assert networks(along, before=along) == []
    elsewhere = {"existing": {"name": "n", "subnetwork": "s", "podsRange": "p", "servicesRange": "v"}}
    assert networks(cluster("east", plain, network=elsewhere)) == []


def test_a_pool_that_is_replaced_keeps_its_networks() -> None:
    """Spot is another pool of the same machines, whose networks exist."""
    tcpxo = {"nodeCount": 1, "zones": ["us-east5-a"]}
    spot = cluster("east", pool("mega", "mega", **tcpxo, capacity={"model": "Spot"}))
    assert networks(spot, before=cluster("east", pool("mega", "mega", **tcpxo))) == []
