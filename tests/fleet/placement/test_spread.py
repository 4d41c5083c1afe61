"""`spread`: how evenly replicas are spread, over what, and what happens where that cannot be kept."""

import pytest
from small_fleet import Document, cluster, deployment, fleet, gke, lock, placed, role, standing

from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

EMPTY = Lock(stack="test")
REGIONS = [
    gke("a", {"p": ("l4", 4)}, region="us-east5"),
    gke("b", {"p": ("l4", 4)}, region="us-east5"),
    gke("c", {"p": ("l4", 4)}, region="europe-west4"),
]


def over(name: str, mode: str = "Require", skew: int = 1) -> dict[str, object]:
    return {"over": name, "mode": mode, "maxSkew": skew}


def test_replicas_spread_over_regions_before_clusters() -> None:
    model = deployment("m", 4, gpus=4, spread=over("region", "Prefer"))
    assert placed(plan(fleet(*REGIONS, model), EMPTY)) == {"m a/p": 1, "m b/p": 1, "m c/p": 2}


def test_where_one_region_is_full_a_preferred_spread_goes_on_elsewhere() -> None:
    regions = [REGIONS[0], gke("c", {"p": ("l4", 1)}, region="europe-west4")]
    model = deployment("m", 4, gpus=4, spread=over("region", "Prefer"))
    assert placed(plan(fleet(*regions, model), EMPTY)) == {"m a/p": 3, "m c/p": 1}


def test_a_required_spread_leaves_replicas_without_a_place() -> None:
    regions = [REGIONS[0], gke("c", {"p": ("l4", 1)}, region="europe-west4")]
    planned = plan(fleet(*regions, deployment("m", 4, gpus=4, spread=over("region"))), EMPTY)
    assert placed(planned) == {"m a/p": 2, "m c/p": 1}
    assert [
        (unplaced.replicas, [reason.why for reason in unplaced.reasons]) for unplaced in planned.unplaced
    ] == [
        (
            1,
            [
                "region us-east5 has 2 replicas and europe-west4 1: one more makes the skew 2 (maxSkew 1)",
                "1 of 1 nodes full: 0 free GPUs on the emptiest node, needs 4",
            ],
        )
    ]


def test_a_larger_skew_places_more() -> None:
    regions = [REGIONS[0], gke("c", {"p": ("l4", 1)}, region="europe-west4")]
    model = deployment("m", 4, gpus=4, spread=over("region", skew=2))
    assert placed(plan(fleet(*regions, model), EMPTY)) == {"m a/p": 3, "m c/p": 1}


def test_regions_and_sites_of_clusters_that_exist_are_their_labels() -> None:
    region = "topology.kubernetes.io/region"
    clusters = [
        cluster("a", {"p": ("l4", 4)}, labels={region: "eu", "site": "x"}),
        cluster("b", {"p": ("l4", 4)}, labels={region: "eu", "site": "y"}),
        cluster("c", {"p": ("l4", 4)}, labels={region: "us", "site": "y"}),
    ]
    by_region = deployment("m", 4, gpus=4, spread=over("region"))
    by_site = deployment("m", 4, gpus=4, spread=over("site"))
    assert placed(plan(fleet(*clusters, by_region), EMPTY)) == {"m a/p": 1, "m b/p": 1, "m c/p": 2}
    assert placed(plan(fleet(*clusters, by_site), EMPTY)) == {"m a/p": 2, "m b/p": 1, "m c/p": 1}


def test_zones_are_those_of_pools_and_a_pool_of_several_is_in_none() -> None:
    zones = {"p": ["us-east5-a"], "q": ["us-east5-b"], "r": ["us-east5-a", "us-east5-b"]}
    pools = dict.fromkeys(zones, ("l4", 2))
    model = deployment("m", 4, gpus=4, spread=over("zone"))
    planned = plan(fleet(gke("a", pools, zones=zones), model), EMPTY)
    assert placed(planned) == {"m a/p": 2, "m a/q": 2}
    assert {reason.pool: reason.why for reason in planned.reasons["ml/m"]} == {
        "r": "is in no zone that is known, and replicas spread over it (spread.over)"
    }


def test_replicas_that_run_never_move_for_a_spread_and_the_plan_says_so() -> None:
    model = deployment("m", 3, gpus=4, spread=over("region"))
    planned = plan(fleet(*REGIONS, model), lock({"m a/p": 3}))
    assert planned.changes == ()
    assert [str(problem) for problem in planned.problems] == [
        "spec.spread: region us-east5 has 3 replicas and europe-west4 0, which is a skew of more than 1; "
        "replicas that run stay where they are. To spread them, lower replicas and raise it again: those end "
        "first where most of them are"
    ]


def test_surplus_replicas_end_where_most_are_of_what_they_spread_over() -> None:
    model = deployment("m", 3, gpus=4, spread=over("region"))
    planned = plan(fleet(*REGIONS, model), lock({"m a/p": 1, "m b/p": 1, "m c/p": 2}))
    assert placed(planned) == {"m a/p": 1, "m b/p": 1, "m c/p": 1}
    crowded = plan(fleet(*REGIONS, model), lock({"m a/p": 2, "m b/p": 1, "m c/p": 1}))
    assert placed(crowded) == {"m a/p": 1, "m b/p": 1, "m c/p": 1}


def test_a_region_that_takes_no_replicas_does_not_count() -> None:
    clusters = [
        cluster("a", {"p": ("l4", 4)}, labels={"site": "x"}),
        cluster("b", {"p": ("l4", 4)}, labels={"site": "y"}, state="cordoned"),
        cluster("c", {"p": ("h100", 0)}, labels={"site": "z"}),
    ]
    model = deployment("m", 3, gpus=4, spread=over("site"))
    assert placed(plan(fleet(*clusters, model), EMPTY)) == {"m a/p": 3}


def test_replicas_with_prefill_apart_spread_too() -> None:
    clusters: list[Document] = [
        gke(name, {"p": ("l4", 4)}, region=where)
        for name, where in (("a", "us-east5"), ("c", "europe-west4"))
    ]
    model = deployment("m", 3, gpus=4, prefill=role(4), spread=over("region"))
    planned = plan(fleet(*clusters, model), EMPTY)
    assert sorted(standing(planned).values()) == [1, 2]


@pytest.mark.parametrize("name", ["region", "zone", "example.com/site"])
def test_a_spread_over_what_no_pool_has_is_refused(name: str) -> None:
    planned = plan(fleet(cluster("a", {"p": ("l4", 4)}), deployment("m", 1, spread=over(name))), EMPTY)
    what = name if name in ("region", "zone") else f"label {name}"
    assert [(problem.path, problem.what) for problem in planned.problems] == [
        (
            "spec.spread.over",
            f"spread.over is {name}, and no pool of the clusters that clusterSelector matches has a {what} "
            "that is known",
        )
    ]
