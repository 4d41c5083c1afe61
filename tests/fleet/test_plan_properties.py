"""What holds for every plan, whatever the fleet."""

from collections import Counter
from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from packings import Size, Worker, fit
from random_fleets import named, random_deployments, random_fleets, random_locks, random_seen
from small_fleet import Document, fleet, standing
from worker_sizes import clipped, workers_of

from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.problems import of_severity
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.capacity import Observation
from inferfleet.fleet.lock.lock import Lock, matches
from inferfleet.fleet.planning import plan
from inferfleet.fleet.shapes import PoolKey, node


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks())
def test_a_second_plan_changes_nothing(documents: list[Document], locked: Lock) -> None:
    first = plan(fleet(*documents), locked)
    second = plan(fleet(*documents), first.lock)
    assert second.changes == ()
    assert matches(first.lock, second.lock)
    without = tuple(replace(missing, running=0) for missing in first.unplaced)
    assert (second.placements, second.unplaced) == (first.placements, without)


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks())
def test_replicas_that_run_are_lost_only_with_an_abandoned_cluster_and_then_counted(
    documents: list[Document], locked: Lock
) -> None:
    all_documents = fleet(*documents)
    planned = plan(all_documents, locked)
    running = {missing.deployment: missing.running for missing in planned.unplaced}
    invalid = {problem.key for problem in of_severity(planned.problems, "error")}
    for name, document in all_documents.deployments.items():
        ran = {spot: replicas for spot, replicas in locked.placements.items() if spot.deployment == name}
        abandoned = sum(
            replicas
            for spot, replicas in ran.items()
            if spot.cluster in all_documents.clusters
            and all_documents.clusters[spot.cluster].spec.state == "abandoned"
        )
        run = sum(replicas for spot, replicas in planned.lock.placements.items() if spot.deployment == name)
        lost = max(0, min(document.spec.replicas, sum(ran.values())) - run)
        assert lost <= abandoned
        if name not in invalid:
            assert running.get(name, 0) == lost


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks(), st.integers())
def test_the_order_of_documents_makes_no_difference(
    documents: list[Document], locked: Lock, seed: int
) -> None:
    shuffled = list(documents)
    Random(seed).shuffle(shuffled)
    assert plan(fleet(*shuffled), locked) == plan(fleet(*documents), locked)


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks(), random_seen)
def test_no_pool_is_oversubscribed_and_no_worker_is_twice_on_a_node(
    documents: list[Document], locked: Lock, seen: dict[PoolKey, Observation]
) -> None:
    """Every pool is packed again, worker by worker, on nodes that are listed one by one. Only what the lock
    has may be too much, which is told, and then nothing new comes there.
    """
    known = fleet(*documents)
    planned = plan(known, replace(locked, seen=seen))
    told = {problem.what.split(" ")[1] for problem in planned.problems if "is too small for" in problem.what}
    ran = Counter[PoolKey](), Counter[PoolKey]()
    for counted, spots in zip(ran, (locked.placements, planned.lock.placements), strict=True):
        for spot_, number in spots.items():
            counted.update({(spot_.cluster, pool): number for _, pool in spot_.pools})
    for key, workers in _standing(planned).items():
        pool = known.clusters[key[0]].spec.pool(key[1])
        empty = node(known.classes[pool.class_name])
        assert empty
        size = Size(empty.gpus, empty.cpu, empty.memory)
        holds = fit([size] * pool.size, [clipped(worker, size) for worker in workers])
        if not known.clusters[key[0]].spec.held:
            assert holds is not False or "/".join(key) in told
            assert holds is not False or ran[1][key] <= ran[0][key]


