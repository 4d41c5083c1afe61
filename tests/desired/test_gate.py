"""What stops an update, and what is only said."""

from dataclasses import replace

import pytest
from small_stack import NOTHING, cluster, deployment, lock, made, service, stack

from inferfleet.desired import desired
from inferfleet.desired.gate import announced_problems, blocking_problems, describe, parallelism_problems
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem, joined
from inferfleet.fleet.lock.lock import Lock

EAST_UID = {"east": "uid-east"}
WRITE = (
    "Run `inferfleet plan --stack test --write`, review the lock's diff and commit it, "
    "or set inferfleet:locked to false to let `pulumi up` write it"
)


NO_POOL = "Add a pool that suits it, or change what it asks for: no active pool does, however large"


def _unplaced(replicas: str, reasons: str, fix: str) -> Problem:
    return Problem(
        f"{replicas} ({reasons})",
        f"{fix}, lower replicas, or write unplaced: Warn to let updates go on without them",
        "spec.replicas",
        kind="ModelDeployment",
        key="ml/a",
        mended_together=True,
    )


NONE = "2 of 2 replicas of ml/a found no place, so nothing serves it"


def _refused(
    documents: Documents, lock: Lock, *, locked: bool = False, preview: bool = False
) -> tuple[Problem, ...]:
    return blocking_problems(desired(documents, lock), documents, lock, locked=locked, preview=preview)


def _announced(
    documents: Documents, lock: Lock, *, locked: bool = False, preview: bool = False
) -> tuple[Problem, ...]:
    return announced_problems(desired(documents, lock), documents, lock, locked=locked, preview=preview)


@pytest.mark.parametrize(
    ("locked_placements", "services", "moves"),
    [
        ({"a east/l4": 1, "b east/l4": 1}, {"s": ("east",)}, None),
        ({"a east/l4": 1}, {"s": ("east",)}, "ml/b on east/l4: 0 -> 1 replicas"),
        (
            {"a east/l4": 2, "b east/l4": 1, "c east/l4": 1},
            {"s": ("east",)},
            "ml/a on east/l4: 2 -> 1 replicas; ml/c on east/l4: 1 -> 0 replicas",
        ),
        ({"a east/l4": 1, "b east/l4": 1}, {}, "clusters or services differ"),
    ],
)
@pytest.mark.parametrize("preview", [True, False])
def test_a_locked_stack_must_not_move(
    locked_placements: dict[str, int], services: dict[str, tuple[str, ...]], moves: str | None, preview: bool
) -> None:
    documents = stack(cluster("east"), deployment("a"), deployment("b"), service("s"))
    known = lock(locked_placements, services, EAST_UID, {"east/l4": 2})
    problem = Problem(f"placement.lock does not match the documents ({moves})", WRITE)
    assert _refused(documents, known, locked=True, preview=preview) == ((problem,) if moves else ())
    assert _refused(documents, known, locked=False, preview=preview) == ()


@pytest.mark.parametrize(
    ("parallel", "enough"), [(None, None), (3, None), (2, "PULUMI_PARALLEL=8"), (1, "PULUMI_PARALLEL=8")]
)
def test_fewer_operations_at_once_than_workloads_are_told_with_a_number_that_suffices(
    parallel: int | None, enough: str | None
) -> None:
    documents = stack(cluster("east"), *(deployment(name) for name in "abc"))
    plan = desired(documents, lock({})).plan
    told = Problem(
        f"an update that starts the pods of all 3 workloads waits for {parallel} of them at once, because "
        "Pulumi runs no more operations in parallel",
        f"Set {enough}, or write --parallel 8: waiting costs nothing",
        severity="notice",
    )
    assert parallelism_problems(plan, parallel=parallel) == ((told,) if enough else ())


def test_a_new_cluster_moves_a_locked_stack_too() -> None:
    documents = stack(cluster("east"), cluster("west"))
    assert _refused(documents, lock({}, uids=EAST_UID, nodes={"east/l4": 2}), locked=True) == (
        Problem("placement.lock does not match the documents (pool west/l4: 0 -> 2 nodes)", WRITE),
    )


@pytest.mark.parametrize(("before", "told"), [(3, "3 -> 2"), (1, "1 -> 2")])
def test_a_locked_stack_does_not_plan_with_other_nodes(before: int, told: str) -> None:
    documents = stack(cluster("east"))
    assert _refused(documents, lock({}, uids=EAST_UID, nodes={"east/l4": before}), locked=True) == (
        Problem(f"placement.lock does not match the documents (pool east/l4: {told} nodes)", WRITE),
    )


