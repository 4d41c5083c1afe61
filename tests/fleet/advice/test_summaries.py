"""Why replicas have no place, in one line."""

from dataclasses import replace

import pytest
from small_fleet import class_, cluster, deployment, fleet, lock

from inferfleet.fleet.advice.summaries import by_cluster, fix_step, groups, in_short
from inferfleet.fleet.decisions import Fix, MoreNodes, Reason
from inferfleet.fleet.planning import plan

LARGE = "capacity['gpu.nvidia.com/memory'].isGreaterThan(quantity('40Gi'))"


def _short(*documents: object) -> str:
    [missing] = plan(fleet(*documents), lock({})).unplaced
    return in_short(missing.reasons)


def test_clusters_are_counted_by_the_pool_that_is_nearest() -> None:
    prod = {"labels": {"tier": "prod"}}
    clusters = [cluster(f"s{number}", {"l4": ("l4", 9)}, **prod) for number in range(7)]
    clusters += [cluster(f"f{number}", {"l4": ("l4", 9), "h100": ("h100", 1)}, **prod) for number in range(3)]
    clusters += [
        cluster(f"t{number}", {"h100": ("h100", 9)}, labels={"tier": t}) for number, t in enumerate("ab")
    ]
    wanted = deployment("a", 4, gpus=8, selector={"tier": "prod"})
    assert _short(*clusters, wanted) == (
        "0 of 12 clusters have room: 7 have 4 GPUs per node (8 wanted), 3 full, 2 lack tier=prod"
    )


def test_a_pool_with_the_right_accelerators_is_nearer_than_one_without() -> None:
    cores = class_("cores", 0, devices=[])
    pools = {"a": ("cores", 9), "b": ("l4", 9), "c": ("cores", 9), "d": ("cores", 9), "e": ("cores", 9)}
    wanted = deployment("a", 1, topology={"tensor": 2, "data": 4, "dataLocal": 4})
    assert _short(cores, cluster("east", pools), wanted) == (
        "0 of 1 cluster has room: 1 has 4 GPUs per node (8 wanted)"
    )


def test_a_false_selector_is_told_by_its_values() -> None:
    clusters = [cluster(f"c{number}", {"l4": ("l4", 1)}) for number in range(5)]
    clusters.append(cluster("large", {"h100": ("h100", 1)}))
    assert _short(*clusters, deployment("a", 2, gpus=8, cel=f"true && {LARGE}")) == (
        "0 of 6 clusters have room: 5 fail nodeSelector (memory is 24Gi), 1 full"
    )
    assert _short(*clusters, deployment("a", 9, cel=f"true && {LARGE}")) == (
        "0 of 6 clusters have room: 5 fail nodeSelector (memory is 24Gi), 1 full"
    )


def test_a_few_reasons_are_told_as_they_are() -> None:
    assert _short(
        cluster("east", {"l4": ("l4", 1)}),
        cluster("west", {"l4": ("l4", 1)}, state="cordoned"),
        deployment("a", 5),
    ) == (
        "east/l4: 1 of 1 nodes full: 0 free GPUs on the emptiest node, needs 1; "
        "west: cordoned, with 1 node suitable for it"
    )


@pytest.mark.parametrize("most", [80, 120, 300])
def test_what_does_not_fit_is_counted(most: int) -> None:
    reasons = [Reason(f"c{number}", "", f"lacks label {number % 40} {'x' * 30}") for number in range(1000)]
    line = by_cluster(reasons, most)
    assert len(line) <= most
    told = sum(group.clusters for group in groups(reasons) if str(group) in line)
    assert line.endswith(f"{1000 - told:,} for other reasons")


def test_a_fix_is_told_with_its_cost_and_for_whom_it_is() -> None:
    pools = [
        MoreNodes("east", f"p{number}", number + 1, 9, "4.5" if number else "", "USD") for number in range(4)
    ]
    priced_elsewhere = replace(pools[1], price_region="us-east4")
    fixes = (None, Fix((pools[0],)), Fix((priced_elsewhere,)), Fix(tuple(pools), ("ml/b",)))
    assert [fix_step(fix, ()) for fix in fixes] == [
        "Add a pool that suits it, or change what it asks for: no active pool does, however large",
        "Add 1 node to pool east/p0 (its class has no price)",
        "Add 2 nodes to pool east/p1 (4.5 USD an hour in us-east4)",
        "Add 1 node to pool east/p0 (its class has no price) and 2 nodes to pool east/p1 (4.5 USD an hour) "
        "and nodes to 2 more pools (room for 1 other without a place included)",
    ]
