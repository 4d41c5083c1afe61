"""`Quota`: how much the deployments of a namespace may take."""

import pytest
from pydantic import ValidationError
from small_fleet import class_, cluster, deployment, fleet, gke, lock, placed, quota, role

from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.demands import declared_demands
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.placement.quotas import Limits
from inferfleet.fleet.planning import plan

EMPTY = Lock(stack="test")
FLEET = (cluster("a", {"p": ("h100", 4), "q": ("l4", 4)}),)


def _why(planned: Plan) -> set[str]:
    return {reason.why for unplaced in planned.unplaced for reason in unplaced.reasons}


def test_replicas_above_a_quota_of_gpus_have_no_place() -> None:
    planned = plan(fleet(*FLEET, deployment("m", 5, gpus=4), quota(gpus=16)), EMPTY)
    assert (planned.lock.placements and sum(placed(planned).values()), _why(planned)) == (
        4,
        {"quota q of namespace ml: 16 of 16 GPUs used, a replica needs 4"},
    )


def test_a_quota_of_a_class_leaves_the_others() -> None:
    planned = plan(fleet(*FLEET, deployment("m", 7, gpus=4), quota(gpusByClass={"h100": 8})), EMPTY)
    assert placed(planned) == {"m a/p": 2, "m a/q": 4}
    assert _why(planned) == {
        "quota q of namespace ml: 8 of 8 GPUs of class h100 used, a replica needs 4",
        "4 of 4 nodes full: 0 free GPUs on the emptiest node, needs 4",
    }


def test_the_highest_priority_is_served_first_within_a_quota() -> None:
    low, high = deployment("a-low", 3, gpus=4), deployment("high", 2, gpus=4, priority=5)
    planned = plan(fleet(*FLEET, low, high, quota(gpus=12)), EMPTY)
    assert {name.split(" ")[0]: number for name, number in placed(planned).items()} == {"a-low": 1, "high": 2}


def test_other_namespaces_are_not_counted() -> None:
    planned = plan(fleet(*FLEET, deployment("m", 5, gpus=4), quota(namespace="other", gpus=0)), EMPTY)
    assert planned.unplaced == ()


def test_a_lowered_quota_ends_nothing_and_is_told() -> None:
    documents = fleet(*FLEET, deployment("m", 3, gpus=4), quota(gpus=4))
    planned = plan(documents, lock({"m a/q": 2}))
    assert placed(planned) == {"m a/q": 2}
    assert _why(planned) == {"quota q of namespace ml: 8 of 4 GPUs used, a replica needs 4"}
    assert [(problem.severity, problem.path, problem.what) for problem in planned.problems] == [
        ("warning", "spec.gpus", "8 of 4 GPUs are used by replicas that run, and none of them ends for it")
    ]


def test_an_exceeded_quota_keeps_nobody_from_what_it_does_not_count() -> None:
    ran, new = deployment("m", 2, gpus=8), deployment("new", 2)
    planned = plan(fleet(*FLEET, ran, new, quota(gpusByClass={"h100": 8})), lock({"m a/p": 2}))
    assert placed(planned) == {"m a/p": 2, "new a/q": 2}
    assert planned.unplaced == ()


def test_replicas_above_a_quota_still_leave_a_cluster_that_is_drained() -> None:
    drained = cluster("b", {"p": ("l4", 4)}, state="drained")
    planned = plan(fleet(*FLEET, drained, deployment("m", 2, gpus=4), quota(gpus=4)), lock({"m b/p": 2}))
    assert placed(planned) == {"m a/q": 2}


def test_cost_counts_by_the_part_of_a_node_and_classes_without_a_price_count_nothing() -> None:
    price = {"onDemand": "8", "currency": "USD", "asOf": "2026-01-01", "source": "test"}
    priced = class_("priced", 4, price=price)
    clusters = (cluster("a", {"p": ("priced", 4)}), cluster("b", {"q": ("l4", 1)}))
    cost = quota(cost={"perHour": 12.5})
    planned = plan(fleet(priced, *clusters, deployment("m", 9, gpus=2), cost), EMPTY)
    assert placed(planned) == {"m a/p": 3, "m b/q": 2}
    assert "quota q of namespace ml: USD 12.00 of 12.50 per hour used, a replica needs USD 4.00" in _why(
        planned
    )
    assert [(problem.path, problem.what) for problem in planned.problems] == [
        ("spec.cost", "without a price in USD, replicas count nothing on nodes of l4"),
        (
            "spec.price",
            "no price in USD is known for nodes of l4: new replicas come there after all nodes with a price, "
            "by their GPUs per node",
        ),
    ]


