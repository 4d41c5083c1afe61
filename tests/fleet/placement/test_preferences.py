"""`prefer`, `capacityModels`, `onDemandReplicas` and the objective of a stack."""

from dataclasses import replace

import pytest
from small_fleet import class_, cluster, deployment, fleet, gke, lock, placed

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

EMPTY = Lock(stack="test")
MIXED = gke("a", {"calm": ("l4", 3), "spot": ("l4", 3)}, models={"spot": "Spot"})
BOTH = ["OnDemand", "Spot"]


def test_new_replicas_run_on_spot_only_where_the_deployment_says_so() -> None:
    planned = plan(fleet(MIXED, deployment("m", 4, gpus=4)), EMPTY)
    assert placed(planned) == {"m a/calm": 3}
    assert [reason.why for reason in planned.unplaced[0].reasons] == [
        "3 of 3 nodes full: 0 free GPUs on the emptiest node, needs 4",
        "capacity model Spot, which capacityModels does not name",
    ]
    asked = plan(fleet(MIXED, deployment("m", 4, gpus=4, capacityModels=BOTH)), EMPTY)
    assert (sum(placed(asked).values()), asked.unplaced) == (4, ())


def test_pools_of_clusters_that_exist_are_bought_as_their_documents_say() -> None:
    models = {"kept": "Reservation", "spot": "Spot"}
    east = cluster("a", {"kept": ("l4", 1), "spot": ("l4", 3)}, models=models)
    planned = plan(fleet(east, deployment("m", 2, gpus=4)), EMPTY)
    assert placed(planned) == {"m a/kept": 1}
    assert [reason.why for reason in planned.unplaced[0].reasons] == [
        "1 of 1 nodes full: 0 free GPUs on the emptiest node, needs 4",
        "capacity model Spot, which capacityModels does not name",
    ]
    spot_first = [{"capacityModels": ["Spot"]}]
    model = deployment("m", 3, gpus=4, capacityModels=["Spot", "Reservation"], prefer=spot_first)
    assert placed(plan(fleet(east, model), EMPTY)) == {"m a/spot": 3}
    one_stays = model.spec.model_copy(update={"on_demand_replicas": 1})
    model = model.model_copy(update={"spec": one_stays})
    assert placed(plan(fleet(east, model), EMPTY)) == {"m a/kept": 1, "m a/spot": 2}


def test_replicas_that_run_on_spot_stay() -> None:
    planned = plan(fleet(MIXED, deployment("m", 3, gpus=4)), lock({"m a/spot": 2}))
    assert placed(planned) == {"m a/calm": 1, "m a/spot": 2}
    assert [change.spot.place for change in planned.changes] == ["a/calm"]
    assert planned.problems == ()
    fewer = plan(fleet(MIXED, deployment("m", 1, gpus=4)), lock({"m a/spot": 1, "m a/calm": 1}))
    assert placed(fewer) == {"m a/calm": 1}


def test_pools_are_selected_by_the_labels_of_their_nodes() -> None:
    there = cluster("a", {"p": ("l4", 2), "q": ("l4", 2)})
    pools = [pool.model_copy(update={"node_selector": {"rack": pool.name}}) for pool in there.spec.node_pools]
    racks = there.model_copy(update={"spec": there.spec.model_copy(update={"node_pools": tuple(pools)})})
    only = {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["q"]}]}
    planned = plan(fleet(racks, deployment("m", 3, gpus=4, poolSelector=only)), EMPTY)
    assert placed(planned) == {"m a/q": 2}
    assert [reason.why for reason in planned.unplaced[0].reasons] == [
        "label rack=p of the pool, needs rack in (q)",
        "2 of 2 nodes full: 0 free GPUs on the emptiest node, needs 4",
    ]
    nowhere = plan(fleet(racks, deployment("m", 1, poolSelector={"matchLabels": {"rack": "r"}})), EMPTY)
    assert [(problem.path, problem.what, problem.next_step) for problem in nowhere.problems] == [
        (
            "spec.poolSelector",
            "poolSelector rack=r matches no pool of the clusters that clusterSelector matches",
            "Use labels that their pools have (rack=p, rack=q)",
        )
    ]


def test_the_first_preference_with_room_wins_whatever_it_costs() -> None:
    price = {"onDemand": "9", "currency": "USD", "asOf": "2026-01-01", "source": "test"}
    dear = class_("dear", 4, price=price)
    cheap = class_("cheap", 4, price=price | {"onDemand": "1"})
    near = cluster("near", {"p": ("dear", 1), "q": ("cheap", 1)}, labels={"site": "here"})
    far = cluster("far", {"p": ("cheap", 4)})
    prefer = [{"clusterSelector": {"matchLabels": {"site": "here"}}, "pools": ["p"]}, {"pools": ["q"]}]
    model = deployment("m", 3, gpus=4, prefer=prefer)
    planned = plan(fleet(dear, cheap, near, far, model), EMPTY)
    assert placed(planned) == {"m far/p": 1, "m near/p": 1, "m near/q": 1}


def test_capacity_models_are_preferred_in_order() -> None:
    pools = gke(
        "a",
        {"first": ("l4", 1), "last": ("l4", 1), "spot": ("l4", 1)},
        models={"last": "Reservation", "spot": "Spot"},
    )
    prefer = [{"capacityModels": ["Reservation"]}, {"capacityModels": ["Spot"]}]
    allowed = [*BOTH, "Reservation"]
    first = deployment("m", 1, gpus=4, prefer=prefer, capacityModels=allowed)
    second = deployment("m", 2, gpus=4, prefer=prefer, capacityModels=allowed)
    assert placed(plan(fleet(pools, first), EMPTY)) == {"m a/last": 1}
    assert placed(plan(fleet(pools, second), EMPTY)) == {"m a/last": 1, "m a/spot": 1}


