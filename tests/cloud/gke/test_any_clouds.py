"""What holds for the settings of any legal documents."""

import re
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Network
from itertools import pairwise
from typing import Any

from any_clouds import any_clouds
from hypothesis import given
from hypothesis import strategies as st
from input_check import mistakes
from small_clouds import resources

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.provider import cloud_clusters
from inferfleet.cloud.gke.settings.addresses import BLOCK, range_problems
from inferfleet.cloud.values import CloudCluster, CloudResource
from inferfleet.documents.documents import Documents
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock, LockedCluster

NOTHING = Lock()
# By part of the token: https://cloud.google.com/compute/docs/naming-resources, and GKE's own limits of 40.
LIMITS = {"gcp:container/": 40, "gcp:compute/": 63}
NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
ACCOUNT = re.compile(r"[a-z][-a-z0-9]{4,28}[a-z0-9]")


def clouds_of(documents: Documents, lock: Lock = NOTHING) -> tuple[CloudCluster, ...]:
    return cloud_clusters(documents, described_clusters(documents), lock, Plan())


def ranges(found: tuple[CloudCluster, ...]) -> Iterator[IPv4Network]:
    for one in resources(*found).values():
        inputs: dict[str, Any] = one.inputs
        for part in [inputs, *inputs.get("secondaryIpRanges", [])]:
            if "ipCidrRange" in part:
                yield IPv4Network(part["ipCidrRange"])


@given(any_clouds())
def test_ranges_do_not_overlap_in_the_whole_stack(documents: Documents) -> None:
    if any(range_problems(described_clusters(documents), NOTHING)):
        return
    found = sorted(ranges(clouds_of(documents)))
    assert [(a, b) for a, b in pairwise(found) if a.overlaps(b)] == []


@given(any_clouds())
def test_names_are_googles_and_no_two_resources_share_one(documents: Documents) -> None:
    found = [one for each in clouds_of(documents) for one in resources(each).values()]
    named = [(one.token, one.inputs["project"], one.inputs["name"]) for one in found if "name" in one.inputs]
    limit = {token: LIMITS[token.partition("/")[0] + "/"] for token, _, _ in named}
    assert [one for one in named if len(one[2]) > limit[one[0]] or not NAME.fullmatch(one[2])] == []
    accounts = [one.inputs["accountId"] for one in found if "accountId" in one.inputs]
    assert [one for one in accounts if not ACCOUNT.fullmatch(one)] == []
    # A node pool's name is its cluster's own matter.
    alone = [one for one in named if "nodePool" not in one[0]] + [("", "", one) for one in accounts]
    assert len(set(alone)) == len(alone)


@given(any_clouds(), st.randoms())
def test_settings_are_the_same_for_any_order_of_clusters_and_pools(documents: Documents, random: Any) -> None:
    names = list(documents.clusters)
    random.shuffle(names)
    assert clouds_of(
        replace(documents, clusters={name: _shuffled(documents, name, random) for name in names})
    ) == clouds_of(documents)


@given(any_clouds())
def test_a_cluster_alone_keeps_what_it_had_among_others(documents: Documents) -> None:
    together = {one.cluster: one for one in clouds_of(documents)}
    lock = Lock(
        clusters={
            name: LockedCluster("GKE", settings={BLOCK: one.settings[BLOCK]} if BLOCK in one.settings else {})
            for name, one in together.items()
        }
    )
    assert {
        one.cluster: one for name in together for one in clouds_of(_alone(documents, name), lock)
    } == together


@given(any_clouds())
def test_every_input_is_a_field_of_the_provider_with_its_type(documents: Documents) -> None:
    found: list[CloudResource] = [one for each in clouds_of(documents) for one in resources(each).values()]
    assert [said for one in found for said in mistakes(one)] == []


def _shuffled(documents: Documents, name: str, random: Any) -> Any:
    cluster = documents.clusters[name]
    pools = list(cluster.spec.node_pools)
    random.shuffle(pools)
    return cluster.model_copy(update={"spec": cluster.spec.model_copy(update={"node_pools": tuple(pools)})})


def _alone(documents: Documents, name: str) -> Documents:
    return replace(documents, clusters={name: documents.clusters[name]})
