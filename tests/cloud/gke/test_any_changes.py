"""What holds for the memory of any legal documents."""

from itertools import combinations

from any_clouds import any_clouds
from hypothesis import given
from small_clouds import clouds_of

from inferfleet.cloud.gke.changes import cloud_changes
from inferfleet.cloud.gke.facts.create_only import recreates
from inferfleet.cloud.provider import locked
from inferfleet.documents.documents import Documents
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock, LockedCluster, matches, parse, text


def _standing(documents: Documents) -> Lock:
    """The lock after an update with these documents."""
    known = Lock(
        documents.settings.stack,
        {name: LockedCluster("GKE") for name in documents.clusters},
        nodes={
            f"{name}/{pool.name}": pool.size
            for name, cluster in documents.clusters.items()
            for pool in cluster.spec.node_pools
        },
    )
    return locked(documents, known, clouds_of(documents, known, Plan()))


@given(any_clouds())
def test_after_an_update_nothing_is_left_to_change(documents: Documents) -> None:
    lock = _standing(documents)
    clusters = clouds_of(documents, lock, Plan())
    assert cloud_changes(documents, lock, clusters) == ((), ())
    assert matches(lock, locked(documents, lock, clusters))


@given(any_clouds())
def test_memory_survives_the_file(documents: Documents) -> None:
    lock = _standing(documents)
    assert parse(text(lock), file="placement.lock", stack=documents.settings.stack) == lock


@given(any_clouds())
def test_two_pools_have_one_digest_exactly_when_what_they_keep_for_life_is_equal(
    documents: Documents,
) -> None:
    pools = _standing(documents).pools.values()
    digests = [pool.name.rpartition("-")[2] for pool in pools]
    kept = [{path: value for path, value in pool.settings.items() if not recreates(path)} for pool in pools]
    for (one, has), (other, wants) in combinations(zip(digests, kept, strict=True), 2):
        assert (one == other) == (has == wants)
