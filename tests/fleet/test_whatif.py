"""What is planned without a cluster, a pool or a reservation is what is planned when it is given up."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_fleets import random_fleets, random_locks
from small_fleet import Document, class_, cluster, deployment, fleet, lock, placed, spot

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.problems import InvalidDocuments
from inferfleet.fleet import whatif
from inferfleet.fleet.advice.summaries import fix_step
from inferfleet.fleet.decisions import MoreNodes, Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan
from inferfleet.fleet.whatif import Loss, Outcome, WithoutPlace, losses, n_minus_one, pools_of, without

PRICE = {"onDemand": "8", "currency": "USD", "asOf": "2026-01-01", "source": "test"}
PRICED = class_("l4", 4, memory="24Gi", price=PRICE)
EAST = cluster("east", {"l4": ("l4", 1), "h100": ("h100", 1)})
WEST = cluster("west", {"l4": ("l4", 1)})


def reserved(name: str, *, by: str, project: str = "acme-prod") -> InferenceCluster:
    """A cluster on GKE with a pool on demand and one of a reservation."""
    pools = [
        {"name": "free", "className": "l4", "nodeCount": 1},
        {
            "name": "kept",
            "className": "l4",
            "nodeCount": 1,
            "capacity": {"model": "Reservation", "reservation": {"name": by}},
        },
    ]
    source = {"source": "GKE", "gke": {"project": project, "region": "us-east5"}}
    return InferenceCluster.model_validate(
        {"metadata": {"name": name}, "spec": {"cluster": source, "nodePools": pools}}
    )


def abandoned(documents: Documents, name: str) -> Documents:
    """The documents as somebody writes them who gives up the cluster."""
    written = documents.clusters[name].model_dump(exclude_unset=True)
    written["spec"]["state"] = "abandoned"
    return replace(documents, clusters={**documents.clusters, name: InferenceCluster(**written)})


@settings(max_examples=40, deadline=None)
@given(random_fleets, random_locks(), st.integers(0, 2))
def test_a_fleet_without_a_cluster_is_planned_as_one_that_abandons_it(
    documents: list[Document], locked: Lock, number: int
) -> None:
    every, name = fleet(*documents), f"c{number}"
    assume(name in every.clusters)
    changed, known = without(every, locked, [Loss("cluster", name)])
    predicted, done = plan(changed, known), plan(abandoned(every, name), locked)
    assert (predicted.placements, predicted.unplaced, predicted.services, predicted.lock) == (
        done.placements,
        done.unplaced,
        done.services,
        done.lock,
    )


@settings(max_examples=15, deadline=None)
@given(random_fleets, random_locks())
def test_what_each_loss_does_is_what_abandoning_the_cluster_then_does(
    documents: list[Document], locked: Lock
) -> None:
    every = fleet(*documents)
    planned = plan(every, locked)
    for one in n_minus_one(every, locked, planned):
        if one.loss.kind != "cluster":
            continue
        given_up = abandoned(every, one.loss.name)
        done = plan(given_up, planned.lock, planned.demands)
        left = {name: sum(p.replicas for p in done.placements if p.spot.deployment == name)
                for name in every.deployments}  # fmt: skip
        assert one.lacking == tuple(
            WithoutPlace(
                gone.deployment,
                gone.running,
                left[gone.deployment],
                fix_step(done.fixes[gone.deployment], gone.reasons),
            )
            for gone in done.unplaced
            if gone.running
        )


@settings(max_examples=25, deadline=None)
@given(random_fleets, random_locks())
def test_replicas_that_have_no_place_after_a_loss_are_told_and_none_is_on_what_is_lost(
    documents: list[Document], locked: Lock
) -> None:
    every = fleet(*documents)
    planned = plan(every, locked)
    known = every.deployments
    for one in n_minus_one(every, locked, planned):
        changed, left = without(every, planned.lock, [one.loss])
        after = plan(changed, left, planned.demands)
        gone = pools_of(every, one.loss)
        assert not any((p.spot.cluster, pool) in gone for p in after.placements for _, pool in p.spot.pools)
        if any(problem.severity == "error" for problem in planned.problems):
            continue
        # Lost clusters keep more than is wanted.
        ran = {name: min(known[name].spec.replicas, _number(planned, name)) for name in known}
        fewer = Counter({name: ran[name] - _number(after, name) for name in known})
        assert +fewer == Counter({lacking.deployment: lacking.replicas for lacking in one.lacking})


def _number(planned: Plan, deployment: str) -> int:
    return sum(place.replicas for place in planned.placements if place.spot.deployment == deployment)


def test_a_loss_makes_no_document_wrong() -> None:
    only = "capacity['gpu.nvidia.com/memory'].isGreaterThan(quantity('40Gi'))"
    documents = fleet(EAST, WEST, deployment("a", 1, cel=only))
    changed, known = without(documents, lock({"a east/h100": 1}), [Loss("pool", "east/h100")])
    planned = plan(changed, known)
    assert planned.problems == ()
    assert [(lacking.deployment, lacking.running) for lacking in planned.unplaced] == [("ml/a", 1)]


def test_replicas_leave_a_pool_that_is_lost_and_the_others_stay() -> None:
    documents = fleet(EAST, WEST, deployment("a", 2, gpus=4), deployment("b", 1))
    locked = lock({"a east/l4": 1, "a west/l4": 1, "b east/h100": 1})
    changed, known = without(documents, locked, [Loss("pool", "east/l4")])
    planned = plan(changed, known)
    assert placed(planned) == {"a east/h100": 1, "a west/l4": 1, "b east/h100": 1}
    assert planned.departure_reasons == {spot("a east/l4"): "the pool is lost"}


def test_the_last_pool_of_a_cluster_can_be_lost() -> None:
    documents = fleet(EAST, WEST, deployment("a", 1, gpus=4))
    changed, known = without(documents, lock({"a west/l4": 1}), [Loss("pool", "west/l4")])
    assert placed(plan(changed, known)) == {"a east/l4": 1}


def test_with_a_reservation_all_pools_that_name_it_are_lost() -> None:
    documents = fleet(reserved("east", by="r"), reserved("west", by="other"), deployment("a", 4, gpus=4))
    locked = lock({"a east/free": 1, "a east/kept": 1, "a west/free": 1, "a west/kept": 1})
    changed, known = without(documents, locked, [Loss("reservation", "r")])
    planned = plan(changed, known)
    assert placed(planned) == {"a east/free": 1, "a west/free": 1, "a west/kept": 1}
    assert [(gone.deployment, gone.replicas, gone.running) for gone in planned.unplaced] == [("ml/a", 1, 1)]
    assert losses(documents)[-2:] == (
        Loss("reservation", "acme-prod/other"),
        Loss("reservation", "acme-prod/r"),
    )


def test_reservations_of_two_projects_with_one_name_are_lost_one_by_one() -> None:
    documents = fleet(
        reserved("east", by="r"), reserved("west", by="r", project="acme-test"), deployment("a", 4, gpus=4)
    )
    both = (Loss("reservation", "acme-prod/r"), Loss("reservation", "acme-test/r"))
    assert losses(documents)[-2:] == both
    assert [pools_of(documents, loss) for loss in both] == [{("east", "kept")}, {("west", "kept")}]
    with pytest.raises(InvalidDocuments) as raised:
        without(documents, Lock(), [Loss("reservation", "r")])
    assert str(raised.value) == (
        "pools name reservations 'r' of 2 projects. Write one of acme-prod/r, acme-test/r"
    )


def test_each_loss_says_what_lacks_a_place_and_the_cheapest_repair_of_all() -> None:
    documents = fleet(PRICED, EAST, WEST, deployment("a", 2, gpus=4), deployment("b", 2, gpus=4))
    locked = lock({"a east/l4": 1, "a west/l4": 1, "b east/h100": 2})
    both = "Add 3 nodes to pool west/l4 (24 USD an hour) (room for 1 other without a place included)"
    one = "Add 1 node to pool east/l4 (8 USD an hour)"
    two = "Add 2 nodes to pool east/l4 (16 USD an hour)"
    assert list(n_minus_one(documents, locked, plan(documents, locked))) == [
        Outcome(
            Loss("cluster", "east"),
            3,
            (WithoutPlace("ml/a", 1, 1, both), WithoutPlace("ml/b", 2, 0, both)),
            (MoreNodes("west", "l4", 3, 4, "24", "USD"),),
        ),
        Outcome(
            Loss("cluster", "west"),
            1,
            (WithoutPlace("ml/a", 1, 1, one),),
            (MoreNodes("east", "l4", 1, 2, "8", "USD"),),
        ),
        Outcome(
            Loss("pool", "east/l4"),
            1,
            (WithoutPlace("ml/a", 1, 1, one.replace("east", "west")),),
            (MoreNodes("west", "l4", 1, 2, "8", "USD"),),
        ),
        Outcome(
            Loss("pool", "east/h100"),
            2,
            (WithoutPlace("ml/b", 2, 0, two),),
            (MoreNodes("east", "l4", 2, 3, "16", "USD"),),
        ),
    ]


def test_what_does_not_exist_cannot_be_lost() -> None:
    documents = fleet(EAST, deployment("a", 1))
    lost = [Loss("cluster", "eest"), Loss("pool", "east/l5"), Loss("reservation", "r")]
    with pytest.raises(InvalidDocuments) as raised:
        without(documents, Lock(), lost)
    assert str(raised.value).splitlines() == [
        "no pool names the reservation 'r'. Pools with capacity.reservation name one",
        "there is no cluster 'eest'. Did you mean east?",
        "there is no pool 'east/l5'. Did you mean east/l4?",
    ]


def test_a_loss_that_leaves_all_a_place_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [cluster(name, {"h100": ("h100", 2)}) for name in ("east", "west")]
    every = fleet(*both, deployment("a", 2))
    planned, plans = plan(every, lock({})), []

    def noted(*arguments: Any) -> Plan:
        plans.append(arguments)
        return plan(*arguments)

    monkeypatch.setattr(whatif, "plan", noted)
    found = list(n_minus_one(every, lock({}), planned))
    assert ([one.lacking for one in found], len(plans)) == ([(), ()], 2)
