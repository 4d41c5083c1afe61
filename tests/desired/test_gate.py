"""What stops an update, and what is only said."""

from dataclasses import replace

import pytest
from small_stack import NOTHING, cluster, deployment, lock, made, service, stack

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem
from inferfleet.desired import desired
from inferfleet.desired.gate import announcements, describe, refusals
from inferfleet.fleet.lock.lock import Lock

EAST_UID = {"east": "uid-east"}
WRITE = (
    "Run `inferfleet plan --write`, review the lock's diff and commit it, "
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
    )


NONE = "2 of 2 replicas of ml/a found no place, so nothing serves it"


def _refused(
    documents: Documents, lock: Lock, *, locked: bool = False, preview: bool = False
) -> tuple[Problem, ...]:
    return refusals(desired(documents, lock), documents, lock, locked=locked, preview=preview)


def _announced(
    documents: Documents, lock: Lock, *, locked: bool = False, preview: bool = False
) -> tuple[Problem, ...]:
    return announcements(desired(documents, lock), documents, lock, locked=locked, preview=preview)


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
    known = lock(locked_placements, services, EAST_UID)
    problem = Problem(f"placement.lock does not match the documents ({moves})", WRITE)
    assert _refused(documents, known, locked=True, preview=preview) == ((problem,) if moves else ())
    assert _refused(documents, known, locked=False, preview=preview) == ()


def test_a_new_cluster_moves_a_locked_stack_too() -> None:
    documents = stack(cluster("east"), cluster("west"))
    assert _refused(documents, lock({}, uids=EAST_UID), locked=True) == (
        Problem("placement.lock does not match the documents (clusters or services differ)", WRITE),
    )


@pytest.mark.parametrize(
    ("unplaced", "preview", "refused", "announced"),
    [
        ("error", False, True, False),
        ("error", True, False, True),
        ("warn", False, False, True),
        ("warn", True, False, True),
    ],
)
def test_replicas_without_a_place_stop_an_update_unless_the_stack_says_warn(
    unplaced: str, preview: bool, refused: bool, announced: bool
) -> None:
    documents = stack(cluster("east"), deployment("a", 9), unplaced=unplaced)
    known = lock({"a east/l4": 8}, uids=EAST_UID)
    assert [one.severity for one in _refused(documents, known, preview=preview)] == ["error"] * refused
    assert [one.severity for one in _announced(documents, known, preview=preview)] == ["warning"] * announced


def test_replicas_without_a_place_are_told_with_what_every_pool_has_against_them() -> None:
    documents = stack(cluster("east"), cluster("west", state="cordoned"), deployment("a", 9))
    full = "east/l4: 2 of 2 nodes full: 0 free GPUs on the emptiest node, needs 1"
    assert _refused(documents, NOTHING) == (
        _unplaced(
            "1 of 9 replicas of ml/a found no place",
            f"{full}; west: cordoned",
            "Add 1 node to pool east/l4 (its class has no price)",
        ),
    )


def test_a_fleet_without_clusters_says_so() -> None:
    assert _refused(stack(deployment("a", 2)), NOTHING) == (_unplaced(NONE, "there is no cluster", NO_POOL),)


def test_moves_and_missing_places_are_told_at_once() -> None:
    documents = stack(cluster("east"), deployment("a", 9), deployment("b", 0))
    known = lock({"a east/l4": 7}, uids=EAST_UID)
    assert len(_refused(documents, known, locked=True)) == 2


@pytest.mark.parametrize("preview", [True, False])
def test_a_locked_stack_is_told_which_clusters_its_lock_does_not_know(preview: bool) -> None:
    documents = stack(cluster("east"), cluster("west"))
    known = lock({}, uids={**EAST_UID, "west": None})
    missing = Problem(
        "placement.lock does not know the UID of cluster west",
        "Run `inferfleet plan --write` where the cluster can be reached, and commit the lock",
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
        [problem] = _refused(stack(*clusters, wide), NOTHING)
        assert len(str(problem)) <= 600 + len("spec.replicas: ")
