"""Digests of random fleets: equal sides have nothing to tell, and the way back undoes the way there."""

from collections import Counter
from dataclasses import replace

import pytest
from digested import side

from bench.fleets import fleet
from inferfleet.documents.documents import Documents
from inferfleet.fleet.lock.lock import Lock
from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.digest.update import Side
from inferfleet.review.digest.values import StackDigest

# Of others some deployment suits no cluster, which is refused.
SEEDS = (0, 2, 3, 5)
OPPOSITE = {"create": "delete", "delete": "create", "update": "update", "replace": "replace"}


def _fleet(seed: int) -> Documents:
    return fleet(6, 14, kind="gangs", seed=seed)


def _written(documents: Documents) -> Side:
    return side(documents, side(documents).desired.plan.lock)


def _edited(documents: Documents, seed: int) -> Documents:
    """Every third deployment has a replica more, and one cluster is drained."""
    deployments = {
        key: document.model_copy(
            update={"spec": document.spec.model_copy(update={"replicas": document.spec.replicas + 1})}
        )
        if place % 3 == seed % 3
        else document
        for place, (key, document) in enumerate(documents.deployments.items())
    }
    name = sorted(documents.clusters)[seed % len(documents.clusters)]
    cluster = documents.clusters[name]
    drained = cluster.model_copy(update={"spec": cluster.spec.model_copy(update={"state": "drained"})})
    return replace(documents, deployments=deployments, clusters={**documents.clusters, name: drained})


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("locked", [False, True], ids=["no lock", "a lock"])
def test_equal_sides_have_nothing_to_tell(seed: int, locked: bool) -> None:
    documents = _fleet(seed)
    base = _written(documents) if locked else side(documents, Lock(stack=documents.settings.stack))
    made = stack_digest("bench", base, side(documents, base=base))
    assert not any(told.new for told in made.problems)
    assert made == StackDigest("bench", "unchanged", unpriced=made.unpriced, problems=made.problems)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_way_back_undoes_the_way_there(seed: int) -> None:
    documents = _fleet(seed)
    base = _written(documents)
    head = _written_after(base, _edited(documents, seed))
    there, back = stack_digest("bench", base, head), stack_digest("bench", head, base)
    assert {made.resource: OPPOSITE[made.operation] for made in there.resources} == {
        made.resource: made.operation for made in back.resources
    }
    places = Counter(
        (place.place, place.before, place.after) for each in there.models for place in each.places
    )
    assert places == Counter(
        (place.place, place.after, place.before) for each in back.models for place in each.places
    )
    assert [(use.name, use.nodes, use.cost) for use in there.uses] == [
        (use.name, use.nodes[::-1], use.cost[::-1]) for use in back.uses
    ]


def _written_after(base: Side, documents: Documents) -> Side:
    made = side(documents, base=base)
    return side(documents, made.desired.plan.lock)