@pytest.mark.parametrize(
    ("spot", "replicas", "used", "needs"),
    [
        ("2", 6, "12.00", "2.00"),
        # Where nobody publishes what Spot costs, it counts as on demand, for placing too.
        (None, 3, "12.00", "4.00"),
    ],
)
def test_spot_pools_count_as_what_they_are_placed_by(
    spot: str | None, replicas: int, used: str, needs: str
) -> None:
    price = {"onDemand": "8", "currency": "USD", "asOf": "2026-01-01", "source": "test"}
    priced = class_("priced", 4, price=price | ({"spot": spot} if spot else {}))
    pool = gke("a", {"s": ("priced", 8)}, models={"s": "Spot"})
    model = deployment("m", 9, gpus=2 if spot is None else 4, capacityModels=["Spot"])
    planned = plan(fleet(priced, pool, model, quota(cost={"perHour": "12.50"})), EMPTY)
    assert placed(planned) == {"m a/s": replicas}
    assert _why(planned) == {
        f"quota q of namespace ml: USD {used} of 12.50 per hour used, a replica needs USD {needs}"
    }


def test_a_quota_of_a_class_counts_its_spot_pools() -> None:
    price = {"onDemand": "8", "spot": "2", "currency": "USD", "asOf": "2026-01-01", "source": "test"}
    pool = gke("a", {"d": ("priced", 2), "s": ("priced", 2)}, models={"s": "Spot"})
    model = deployment("m", 4, gpus=4, capacityModels=["OnDemand", "Spot"])
    limit = quota(gpusByClass={"priced": 12})
    planned = plan(fleet(class_("priced", 4, price=price), pool, model, limit), EMPTY)
    assert placed(planned) == {"m a/d": 1, "m a/s": 2}


def test_all_roles_of_a_replica_count() -> None:
    model = deployment("m", 2, gpus=4, roles={"encode": role(2)})
    planned = plan(fleet(*FLEET, model, quota(gpus=11)), EMPTY)
    assert [placement.replicas for placement in planned.placements] == [1]
    assert _why(planned) == {"quota q of namespace ml: 6 of 11 GPUs used, a replica needs 6"}


def test_all_quotas_of_a_namespace_hold() -> None:
    planned = plan(fleet(*FLEET, deployment("m", 5, gpus=4), quota(gpus=16), quota("r", gpus=8)), EMPTY)
    assert _why(planned) == {"quota r of namespace ml: 8 of 8 GPUs used, a replica needs 4"}


@pytest.mark.parametrize("spec", [{}, {"gpus": -1}, {"cost": {"perHour": "much"}}, {"cost": {"perHour": -1}}])
def test_a_quota_has_a_limit_that_makes_sense(spec: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        quota(**spec)


def test_a_spot_is_looked_up_in_the_lowest_limit_of_each_kind_alone() -> None:
    limits = [{"gpus": 12}, {"gpus": 8}, {"gpusByClass": {"h100": 8}}, {"gpusByClass": {"l4": 2}}]
    quotas = [quota(f"q{number}", **spec) for number, spec in enumerate(limits * 3)]
    documents = fleet(*FLEET, deployment("m", 1, gpus=4), *quotas)
    (spot,) = (placement.spot for placement in plan(documents, EMPTY).placements)
    amounts = Limits(documents, declared_demands(documents)).amounts(spot)
    assert [(limit.quota, limit.path, each) for limit, each in amounts] == [
        ("ml/q1", "spec.gpus", 4),
        ("ml/q10", "spec.gpusByClass.h100", 4),
    ]


def test_running_replicas_above_several_quotas_are_told_of_each() -> None:
    documents = fleet(
        *FLEET, deployment("m", 3, gpus=4), quota(gpus=4), quota("r", gpus=6), quota("s", gpus=8)
    )
    planned = plan(documents, lock({"m a/q": 2}))
    assert sorted((problem.key, problem.what.partition(" GPUs")[0]) for problem in planned.problems) == [
        ("ml/q", "8 of 4"),
        ("ml/r", "8 of 6"),
    ]
