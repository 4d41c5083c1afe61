"""Whoever adds the nodes of a fix has all replicas of its deployment placed."""

from dataclasses import replace
from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st
from random_fleets import random_fleets, random_locks
from small_fleet import Document, class_, cluster, deployment, fleet, gke, lock, quota, role

from inferfleet.documents.documents import Documents
from inferfleet.fleet.advice.summaries import fix_step
from inferfleet.fleet.decisions import Fix, MoreNodes
from inferfleet.fleet.lock.capacity import Observation
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

PRICED = class_(
    "priced",
    8,
    price={"onDemand": "12.25", "currency": "EUR", "asOf": "2026-01-01", "source": "a list"},
)
EMPTY = Lock(stack="test")


def with_fix(documents: Documents, fix: Fix) -> Documents:
    """The documents with the nodes of a fix."""
    clusters = dict(documents.clusters)
    for more in fix.pools:
        document = clusters[more.cluster]
        pools = tuple(
            pool.model_copy(update={"node_count": more.size}) if pool.name == more.pool else pool
            for pool in document.spec.node_pools
        )
        spec = document.spec.model_copy(update={"node_pools": pools})
        clusters[more.cluster] = document.model_copy(update={"spec": spec})
    return replace(documents, clusters=clusters)


@settings(max_examples=200, deadline=None)
@given(random_fleets, random_locks(), st.booleans())
def test_with_the_nodes_of_a_fix_nothing_of_the_deployment_lacks_a_place(
    documents: list[Document], locked: Lock, empty: bool
) -> None:
    known = fleet(*documents)
    first = plan(known, EMPTY if empty else locked)
    if any(problem.severity == "error" for problem in first.problems):
        return
    for missing in first.unplaced:
        fix = first.fixes[missing.deployment]
        if fix is not None:
            again = plan(with_fix(known, fix), first.lock)
            assert missing.deployment not in [other.deployment for other in again.unplaced]


def test_the_cheapest_pool_gets_as_few_nodes_as_do() -> None:
    east = cluster("east", {"priced": ("priced", 1), "h100": ("h100", 1)})
    planned = plan(fleet(PRICED, east, deployment("a", 7, gpus=4)), EMPTY)
    assert dict(planned.fixes) == {"ml/a": Fix((MoreNodes("east", "priced", 2, 3, "24.50", "EUR"),))}


def test_the_cost_of_a_fix_says_of_which_region_it_is_where_the_nodes_are_elsewhere() -> None:
    price = {
        "onDemand": "8",
        "region": "us-east4",
        "currency": "USD",
        "asOf": "2026-01-01",
        "source": "a list",
    }
    priced = class_("priced", 8, price=price)

    def fix(region: str) -> Fix | None:
        pool = gke("east", {"p": ("priced", 1)}, region=region)
        return plan(fleet(priced, pool, deployment("a", 3, gpus=8)), EMPTY).fixes["ml/a"]

    assert fix("us-east4") == Fix((MoreNodes("east", "p", 2, 3, "16", "USD"),))
    assert fix("us-west1") == Fix((MoreNodes("east", "p", 2, 3, "16", "USD", "us-east4"),))


def test_roles_get_nodes_on_pools_of_one_cluster() -> None:
    east = cluster("east", {"h100": ("h100", 1), "l4": ("l4", 1)})
    both = deployment(
        "a",
        2,
        gpus=8,
        roles={"encode": role(4, cel="device.capacity['gpu.nvidia.com'].memory == quantity('24Gi')")},
    )
    assert dict(plan(fleet(east, both), EMPTY).fixes) == {
        "ml/a": Fix((MoreNodes("east", "h100", 1, 2), MoreNodes("east", "l4", 1, 2)))
    }


def test_nodes_for_those_that_are_served_first_are_included() -> None:
    east = cluster("east", {"h100": ("h100", 1)})
    documents = fleet(east, deployment("a", 2, gpus=8), deployment("b", 2, gpus=8, priority=1))
    assert dict(plan(documents, lock({"a east/h100": 1})).fixes) == {
        "ml/a": Fix((MoreNodes("east", "h100", 3, 4),), ("ml/b",)),
        "ml/b": Fix((MoreNodes("east", "h100", 2, 3),)),
    }