@pytest.mark.parametrize(
    ("unplaced", "preview", "refused", "announced"),
    [
        ("error", False, True, False),
        ("error", True, False, True),
        ("errorOnLoss", False, False, True),
        ("errorOnLoss", True, False, True),
        ("warn", False, False, True),
        ("warn", True, False, True),
    ],
)
def test_new_replicas_without_a_place_stop_an_update_where_the_stack_says_error(
    unplaced: str, preview: bool, refused: bool, announced: bool
) -> None:
    documents = stack(cluster("east"), deployment("a", 9), unplaced=unplaced)
    known = lock({"a east/l4": 8}, uids=EAST_UID)
    assert [one.severity for one in _refused(documents, known, preview=preview)] == ["error"] * refused
    assert [one.severity for one in _announced(documents, known, preview=preview)] == ["warning"] * announced


@pytest.mark.parametrize(
    ("unplaced", "own", "preview", "refused"),
    [
        ("error", None, False, True),
        ("errorOnLoss", None, False, True),
        ("errorOnLoss", None, True, False),
        ("errorOnLoss", "Warn", False, False),
        ("warn", None, False, False),
        ("warn", "Refuse", False, True),
    ],
)
def test_replicas_that_run_and_would_end_stop_an_update_unless_somebody_says_warn(
    unplaced: str, own: str | None, preview: bool, refused: bool
) -> None:
    documents = stack(
        cluster("east", state="abandoned"),
        cluster("west"),
        deployment("a", 9, **({"unplaced": own} if own else {})),
        unplaced=unplaced,
    )
    known = lock({"a east/l4": 3, "a west/l4": 6})
    told = _refused(documents, known, preview=preview)
    if not refused:
        assert told == ()
        told = tuple(one for one in _announced(documents, known, preview=preview) if "no place" in one.what)
    assert [problem.what for problem in told] == [
        "1 of 9 replicas of ml/a found no place; 1 of them runs now and would end, on east/l4 (abandoned) "
        "(east: abandoned; west/l4: 2 of 2 nodes full: 0 free GPUs on the emptiest node, needs 1)"
    ]


def test_a_loss_of_one_is_told_apart_from_what_others_lack() -> None:
    documents = stack(
        cluster("east", state="abandoned"),
        cluster("south", pools=("x", "y", "z"), state="abandoned"),
        cluster("west"),
        deployment("a", 9),
        deployment("b", 9),
    )
    known = lock({"a east/l4": 1, "a south/x": 1, "a south/y": 7, "b west/l4": 8})
    [refused] = _refused(documents, known)
    assert refused.what.startswith(
        "9 of 9 replicas of ml/a found no place, so nothing serves it; 9 of them run now and would end, "
        "on east/l4 (abandoned), south/x (abandoned), and 1 more ("
    )
    assert refused.next_step.endswith("or write unplaced: Warn to let updates go on without them")
    [warned] = [problem for problem in _announced(documents, known) if "no place" in problem.what]
    assert warned.what.startswith("1 of 9 replicas of ml/b found no place (")
    assert warned.next_step.endswith(
        "or lower replicas: updates go on without them, because none of them runs now"
    )


def test_replicas_without_a_place_are_told_with_what_every_pool_has_against_them() -> None:
    documents = stack(
        cluster("east"), cluster("west", state="cordoned"), deployment("a", 9), unplaced="error"
    )
    full = "east/l4: 2 of 2 nodes full: 0 free GPUs on the emptiest node, needs 1"
    assert _refused(documents, NOTHING) == (
        _unplaced(
            "1 of 9 replicas of ml/a found no place",
            f"{full}; west: cordoned, with 2 nodes suitable for it",
            "Add 1 node to pool east/l4 (its class has no price), or write state: active at cluster west, "
            "which is cordoned and has 2 nodes suitable for it",
        ),
    )


def test_a_fleet_without_clusters_says_so() -> None:
    documents = stack(deployment("a", 2), unplaced="error")
    assert _refused(documents, NOTHING) == (_unplaced(NONE, "there is no cluster", NO_POOL),)


def test_moves_and_missing_places_are_told_at_once() -> None:
    documents = stack(cluster("east"), deployment("a", 9), deployment("b", 0), unplaced="error")
    known = lock({"a east/l4": 7}, uids=EAST_UID)
    assert len(_refused(documents, known, locked=True)) == 2


