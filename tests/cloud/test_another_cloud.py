"""Plan, desired and digest ask a cloud by its provider alone: one that is no other's serves as well."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from digested import side
from fake_cloud import CLUSTER, POOL, FakeCloud
from small_sides import STACK, l4, loaded, model, place

from inferfleet.cloud.provider import PROVIDERS, import_id
from inferfleet.cloud.values import CloudChange, Difference
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import ClusterSource
from inferfleet.fleet.lock.lock import LockedCluster, LockedPool
from inferfleet.fleet.spot import Spot
from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.digest.values import ListedProblem, PoolChange, QuotaNeed, ResourceChange

SPOT = Spot("ml/qwen", "east", (("decode", "l4"),))
RESIZED = "pool east/l4 is replaced: nodeCount (size 1 -> 2)"


@pytest.fixture(autouse=True)
def fake() -> Iterator[None]:
    PROVIDERS["Fake"] = FakeCloud()
    yield
    del PROVIDERS["Fake"]


def documents(nodes: int = 1, other: int = 1) -> Documents:
    """A deployment, and cluster `east` of the fake cloud with pools `l4` and `more`."""
    pools = [
        {"name": "l4", "className": "l4", "nodeCount": nodes},
        {"name": "more", "className": "l4", "nodeCount": other},
    ]
    written = place("east", nodePools=pools)
    found = loaded((l4(), written, model()), STACK)
    east = found.clusters["east"]
    source = ClusterSource.model_construct(source="Fake", existing=None, gke=None)
    spec = east.spec.model_copy(update={"cluster": source})
    return replace(found, clusters={"east": east.model_copy(update={"spec": spec})})


def test_what_a_provider_decides_is_desired_and_locked() -> None:
    made = side(documents()).desired
    (east,) = made.clusters
    (cloud,) = FakeCloud().clusters(documents(), made.plan.lock, None)[0]
    assert (east.connection.cloud, east.connection.identifier) == (cloud, "fake/east")
    assert (made.plan.lock.clusters, made.plan.lock.pools) == (
        {"east": LockedCluster("Fake", settings={"colour": "blue"})},
        {"east/l4": LockedPool("l4-1", {"size": 1}), "east/more": LockedPool("more-1", {"size": 1})},
    )
    assert made.plan.lock.placements == {SPOT: 1}
    assert [str(problem) for problem in made.warnings] == ["pods of ml/qwen (decode) run in a fake. Wake up"]


def test_workloads_ask_for_nodes_and_wait_for_their_pool_and_all_for_the_system_pool() -> None:
    (east,) = side(documents()).desired.clusters
    objects = {f"{one.kind} {one.kubernetes_name}": one for one in east.objects}
    dream, workload = objects["Dream deep"], objects["Deployment qwen-decode-l4"]
    assert (dream.after, dream.deleted_with) == ((f"{POOL} east/system",), f"{CLUSTER} east")
    waited = {f"{POOL} east/system", f"{POOL} east/l4", objects["Asking nodes"].key, dream.key}
    assert waited <= set(workload.after)
    assert f"{POOL} east/more" not in workload.after
    pod = workload.manifest["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"inferfleet.dev/pool": "l4-1"}


def test_a_digest_tells_what_becomes_of_its_pools_and_what_is_needed() -> None:
    base = side(documents(), side(documents()).desired.plan.lock)
    made = stack_digest(STACK, base, side(documents(nodes=2), base=base))
    assert made.pools == (PoolChange("east", "l4", "replaced", 1, 2, ("nodeCount",), RESIZED),)
    assert made.resources == (
        ResourceChange(
            "Deployment east/ml/qwen-decode-l4",
            "update",
            ('spec.template.spec.nodeSelector["inferfleet.dev/pool"]',),
        ),
        ResourceChange("Pool east/l4", "replace", ("size",)),
    )
    assert made.quotas == (QuotaNeed("p", "r", "NODES", 2, 3, 4),)
    told = "pods of ml/qwen (decode) run in a fake"
    assert made.problems == (ListedProblem("warning", told, "Wake up", "", 0, "", False),)
    assert side(documents(nodes=2), base=base).desired.cloud_changes == (
        CloudChange("east", "l4", "replaced", (Difference("size", 1, 2, ("nodeCount",)),)),
    )


def test_a_resource_is_imported_by_the_provider_that_knows_its_type() -> None:
    assert (import_id(POOL, {"name": "l4-1"}), import_id("other:index:Pool", {"name": "l4-1"})) == (
        "l4-1",
        None,
    )