def test_a_required_spread_comes_before_a_preference_and_a_preferred_one_after_it() -> None:
    clusters = [
        gke("a", {"p": ("l4", 4)}),
        gke("b", {"p": ("l4", 4)}, region="europe-west4", labels={"t": "1"}),
    ]
    prefer = [{"clusterSelector": {"matchExpressions": [{"key": "t", "operator": "Exists"}]}}]

    def with_(mode: str) -> dict[str, int]:
        model = deployment("m", 3, gpus=4, prefer=prefer, spread={"over": "region", "mode": mode})
        return placed(plan(fleet(*clusters, model), EMPTY))

    assert with_("Prefer") == {"m b/p": 3}
    assert with_("Require") == {"m a/p": 1, "m b/p": 2}


def test_a_number_of_replicas_runs_on_nodes_that_stay() -> None:
    spot_first = [{"capacityModels": ["Spot"]}]
    model = deployment("m", 5, gpus=4, capacityModels=BOTH, prefer=spot_first, onDemandReplicas=3)
    assert placed(plan(fleet(MIXED, model), EMPTY)) == {"m a/calm": 3, "m a/spot": 2}
    more = deployment("m", 5, gpus=4, capacityModels=BOTH, prefer=spot_first, onDemandReplicas=4)
    planned = plan(fleet(MIXED, more), EMPTY)
    assert placed(planned) == {"m a/calm": 3, "m a/spot": 1}
    assert [reason.why for reason in planned.unplaced[0].reasons] == [
        "3 of 3 nodes full: 0 free GPUs on the emptiest node, needs 4",
        "capacity model Spot: at most 1 replica may be on others than OnDemand and Reservation "
        "(onDemandReplicas)",
    ]


def test_replicas_on_spot_end_first_where_too_few_others_would_stay() -> None:
    model = deployment("m", 3, gpus=4, capacityModels=BOTH, onDemandReplicas=2)
    planned = plan(fleet(MIXED, model), lock({"m a/calm": 3, "m a/spot": 2}))
    assert placed(planned) == {"m a/calm": 2, "m a/spot": 1}


def test_a_floor_that_running_replicas_do_not_meet_moves_none() -> None:
    model = deployment("m", 2, gpus=4, capacityModels=BOTH, onDemandReplicas=2)
    planned = plan(fleet(MIXED, model), lock({"m a/spot": 2}))
    assert planned.changes == ()
    assert [(problem.severity, problem.path) for problem in planned.problems] == [
        ("warning", "spec.onDemandReplicas")
    ]


def test_what_names_nothing_is_told_with_its_field() -> None:
    model = deployment("m", 1, prefer=[{"pools": ["calm"]}, {"pools": ["gone"]}])
    none = deployment("n", 1, capacityModels=["Queued"])
    problems = plan(fleet(MIXED, model, none), EMPTY).problems
    assert [(problem.severity, problem.path, problem.what) for problem in problems] == [
        (
            "error",
            "spec.capacityModels",
            "capacityModels allow Queued, and the pools of the clusters that clusterSelector matches are "
            "OnDemand, Spot",
        ),
        ("warning", "spec.prefer[1]", "no pool of the fleet is what this preference names"),
    ]


def _stack(objective: str) -> Documents:
    price = {"onDemand": "1", "currency": "USD", "asOf": "2026-01-01", "source": "test"}
    cheap, dear = class_("cheap", 4, price=price), class_("dear", 4, price=price | {"onDemand": "2"})
    a = cluster("a", {"p": ("cheap", 4)})
    b = cluster("b", {"p": ("dear", 4)})
    c = cluster("c", {"p": ("cheap", 4)})
    documents = fleet(cheap, dear, a, b, c, deployment("m", 4, gpus=2))
    settings = Settings.model_validate({"stack": "test", "objective": objective})
    return replace(documents, settings=settings)


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        ("balance", {"m a/p": 2, "m b/p": 1, "m c/p": 1}),
        ("cost", {"m a/p": 2, "m c/p": 2}),
        ("pack", {"m a/p": 4}),
    ],
)
def test_the_objective_says_what_counts_first(objective: str, expected: dict[str, int]) -> None:
    documents = _stack(objective)
    first = plan(documents, EMPTY)
    assert placed(first) == expected
    assert plan(documents, first.lock).changes == ()


def test_with_objective_pack_nodes_in_use_are_filled_before_others_are_started() -> None:
    documents = fleet(
        cluster("a", {"p": ("l4", 2)}),
        cluster("b", {"p": ("l4", 2)}),
        deployment("m", 2, gpus=2),
        deployment("n", 2),
    )
    packed = replace(documents, settings=Settings.model_validate({"stack": "test", "objective": "pack"}))
    planned = plan(packed, lock({"m b/p": 1}))
    assert placed(planned) == {"m b/p": 2, "n a/p": 2}


def test_with_objective_cost_the_dearest_replicas_end_first() -> None:
    documents = _stack("cost")
    planned = plan(
        replace(documents, deployments={"ml/m": deployment("m", 2, gpus=2)}), lock({"m a/p": 2, "m b/p": 1})
    )
    assert placed(planned) == {"m a/p": 2}