def test_where_no_pool_suits_there_is_no_fix() -> None:
    west = cluster("west", {"h100": ("h100", 1)}, state="cordoned")
    assert dict(plan(fleet(west, deployment("a", 1)), EMPTY).fixes) == {"ml/a": None}


def test_where_a_quota_refuses_no_nodes_help_and_it_is_said() -> None:
    east = cluster("east", {"h100": ("h100", 1)})
    planned = plan(fleet(east, deployment("a", 5, gpus=4), quota(gpus=8)), EMPTY)
    assert dict(planned.fixes) == {"ml/a": None}
    [missing] = planned.unplaced
    assert [reason.short for reason in missing.reasons] == [
        "refused by quota q (8 of 8 GPUs used, a replica needs 4)"
    ]
    assert fix_step(None, missing.reasons) == "Raise spec.gpus of Quota ml/q"


def test_a_fix_leaves_pools_alone_that_the_deployment_is_not_open_to() -> None:
    price = {"onDemand": "8", "spot": "2", "currency": "USD", "asOf": "2026-01-01", "source": "a list"}
    both = gke("east", {"d": ("x", 1), "s": ("x", 1)}, models={"s": "Spot"})
    known = class_("x", 4, price=price)

    def fixes(*models: str) -> dict[str, Fix | None]:
        wanted = deployment("a", 3, gpus=4, capacityModels=models)
        return dict(plan(fleet(known, both, wanted), EMPTY).fixes)

    assert fixes("OnDemand") == {"ml/a": Fix((MoreNodes("east", "d", 2, 3, "16", "USD"),))}
    assert fixes("OnDemand", "Spot") == {"ml/a": Fix((MoreNodes("east", "s", 1, 2, "2", "USD"),))}


def test_a_fix_takes_the_nodes_that_a_quota_still_allows() -> None:
    price = {"onDemand": "8", "currency": "USD", "asOf": "2026-01-01", "source": "a list"}
    cheap, dear = class_("x", 4, price=price), class_("y", 4, price=price | {"onDemand": "80"})
    both = cluster("east", {"x": ("x", 1), "y": ("y", 1)})

    def fixes(**limits: object) -> dict[str, Fix | None]:
        limited = [quota(**limits)] if limits else []
        return dict(plan(fleet(cheap, dear, both, deployment("a", 3, gpus=4), *limited), EMPTY).fixes)

    assert fixes() == {"ml/a": Fix((MoreNodes("east", "x", 1, 2, "8", "USD"),))}
    assert fixes(gpusByClass={"x": 4}) == {"ml/a": Fix((MoreNodes("east", "y", 1, 2, "80", "USD"),))}
    assert fixes(cost={"perHour": "100", "currency": "USD"}) == {
        "ml/a": Fix((MoreNodes("east", "x", 1, 2, "8", "USD"),))
    }
    assert fixes(cost={"perHour": "95", "currency": "USD"}) == {"ml/a": None}


def test_a_fix_leaves_as_many_replicas_on_steady_nodes_as_are_asked_for() -> None:
    price = {"onDemand": "8", "spot": "2", "currency": "USD", "asOf": "2026-01-01", "source": "a list"}
    both = gke("east", {"d": ("x", 1), "s": ("x", 1)}, models={"s": "Spot"})
    wanted = deployment("a", 4, gpus=4, capacityModels=["OnDemand", "Spot"], onDemandReplicas=2)
    assert dict(plan(fleet(class_("x", 4, price=price), both, wanted), EMPTY).fixes) == {
        "ml/a": Fix((MoreNodes("east", "d", 1, 2, "8", "USD"), MoreNodes("east", "s", 1, 2, "2", "USD")))
    }


def test_a_required_spread_gets_nodes_where_it_lacks_them() -> None:
    east, west = (cluster(name, {"h100": ("h100", 1)}) for name in ("east", "west"))
    wanted = deployment("a", 4, gpus=8, spread={"over": "cluster", "mode": "Require"})
    assert dict(plan(fleet(east, west, wanted), EMPTY).fixes) == {
        "ml/a": Fix((MoreNodes("east", "h100", 1, 2), MoreNodes("west", "h100", 1, 2)))
    }


