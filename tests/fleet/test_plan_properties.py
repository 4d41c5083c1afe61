"""What holds for every plan, whatever the fleet."""

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from small_fleet import Document, class_, cluster, deployment, fleet, placed, service, spot

from inferfleet.api.kinds.inference_cluster import InferenceCluster
from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import plan
from inferfleet.fleet.lock.lock import Lock, matches

LARGE = "capacity['gpu.nvidia.com/memory'].isGreaterThan(quantity('40Gi'))"
STATES = ["active", "active", "active", "cordoned", "drained", "lost", "abandoned"]
NODE_GPUS = {"l4": 4, "h100": 8, "tiny": 2}
CLASSES = [class_("tiny", 2, memory="48Gi", cpu="16")]

_clusters = st.builds(
    cluster,
    st.just("x"),
    st.dictionaries(
        st.sampled_from(["p", "q", "r"]),
        st.tuples(st.sampled_from(sorted(NODE_GPUS)), st.integers(0, 4)),
        min_size=1,
    ),
    state=st.sampled_from(STATES),
    labels=st.sampled_from([{}, {"tier": "prod"}]),
    taints=st.sampled_from(
        [[], [], [{"key": "k", "effect": "NoSchedule"}], [{"key": "k", "effect": "NoExecute"}]]
    ),
)
_deployments = st.builds(
    deployment,
    st.just("x"),
    st.integers(0, 5),
    gpus=st.sampled_from([1, 1, 2, 4, 8]),
    workers=st.integers(1, 2),
    cel=st.sampled_from([None, None, LARGE, "capcity"]),
    selector=st.sampled_from([{}, {}, {"tier": "prod"}]),
    labels=st.sampled_from([{}, {"size": "small"}]),
    resources=st.sampled_from([None, None, {"requests": {"cpu": "9"}}]),
    rollout=st.sampled_from(["DeleteFirst", "Surge"]),
)


def _named(name: str, document: Document) -> Document:
    return document.model_copy(update={"metadata": document.metadata.model_copy(update={"name": name})})


_fleets = st.tuples(
    st.lists(_clusters, min_size=1, max_size=3).map(
        lambda many: [_named(f"c{i}", o) for i, o in enumerate(many)]
    ),
    st.lists(_deployments, max_size=4).map(lambda many: [_named(f"d{i}", o) for i, o in enumerate(many)]),
).map(
    lambda both: [
        *both[0],
        *both[1],
        *CLASSES,
        service("all", (1, {})),
        service("some", (3, {"size": "small"})),
    ]
)


@st.composite
def _locks(draw: st.DrawFn) -> Lock:
    spots = st.builds(
        lambda d, c, p: spot(f"d{d} c{c}/{p}"), st.integers(0, 4), st.integers(0, 2), st.sampled_from("pqr")
    )
    placements = draw(st.dictionaries(spots, st.integers(1, 3), max_size=5))
    return Lock(
        stack="test", placements=placements, services=draw(st.sampled_from([{}, {"ml/all": ("c0",)}]))
    )


@settings(max_examples=200, deadline=None)
@given(_fleets, _locks())
def test_a_second_plan_changes_nothing(documents: list[Document], locked: Lock) -> None:
    first = plan(fleet(*documents), locked)
    second = plan(fleet(*documents), first.lock)
    assert second.changes == ()
    assert matches(first.lock, second.lock)
    assert (second.placements, second.unplaced) == (first.placements, first.unplaced)


@settings(max_examples=100, deadline=None)
@given(_fleets, _locks(), st.integers())
def test_the_order_of_documents_makes_no_difference(
    documents: list[Document], locked: Lock, seed: int
) -> None:
    shuffled = list(documents)
    Random(seed).shuffle(shuffled)
    assert plan(fleet(*shuffled), locked) == plan(fleet(*documents), locked)


@settings(max_examples=200, deadline=None)
@given(_fleets)
def test_no_pool_is_oversubscribed(documents: list[Document]) -> None:
    planned = plan(fleet(*documents), Lock(stack="test"))
    asked: dict[tuple[str, str], Counter[int]] = {}
    for placement in planned.placements:
        spot_ = placement.spot
        spec = fleet(*documents).deployments[spot_.deployment].spec
        pods = asked.setdefault((spot_.cluster, spot_.pools[0][1]), Counter())
        pods[spec.workers.topology.gpus_per_pod] += placement.replicas * spec.workers.count
    for (name, pool_name), pods in asked.items():
        pool = next(
            pool for pool in fleet(*documents).clusters[name].spec.node_pools if pool.name == pool_name
        )
        free = [NODE_GPUS[pool.class_name]] * pool.size
        for gpus in sorted(pods.elements(), reverse=True):
            free[next(index for index, has in enumerate(free) if has >= gpus)] -= gpus


@settings(max_examples=200, deadline=None)
@given(_fleets, _locks(), _deployments)
def test_adding_a_deployment_moves_no_other(
    documents: list[Document], locked: Lock, added: ModelDeployment
) -> None:
    before = plan(fleet(*documents), locked)
    after = plan(fleet(*documents, _named("d9", added)), before.lock)
    others = {name: number for name, number in placed(after).items() if not name.startswith("d9 ")}
    assert others == placed(before)


@settings(max_examples=200, deadline=None)
@given(_fleets, _locks())
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
