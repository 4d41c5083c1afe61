"""Addresses: what lies where in a block, who has which block, and what is said when they clash."""

from ipaddress import IPv4Network
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_clouds import clouds, cluster, pool, remembering

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.settings import addresses
from inferfleet.cloud.gke.settings.addresses import Ranges
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.problems import Problem
from inferfleet.fleet.lock.lock import Lock

NOTHING = Lock(stack="prod")
HOST = {"name": "shared", "subnetwork": "nodes", "podsRange": "pods", "servicesRange": "services"}


def blocks(documents: Documents, lock: Lock) -> dict[str, str]:
    return addresses.blocks(described_clusters(documents), lock)


def range_problems(documents: Documents, lock: Lock) -> tuple[Problem, ...]:
    return tuple(addresses.range_problems(described_clusters(documents), lock))


def written(name: str, block: str) -> InferenceCluster:
    return cluster(name, network={"block": block})


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("10.0.0.0/10", ("10.0.0.0/11", "10.48.0.0/14", "10.52.0.0/18", "10.56.0.0/23", "10.32.0.0/19")),
        ("10.4.0.0/14", ("10.4.0.0/15", "10.7.0.0/18", "10.7.64.0/18", "10.7.128.0/23", "10.6.0.0/23")),
        (
            "172.20.0.0/16",
            ("172.20.0.0/17", "172.20.192.0/20", "172.20.208.0/20", "172.20.224.0/25", "172.20.128.0/25"),
        ),
    ],
)
def test_a_block_of_any_size_has_a_place_for_everything(block: str, expected: tuple[str, ...]) -> None:
    ranges = Ranges(block)
    found = (ranges.pods, ranges.nodes, ranges.services, ranges.proxies, ranges.between_gpus(0))
    assert found == expected


@given(st.integers(10, 16))
def test_nothing_in_a_block_overlaps_and_nothing_leaves_it(prefix: int) -> None:
    ranges = Ranges(f"10.64.0.0/{prefix}")
    parts = [ranges.pods, ranges.nodes, ranges.services, ranges.proxies]
    inside = sorted(IPv4Network(one) for one in [*parts, *map(ranges.between_gpus, range(128))])
    assert all(one.subnet_of(IPv4Network(ranges.block)) for one in inside)
    assert [(a, b) for a, b in pairwise(inside) if a.overlaps(b)] == []
    # https://cloud.google.com/load-balancing/docs/proxy-only-subnets
    assert IPv4Network(ranges.proxies).prefixlen <= 26


def test_new_clusters_take_the_lowest_free_blocks_around_written_and_remembered_ones() -> None:
    documents = clouds(written("b", "10.0.0.0/14"), cluster("d"), cluster("c"), cluster("a"))
    assert blocks(documents, remembering(c="10.8.0.0/14", gone="10.12.0.0/16")) == {
        "a": "10.4.0.0/14",
        "b": "10.0.0.0/14",
        "c": "10.8.0.0/14",
        "d": "10.16.0.0/14",
    }


def test_a_cluster_keeps_its_block_when_others_come_and_go() -> None:
    first = blocks(clouds(cluster("m")), NOTHING)
    assert blocks(clouds(cluster("a"), cluster("m")), remembering(**first)) == {
        "a": "10.4.0.0/14",
        "m": "10.0.0.0/14",
    }


def test_a_cluster_in_an_existing_network_needs_addresses_only_between_gpus() -> None:
    plain = cluster("plain", network={"existing": HOST})
    wired = cluster("wired", pool("mega", "mega", zones=["us-east5-a"]), network={"existing": HOST})
    assert blocks(clouds(plain, wired), NOTHING) == {"wired": "10.0.0.0/14"}


def test_blocks_that_overlap_are_named_with_both_clusters() -> None:
    documents = clouds(written("a", "10.0.0.0/12"), written("b", "10.8.0.0/14"), cluster("c"))
    problems = range_problems(documents, remembering(c="10.12.0.0/14"))
    assert [(one.what, one.path) for one in problems] == [
        (
            "block 10.8.0.0/14 of cluster 'b' overlaps 10.0.0.0/12 of cluster 'a'",
            "spec.cluster.gke.network.block",
        ),
        (
            "block 10.0.0.0/12 of cluster 'a' overlaps 10.12.0.0/14 of cluster 'c'",
            "spec.cluster.gke.network.block",
        ),
    ]


def test_a_cluster_that_finds_no_block_is_named_and_gets_none() -> None:
    documents = clouds(
        *(written(f"w{place}", f"10.{place * 64}.0.0/10") for place in range(4)),
        *(cluster(f"x{place}") for place in range(4)),
    )
    assert [name for name in blocks(documents, NOTHING) if name.startswith("x")] == ["x0", "x1", "x2"]
    assert range_problems(documents, NOTHING) == (
        Problem(
            "no block of size /14 is free for cluster 'x3'",
            "Write a smaller block (up to /16) on some of the clusters",
            "spec.cluster.gke.network.block",
            kind="InferenceCluster",
            key="x3",
        ),
    )


def test_beside_an_existing_network_a_block_is_for_networks_between_gpus_alone() -> None:
    network = {"existing": HOST, "block": "10.4.0.0/14"}
    mega = pool("mega", "mega", zones=["us-east5-a"])
    documents = clouds(cluster("a", pool("l4"), network=network), cluster("b", mega, network=network))
    assert [(one.what, one.next_step) for one in range_problems(documents, NOTHING)] == [
        (
            "block of cluster 'a' is not used: its network exists already, and no pool has GPUDirect",
            "Remove it",
        )
    ]
    assert blocks(documents, NOTHING) == {"b": "10.4.0.0/14"}


def test_a_zone_beyond_the_layout_of_rdma_networks_is_a_problem() -> None:
    documents = clouds(
        cluster("a", pool("h200", "h200", zones=["us-east5-z"]), pool("l4", zones=["us-east5-z"]))
    )
    assert [(one.what, one.path) for one in range_problems(documents, NOTHING)] == [
        (
            "pool 'h200' is in us-east5-z; RDMA networks are laid out for zones a to n",
            "spec.nodePools[0].zones",
        )
    ]


def test_legal_documents_have_no_problem() -> None:
    assert (
        range_problems(clouds(written("a", "10.0.0.0/12"), cluster("b")), remembering(b="10.16.0.0/14")) == ()
    )
