"""What would place replicas without more nodes: whoever follows the next step has them placed."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from small_fleet import class_, cluster, deployment, fleet, gke, lock, placed, quota, role

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Where
from inferfleet.desired.gate import unplaced_problem
from inferfleet.fleet import plan
from inferfleet.fleet.advice.short import fix_step, in_short
from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.capacity import Beside, Seen
from inferfleet.fleet.lock.lock import Lock

EMPTY = Lock(stack="test")
DAY = date(2026, 11, 23)


def _told(planned: Plan) -> tuple[str, str]:
    """Why ml/a has no place, and what to do."""
    [missing] = [one for one in planned.unplaced if one.deployment == "ml/a"]
    return in_short(missing.reasons), fix_step(planned.fixes["ml/a"], missing.reasons, planned.ways["ml/a"])


def _located(documents: Documents, kind: str, key: str, **lines: int) -> Documents:
    own = {"": Where("stacks/a.yaml", 1)} | {
        path: Where("stacks/a.yaml", line) for path, line in lines.items()
    }
    return replace(documents, positions={**documents.positions, (kind, key): own})


def test_a_quota_in_the_way_is_named_with_its_line_its_limit_what_is_used_and_what_is_needed() -> None:
    east = cluster("east", {"h100": ("h100", 1)})
    documents = fleet(east, deployment("a", 5, gpus=4), quota(gpus=8))
    planned = plan(_located(documents, "Quota", "ml/q", **{"spec.gpus": 7}), EMPTY)
    assert _told(planned) == (
        "east/h100: quota q of namespace ml (stacks/a.yaml:7): 8 of 8 GPUs used, a replica needs 4",
        "Raise spec.gpus of Quota ml/q (stacks/a.yaml:7) from 8 to 20: 8 used, 3 replicas without a place "
        "need 12",
    )


def test_a_quota_that_keeps_nodes_from_helping_is_named_where_pools_are_full() -> None:
    """There is room for one replica in the quota, and for none on the node."""
    east = cluster("east", {"h100": ("h100", 1)})
    other = deployment("b", 1, gpus=4)
    planned = plan(fleet(east, deployment("a", 3, gpus=4), other, quota(gpus=13)), EMPTY)
    assert _told(planned) == (
        "east/h100: 1 of 1 nodes full: 0 free GPUs on the emptiest node, needs 4",
        "Raise spec.gpus of Quota ml/q from 13 to 16: 8 used, 2 replicas without a place need 8",
    )


def test_a_quota_of_cost_says_what_one_more_costs() -> None:
    price = {"onDemand": "8.005", "currency": "USD", "asOf": "2026-01-01", "source": "test"}
    east = cluster("east", {"p": ("priced", 4)})
    model = deployment("a", 4, gpus=2)
    planned = plan(fleet(class_("priced", 4, price=price), east, model, quota(cost={"perHour": 9})), EMPTY)
    assert _told(planned) == (
        "east/p: quota q of namespace ml: USD 8.01 of 9.00 per hour used, a replica needs USD 4.01",
        "Raise spec.cost of Quota ml/q from USD 9.00 to USD 16.01: USD 8.01 used, 2 replicas without a place "
        "need USD 8.01",
    )


def test_a_quota_is_in_the_way_of_roles_that_it_allows_one_by_one() -> None:
    east = cluster("east", {"h100": ("h100", 2)})
    wanted = deployment("a", 1, gpus=4, roles={"encode": role(4)})
    assert _told(plan(fleet(east, wanted, quota(gpusByClass={"h100": 6})), EMPTY)) == (
        "east: quotas of namespace ml leave too little for all roles of a replica together; "
        "east/h100: has room",
        "Raise spec.gpusByClass.h100 of Quota ml/q from 6 to 8: 0 used, 1 replica without a place needs 8",
    )


def test_what_nobody_wrote_is_not_advised() -> None:
    """Others take what is added, to the last node that Google allows."""
    east = cluster("east", {"h100": ("h100", 1)})
    seen = {("east", "h100"): Seen(DAY, 1, most=1)}
    planned = plan(fleet(east, deployment("a", 2, gpus=8)), replace(EMPTY, seen=seen))
    assert _told(planned) == (
        "east/h100: 1 of 1 nodes full: 0 free GPUs on the emptiest node, needs 8",
        "Raise Google's quota or the reservation of pool east/h100, which allow 1 node (capacity.lock): "
        "1 more node would do",
    )


def _cordoned(state: str, **nodes: int) -> Documents:
    clusters = [cluster(name, {"h100": ("h100", number)}, state=state) for name, number in nodes.items()]
    documents = fleet(*clusters, deployment("a", 1, gpus=8))
    return _located(documents, "InferenceCluster", "east", **{"spec.state": 4})


def test_a_cordon_is_told_with_its_nodes_and_how_it_ends() -> None:
    assert _told(plan(_cordoned("cordoned", east=2), EMPTY)) == (
        "east: cordoned, with 2 nodes suitable for it",
        "Write state: active at cluster east (stacks/a.yaml:4), which is cordoned and has 2 nodes suitable "
        "for it",
    )


def test_a_cordon_of_nodes_that_would_not_suit_is_no_way_out() -> None:
    west = cluster("west", {"l4": ("l4", 2)}, state="drained")
    assert _told(
        plan(fleet(west, deployment("a", 1, gpus=8), cluster("e", {"h100": ("h100", 0)})), EMPTY)
    ) == (
        "e/h100: has no nodes; west: drained, and its pools do not suit it either",
        "Add 1 node to pool e/h100 (its class has no price)",
    )


@pytest.mark.parametrize(
    ("one", "told", "step"),
    [
        (
            Seen(DAY, 1, missing=1),
            "1 of 2 nodes not there (capacity.lock, 2026-11-23) and the rest full: 0 free GPUs on the "
            "emptiest node, needs 8",
            "Bring back 1 node on pool east/h100",
        ),
        (
            Seen(DAY, 1, held=(8,)),
            "1 of its nodes cordoned or not ready (capacity.lock, 2026-11-23) and the rest full: 0 free GPUs "
            "on the emptiest node, needs 8",
            "Uncordon or repair 1 node on pool east/h100",
        ),
        (
            Seen(DAY, 2, foreign=(1,)),
            "1 GPU held by pods of others (capacity.lock, 2026-11-23) and the rest full: 7 free GPUs on the "
            "emptiest node, needs 8",
            "End pods of others on pool east/h100",
        ),
        (
            Seen(DAY, 2, cpu=200_000, others=(Beside(150_000, 0),)),
            "up to 150 cores taken by other pods on 1 node (capacity.lock, 2026-11-23) and the rest full: "
            "50 free cores beside enough GPUs, needs 100",
            "End pods of others on pool east/h100",
        ),
    ],
)
def test_full_is_not_said_of_nodes_that_are_missing_held_back_or_taken_by_others(
    one: Seen, told: str, step: str
) -> None:
    east = cluster("east", {"h100": ("h100", 2)})
    wanted = deployment("a", 2, gpus=8, resources={"requests": {"cpu": "100"}})
    planned = plan(fleet(east, wanted), replace(EMPTY, seen={("east", "h100"): one}))
    assert _told(planned) == (
        f"east/h100: {told}",
        f"{step}, then run inferfleet capacity --write, or add 1 node to pool east/h100 (its class has no "
        "price)",
    )


def test_what_daemon_sets_request_of_each_node_is_told_and_nothing_is_to_be_done_about_it() -> None:
    east = cluster("east", {"h100": ("h100", 2)})
    wanted = deployment("a", 1, gpus=8, resources={"requests": {"cpu": "200"}})
    seen = {("east", "h100"): Seen(DAY, 2, cpu=200_000, daemons=Beside(500, 0))}
    assert _told(plan(fleet(east, wanted), replace(EMPTY, seen=seen)))[0] == (
        "east/h100: 0.5 cores of each node requested by DaemonSets (capacity.lock, 2026-11-23) and the rest "
        "full: 199.5 free cores beside enough GPUs, needs 200"
    )


def test_full_is_said_where_nodes_that_are_missing_would_not_help() -> None:
    east = cluster("east", {"h100": ("h100", 2)})
    wanted = deployment("a", 4, gpus=8)
    planned = plan(fleet(east, wanted), replace(EMPTY, seen={("east", "h100"): Seen(DAY, 1, missing=1)}))
    assert _told(planned)[0].startswith("east/h100: 1 of 2 nodes not there")
    two = plan(fleet(cluster("east", {"h100": ("h100", 1)}), wanted), EMPTY)
    assert _told(two)[0] == "east/h100: 1 of 1 nodes full: 0 free GPUs on the emptiest node, needs 8"


def test_pools_of_roles_that_are_full_are_told_as_full() -> None:
    small = "capacity['gpu.nvidia.com/memory'].compareTo(quantity('40Gi')) < 0"
    large = "capacity['gpu.nvidia.com/memory'].compareTo(quantity('40Gi')) >= 0"
    clusters = [cluster(name, {"h100": ("h100", 1), "l4": ("l4", 1)}) for name in "abcde"]
    wanted = deployment("a", 6, gpus=8, cel=large, roles={"encode": role(4, cel=small)})
    planned = plan(fleet(*clusters, wanted), EMPTY)
    [missing] = planned.unplaced
    assert in_short(missing.reasons) == "0 of 5 clusters have room: 5 full for role decode"
    assert {reason.why for reason in missing.reasons} == {
        "decode: 1 of 1 nodes full: 0 free GPUs on the emptiest node, needs 8",
        "encode: 1 of 1 nodes full: 0 free GPUs on the emptiest node, needs 4",
    }


BOTH = ["OnDemand", "Spot"]
MIXED = gke("a", {"calm": ("l4", 3), "spot": ("l4", 3)}, models={"spot": "Spot"})


@pytest.mark.parametrize(("replicas", "floor", "on_spot"), [(2, 2, 2), (3, 2, 3), (3, 1, 3), (2, 3, 2)])
def test_whoever_follows_the_advice_on_a_floor_that_is_not_kept_has_it_kept(
    replicas: int, floor: int, on_spot: int
) -> None:
    def planned(number: int, known: Lock) -> Plan:
        spec: dict[str, Any] = {"capacityModels": BOTH, "onDemandReplicas": floor}
        return plan(fleet(MIXED, deployment("m", number, gpus=4, **spec)), known)

    before = planned(replicas, lock({"m a/spot": on_spot}))
    [problem] = before.problems
    more = int(problem.next_step.split("write replicas: ")[1].split()[0])
    assert problem.next_step == (
        f"To replace them, write replicas: {more} for one update, then {replicas} again: new ones go to "
        "OnDemand or Reservation, and those on others end first"
    )
    during = planned(more, before.lock)
    assert during.unplaced == ()
    after = planned(replicas, during.lock)
    assert (after.problems, sum(placed(after).values())) == ((), replicas)
    assert placed(after).get("m a/calm", 0) == min(floor, replicas)


def test_a_floor_in_the_way_is_told_with_what_to_lower() -> None:
    model = deployment("a", 5, gpus=4, capacityModels=BOTH, onDemandReplicas=4)
    seen = {("a", "calm"): Seen(DAY, 3, most=3)}
    planned = plan(fleet(MIXED, model), replace(EMPTY, seen=seen))
    assert _told(planned)[1] == (
        "Raise Google's quota or the reservation of pool a/calm, which allow 3 nodes (capacity.lock): "
        "1 more node would do, or lower onDemandReplicas of ml/a by 1 for each replica that may be on Spot"
    )
    lower = deployment("a", 5, gpus=4, capacityModels=BOTH, onDemandReplicas=3)
    assert plan(fleet(MIXED, lower), replace(EMPTY, seen=seen)).unplaced == ()


@pytest.mark.parametrize("clusters", [1, 1000])
def test_messages_stay_short_whatever_names_and_numbers_are(clusters: int) -> None:
    long, pool = "a" * 20, "p" * 20
    known = {
        f"{long}{number:04}": Seen(DAY, 1, held=(8,), missing=1, foreign=(1,)) for number in range(clusters)
    }
    every = [cluster(name, {pool: ("h100", 4)}) for name in known]
    wanted = deployment("d" * 30, 4 * clusters, gpus=8)
    documents = fleet(*every, wanted, quota("q" * 32, gpus=8 * clusters))
    documents = _located(documents, "Quota", f"ml/{'q' * 32}", **{"spec.gpus": 700})
    seen = {(name, pool): one for name, one in known.items()}
    planned = plan(documents, replace(EMPTY, seen=seen))
    [missing] = planned.unplaced
    problem = unplaced_problem(missing, planned, documents)
    assert len(f"{problem.what}. {problem.next_step}") <= 600