@pytest.mark.parametrize("preview", [True, False])
def test_a_locked_stack_is_told_which_clusters_its_lock_does_not_know(preview: bool) -> None:
    documents = stack(cluster("east"), cluster("west"))
    known = lock({}, uids={**EAST_UID, "west": None})
    missing = Problem(
        "placement.lock does not know the UID of cluster west",
        "Run `inferfleet plan --stack test --write` where the cluster can be reached, and commit the lock",
        kind="InferenceCluster",
        key="west",
        severity="warning",
    )
    assert _announced(documents, known, locked=True, preview=preview) == (missing,)
    assert _announced(documents, known, locked=False, preview=preview) == ()


def test_warnings_of_the_plan_are_announced_first() -> None:
    documents = stack(cluster("west", state="drained"), deployment("a"))
    known = lock({"a west/l4": 1})
    found = desired(documents, known)
    assert _announced(documents, known, locked=True)[: len(found.warnings)] == found.warnings
    assert len(found.warnings) == 1


def test_a_change_is_described_by_place_and_numbers() -> None:
    plan = made(cluster("east"), deployment("a", 3), lock=lock({"a east/l4": 1})).plan
    assert [describe(one) for one in plan.changes] == ["ml/a on east/l4: 1 -> 3 replicas"]


def test_whoever_lets_updates_go_on_is_not_told_to() -> None:
    documents = stack(deployment("a", 2), unplaced="warn")
    step = f"{NO_POOL}, or lower replicas: updates go on without them, as inferfleet:unplaced: warn says"
    warning = replace(_unplaced(NONE, "there is no cluster", NO_POOL), next_step=step, severity="warning")
    assert _announced(documents, NOTHING) == (warning,)


def test_one_team_does_not_stop_another_that_lets_updates_go_on() -> None:
    asks = {name: deployment(name, 9, unplaced=own) for name, own in (("a", "Refuse"), ("b", "Warn"))}
    documents = stack(cluster("east"), *asks.values(), deployment("c", 0))
    assert [problem.key for problem in _refused(documents, NOTHING)] == ["ml/a"]
    assert [problem.key for problem in _announced(documents, NOTHING)] == ["ml/b"]
    assert [problem.key for problem in _announced(documents, NOTHING, preview=True)] == ["ml/a", "ml/b"]
    assert _announced(documents, NOTHING)[0].next_step == (
        "Add 3 nodes to pool east/l4 (its class has no price) (room for 1 other without a place included), "
        "or lower replicas: updates go on without them, as its unplaced: Warn says"
    )


def test_a_message_has_at_most_600_characters_whatever_the_fleet() -> None:
    wide = deployment("a" * 32, 9000, namespace="n" * 32, gpus=4)
    for count in (10, 1000):
        clusters = [
            cluster(f"{'c' * 20}{number}", state=("active", "cordoned", "drained")[number % 3])
            for number in range(count)
        ]
        gone = [cluster(f"{'g' * 23}{number}", pools=("p" * 20,), state="abandoned") for number in range(9)]
        known = lock({f"{'a' * 32} {one.metadata.name}/{'p' * 20}": 900 for one in gone})
        known = replace(
            known,
            placements={spot._replace(deployment=wide.metadata.key): 900 for spot in known.placements},
        )
        [problem] = _refused(stack(*clusters, *gone, wide), known)
        assert len(str(problem)) <= 600 + len("spec.replicas: ")


def test_of_many_deployments_without_a_place_20_are_told_and_first_those_that_would_end() -> None:
    names = [f"d{number:02}" for number in range(25)]
    both = cluster("east"), cluster("west", state="abandoned")
    wanted = (deployment(name, priority=-int(name == "d24")) for name in names)
    documents = stack(*both, deployment("full", 8), *wanted, unplaced="error")
    running = lock({"full east/l4": 8, "d24 west/l4": 1}, uids=EAST_UID)
    *told, rest = _refused(documents, running)
    assert [problem.key for problem in told] == [f"ml/{name}" for name in (*names[:19], "d24")]
    assert rest == Problem(
        "5 more deployments without a place for 5 replicas: ml/d19, ml/d20, ml/d21, ml/d22, ml/d23",
        "Run `inferfleet explain NAME`, which says why and what would place them",
    )


def test_alike_deployments_without_a_place_stop_an_update_by_one_line() -> None:
    documents = stack(cluster("east"), *(deployment(name, gpus=3) for name in "abcdefgh"))
    documents = replace(documents, settings=documents.settings.model_copy(update={"unplaced": "error"}))
    every = _refused(documents, NOTHING)
    assert len(every) == 6
    [told] = joined(every)
    assert told == replace(every[0], what=f"{every[0].what} (also ml/d, ml/e, ml/f, and 2 more)")