def _standing(planned: Plan) -> dict[PoolKey, list[Worker]]:
    """The workers on each pool, with all that is kept room for."""
    replicas: Counter[tuple[str, str, PoolKey]] = Counter()
    for placement in planned.placements:
        for name, pool in placement.spot.pools:
            key = placement.spot.cluster, pool
            replicas[placement.spot.deployment, name, key] += placement.replicas
    workers: dict[PoolKey, list[Worker]] = {}
    for (deployment_, name, key), number in replicas.items():
        workers.setdefault(key, []).extend(workers_of(planned.demands.of(deployment_, name, key), number))
    return workers


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks(), st.integers(0, 3), st.integers(1, 4))
def test_fewer_replicas_of_one_deployment_move_and_end_no_others(
    documents: list[Document], locked: Lock, which: int, fewer: int
) -> None:
    before = plan(fleet(*documents), locked)
    smaller = [
        document.model_copy(
            update={
                "spec": document.spec.model_copy(update={"replicas": max(0, document.spec.replicas - fewer)})
            }
        )
        if isinstance(document, ModelDeployment) and document.metadata.name == f"d{which}"
        else document
        for document in documents
    ]
    after = plan(fleet(*smaller), before.lock)
    other = {text: number for text, number in standing(before).items() if _deployment(text) != f"ml/d{which}"}
    kept = standing(after)
    moved = {text for text, number in other.items() if kept.get(text, 0) < number}
    evicted = {change.spot.deployment for change in after.changes} - {f"ml/d{which}"}
    # What had to leave a pool and could not may find the room that became free.
    for text in moved:
        deployment_, where = _deployment(text), text.split(" ")[1]
        assert deployment_ in evicted
        assert sum(number for name, number in kept.items() if _deployment(name) == deployment_) >= sum(
            number for name, number in other.items() if _deployment(name) == deployment_
        )
        assert must_leave(before, deployment_, where)


def _deployment(text: str) -> str:
    """The deployment of a line of the lock, without its revision."""
    return text.partition(" ")[0].partition("@")[0]


def must_leave(planned: Plan, deployment_: str, where: str) -> bool:
    """Whether the plan said that replicas of the deployment cannot leave the cluster."""
    return any(
        (problem.kind, problem.key) == ("ModelDeployment", deployment_)
        and f"cannot leave {where}/" in problem.what
        for problem in planned.problems
    )


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks(), random_deployments)
def test_adding_a_deployment_moves_no_other(
    documents: list[Document], locked: Lock, added: ModelDeployment
) -> None:
    before = plan(fleet(*documents), locked)
    after = plan(fleet(*documents, named("d9", added)), before.lock)
    others = {text: number for text, number in standing(after).items() if _deployment(text) != "ml/d9"}
    assert others == standing(before)


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks())
def test_no_more_replicas_run_than_asked_unless_they_are_lost(
    documents: list[Document], locked: Lock
) -> None:
    all_documents = fleet(*documents)
    planned = plan(all_documents, locked)
    lost = {document.metadata.name for document in documents if _is_held(document)}
    for key, document in all_documents.deployments.items():
        spots = {spot: number for spot, number in planned.lock.placements.items() if spot.deployment == key}
        elsewhere = sum(number for spot, number in spots.items() if spot.cluster not in lost)
        orphaned = sum(spots.values()) - sum(
            placement.replicas for placement in planned.placements if placement.spot.deployment == key
        )
        assert elsewhere - orphaned <= document.spec.replicas
    for spot_, number in locked.placements.items():
        if spot_.cluster in lost and spot_.deployment in all_documents.deployments:
            assert planned.lock.placements[spot_] == number


def _is_held(document: Document) -> bool:
    return isinstance(document, InferenceCluster) and document.spec.held


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks())
def test_with_prefill_apart_a_deployment_has_one_spot_on_each_cluster_it_can_move_on(
    documents: list[Document], locked: Lock
) -> None:
    all_documents = fleet(*documents)
    lost = {document.metadata.name for document in documents if _is_held(document)}
    planned = plan(all_documents, locked)
    invalid = {problem.key for problem in planned.problems if problem.severity == "error"}
    apart = [
        (placement.spot.deployment, placement.spot.cluster)
        for placement in planned.placements
        if all_documents.deployments[placement.spot.deployment].spec.prefill
        and placement.spot.cluster not in lost
        and placement.spot.deployment not in invalid
    ]
    assert len(set(apart)) == len(apart)


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks(), st.integers(0, 3))
def test_of_a_paused_deployment_no_replica_comes_ends_or_moves_but_with_an_abandoned_cluster(
    documents: list[Document], locked: Lock, which: int
) -> None:
    paused = [
        document.model_copy(update={"spec": document.spec.model_copy(update={"paused": True})})
        if isinstance(document, ModelDeployment) and document.metadata.name == f"d{which}"
        else document
        for document in documents
    ]
    all_documents = fleet(*paused)
    if f"ml/d{which}" not in all_documents.deployments:
        return
    abandoned = {
        name for name, cluster in all_documents.clusters.items() if cluster.spec.state == "abandoned"
    }
    planned = plan(all_documents, locked)
    before, after = (
        {spot: number for spot, number in placements.items() if spot.deployment == f"ml/d{which}"}
        for placements in (locked.placements, planned.lock.placements)
    )
    assert after == {spot: number for spot, number in before.items() if spot.cluster not in abandoned}