def test_a_fix_counts_what_was_seen_to_be_missing() -> None:
    east = cluster("east", {"h100": ("h100", 2)})
    seen = {("east", "h100"): Observation(date(2026, 1, 1), 1, held=(8,))}
    planned = plan(fleet(east, deployment("a", 2, gpus=8)), Lock(stack="test", seen=seen))
    assert dict(planned.fixes) == {"ml/a": Fix((MoreNodes("east", "h100", 1, 3),))}
    allowed = {("east", "h100"): replace(seen["east", "h100"], most=2)}
    planned = plan(fleet(east, deployment("a", 2, gpus=8)), Lock(stack="test", seen=allowed))
    assert dict(planned.fixes) == {"ml/a": None}


def test_a_pool_of_several_zones_grows_by_whole_rounds_and_not_past_what_is_allowed() -> None:
    zones = ["us-east5-a", "us-east5-b", "us-east5-c"]
    east = gke("east", {"h100": ("h100", 3)}, zones={"h100": zones})
    documents = fleet(east, deployment("a", 4, gpus=8))

    def fixes(most: int) -> dict[str, Fix | None]:
        seen = {("east", "h100"): Observation(date(2026, 1, 1), 3, most=most)}
        return dict(plan(documents, Lock(stack="test", seen=seen)).fixes)

    assert fixes(6) == {"ml/a": Fix((MoreNodes("east", "h100", 3, 6),))}
    assert fixes(5) == {"ml/a": None}


def test_roles_that_share_a_pool_get_together_no_more_than_it_may_have() -> None:
    east = cluster("east", {"h100": ("h100", 1)})
    documents = fleet(east, deployment("a", 2, gpus=8, roles={"encode": role(8)}))

    def fixes(most: int) -> dict[str, Fix | None]:
        seen = {("east", "h100"): Observation(date(2026, 1, 1), 1, most=most)}
        return dict(plan(documents, Lock(stack="test", seen=seen)).fixes)

    assert fixes(4) == {"ml/a": Fix((MoreNodes("east", "h100", 3, 4),))}
    assert fixes(3) == {"ml/a": None}


@settings(max_examples=100, deadline=None)
@given(random_fleets, random_locks(), st.integers(0, 2))
def test_no_fix_has_more_nodes_than_quotas_and_reservations_were_seen_to_allow(
    documents: list[Document], locked: Lock, more: int
) -> None:
    known = fleet(*documents)
    seen = {
        (name, pool.name): Observation(date(2026, 1, 1), pool.size, most=pool.size + more)
        for name, document in known.clusters.items()
        for pool in document.spec.node_pools
    }
    fixes = plan(known, replace(locked, seen=seen)).fixes
    assert [added for fix in fixes.values() if fix for added in fix.pools if added.nodes > more] == []


def test_the_next_best_spot_is_told_with_the_rule_that_decided() -> None:
    both = {"h100": ("h100", 2), "l4": ("l4", 2)}
    documents = fleet(cluster("east", both), cluster("west", both), deployment("a", 2))
    planned = plan(documents, lock({"a east/l4": 1}))
    told = {spot.place: (other.spot.place, other.why) for spot, other in planned.runners_up.items() if other}
    assert told == {
        "east/l4": ("east/h100", "replicas run there already, and none moves without need"),
        "west/l4": (
            "west/h100",
            "its nodes cost more for each GPU, or are larger where prices are not known",
        ),
    }


def test_no_nodes_are_proposed_that_others_take_to_the_last_of_a_quota() -> None:
    """The small ones choose first, and with their quota used up no node helps the large one."""
    east = cluster("east", {"p": ("l4", 1)})
    small, large = deployment("small", 6, gpus=2), deployment("large", 1, gpus=4)
    planned = plan(fleet(east, small, large, quota(gpus=10)), EMPTY)
    assert dict(planned.fixes) == {"ml/large": None, "ml/small": None}
    missing = next(missing for missing in planned.unplaced if missing.deployment == "ml/large")
    assert fix_step(planned.fixes["ml/large"], missing.reasons) == (
        "Raise its priority or its quota, or lower replicas of others: these take what is added"
    )
