"""What holds for every plan, whatever the fleet."""

from itertools import combinations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from random_fleets import NODE_GPUS, named, random_deployments, random_fleets, random_locks
from small_fleet import Document, fleet, standing

from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import plan
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock, matches
from inferfleet.fleet.roles import roles_of


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks())
def test_a_second_plan_changes_nothing(documents: list[Document], locked: Lock) -> None:
    first = plan(fleet(*documents), locked)
    second = plan(fleet(*documents), first.lock)
    assert second.changes == ()
    assert matches(first.lock, second.lock)
    assert (second.placements, second.unplaced) == (first.placements, first.unplaced)


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks(), st.integers())
def test_the_order_of_documents_makes_no_difference(
    documents: list[Document], locked: Lock, seed: int
) -> None:
    shuffled = list(documents)
    Random(seed).shuffle(shuffled)
    assert plan(fleet(*shuffled), locked) == plan(fleet(*documents), locked)


@settings(max_examples=100, deadline=None)
@given(random_fleets)
def test_no_pool_is_oversubscribed_and_no_worker_is_twice_on_a_node(documents: list[Document]) -> None:
    """Every pool is packed again, worker by worker, on nodes that are listed one by one."""
    all_documents = fleet(*documents)
    planned = plan(all_documents, Lock(stack="test"))
    workers: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for placement in planned.placements:
        spot_ = placement.spot
        assert [name for name, _ in spot_.pools] == sorted(
            roles_of(all_documents.deployments[spot_.deployment])
        )
        for name, pool in spot_.pools:
            key = (spot_.cluster, pool)
            needs = planned.demands.of(spot_.deployment, name, key)
            count = placement.replicas * needs.workers * needs.sets + (1 if needs.spare else 0)
            workers.setdefault(key, []).extend([(needs.pod.gpus, needs.gang, needs.pod.cpu)] * count)
    for (name, pool_name), standing_there in workers.items():
        pools = all_documents.clusters[name].spec.node_pools
        pool = next(pool for pool in pools if pool.name == pool_name)
        cores = 16_000 if pool.class_name == "tiny" else 200_000
        assert _fit([(NODE_GPUS[pool.class_name], cores)] * pool.size, sorted(standing_there, reverse=True))


def _fit(nodes: list[tuple[int, int]], workers: list[tuple[int, int, int]]) -> bool:
    """Whether workers of so many pods fit, largest first, each pod on another node than its siblings."""
    if not workers:
        return True
    (gpus, pods, cpu), *others = workers
    ways = set()
    for chosen in combinations(range(len(nodes)), pods):
        if all(nodes[index][0] >= gpus and nodes[index][1] >= cpu for index in chosen):
            after = list(nodes)
            for index in chosen:
                after[index] = (nodes[index][0] - gpus, nodes[index][1] - cpu)
            ways.add(tuple(sorted(after)))
    return any(_fit(list(way), others) for way in sorted(ways))


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
    """Whether the plan said that replicas cannot leave the cluster, or that one of its pools is too small."""
    return any(
        (problem.kind, problem.key) == ("ModelDeployment", deployment_) and "cannot leave" in problem.what
        for problem in planned.problems
    ) or any(
        (problem.kind, problem.key) == ("InferenceCluster", where) and "too small" in problem.what
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
    lost = {document.metadata.name for document in documents if _is_lost(document)}
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


def _is_lost(document: Document) -> bool:
    return isinstance(document, InferenceCluster) and document.spec.state == "lost"


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks())
def test_with_prefill_apart_a_deployment_has_one_spot_on_each_cluster_it_can_move_on(
    documents: list[Document], locked: Lock
) -> None:
    all_documents = fleet(*documents)
    lost = {document.metadata.name for document in documents if _is_lost(document)}
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
