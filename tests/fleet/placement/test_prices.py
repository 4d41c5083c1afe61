"""Which nodes new replicas prefer by their prices, and what a plan says of prices that do not compare."""

from typing import Any

import pytest
from small_fleet import Document, class_, cluster, deployment, fleet, gke, lock, placed

from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.planning import plan

EMPTY = lock({})
NOT_SLOW = {"matchExpressions": [{"key": "slow", "operator": "DoesNotExist"}]}


def _priced(
    name: str, gpus: int, price: str | None, *, memory: str = "80Gi", currency: str = "USD"
) -> Document:
    known = {"onDemand": price, "currency": currency, "asOf": "2026-04-14", "source": "a list"}
    return class_(name, gpus, memory=memory, **({"price": known} if price else {}))


def _placed(*documents: Document) -> dict[str, int]:
    return placed(plan(fleet(*documents), EMPTY))


@pytest.mark.parametrize(
    ("classes", "goes_to"),
    [
        ([_priced("x", 8, "80"), _priced("y", 8, "16")], "y"),
        # By GPU, not by node.
        ([_priced("x", 4, "8"), _priced("y", 8, "12")], "y"),
        # What has no price comes last, and so has one in a currency that most have not.
        ([_priced("x", 8, None), _priced("y", 8, "99")], "y"),
        ([_priced("x", 8, "1", currency="EUR"), _priced("y", 8, "9"), _priced("z", 8, "9")], "y"),
        # Without prices: small nodes, then little memory, then names.
        ([_priced("x", 8, None), _priced("y", 4, None)], "y"),
        ([_priced("x", 8, None, memory="141Gi"), _priced("y", 8, None)], "y"),
        ([_priced("x", 8, None), _priced("y", 8, None)], "x"),
    ],
)
def test_a_replica_goes_to_the_class_with_the_lowest_price_per_gpu(classes: list[Any], goes_to: str) -> None:
    pools = {document.metadata.name: (document.metadata.name, 1) for document in classes}
    assert _placed(*classes, cluster("east", pools), deployment("a", 1)) == {f"a east/{goes_to}": 1}


def _with_models(**models: str) -> Document:
    """One cluster with a pool of one node for each class, of a capacity model."""
    pools = [
        {"name": name, "className": name, "nodeCount": 1, "capacity": {"model": model}}
        for name, model in models.items()
    ]
    place = {"source": "GKE", "gke": {"project": "acme-ml", "region": "us-east5"}}
    spec = {"cluster": place, "nodePools": pools, "serving": {"gateway": {"className": "any"}}}
    return InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": spec})


@pytest.mark.parametrize(
    ("models", "goes_to"),
    [
        ({"x": "OnDemand", "y": "OnDemand"}, "x"),
        # y costs 24 as Spot, x 40 on demand.
        ({"x": "OnDemand", "y": "Spot"}, "y"),
        # Spot of x is not published, so it counts as on demand.
        ({"x": "Spot", "y": "Spot"}, "y"),
        ({"x": "Spot", "y": "OnDemand"}, "x"),
        # What was agreed for reserved nodes is not known.
        ({"x": "OnDemand", "y": "Reservation"}, "x"),
    ],
)
def test_a_pool_of_spot_capacity_counts_what_that_costs(models: dict[str, str], goes_to: str) -> None:
    price = {"onDemand": "80", "spot": "24", "currency": "USD", "asOf": "2026-04-14", "source": "a list"}
    classes = [_priced("x", 8, "40"), class_("y", 8, price=price)]
    wanted = deployment("a", 1, capacityModels=["OnDemand", "Spot", "Reservation"])
    assert _placed(*classes, _with_models(**models), wanted) == {f"a east/{goes_to}": 1}


def test_a_plan_says_which_nodes_in_use_have_no_price_to_compare() -> None:
    classes = [_priced("x", 8, "40"), _priced("y", 8, None), _priced("z", 8, "1", currency="EUR")]
    east = cluster("east", {"x": ("x", 1), "y": ("y", 1)})

    def said(*documents: Document) -> list[str]:
        made = plan(fleet(*documents), EMPTY)
        return [problem.what for problem in made.problems if problem.severity == "notice"]

    assert said(*classes, east, deployment("a", 1)) == [
        "no price in USD is known for nodes of y: new replicas come there after all nodes with a price, by "
        "their GPUs per node"
    ]
    assert said(*classes, east) == []
    assert said(*classes, cluster("east", {"y": ("y", 1)}), deployment("a", 1)) == []


def _cores(name: str, price: str | None) -> Document:
    """A class without GPUs, whose nodes have 16 cores."""
    known = {"onDemand": price, "currency": "USD", "asOf": "2026-04-14", "source": "a list"}
    return class_(name, 0, cpu="16", devices=[], **({"price": known} if price else {}))


def _on_cores(name: str, replicas: int, cpu: str, **spec: Any) -> Document:
    amounts = {"requests": {"cpu": cpu}}
    return deployment(name, replicas, accelerator="None", resources=amounts, **spec)


def test_on_nodes_without_gpus_the_price_of_cores_counts() -> None:
    """Where replicas end, where they come, and where new ones leave the cheap nodes to larger ones."""
    cheap, dear, cost = _cores("j", "1"), _cores("i", "9"), Settings(stack="test", objective="cost")
    east = cluster("east", {"i": ("i", 4), "j": ("j", 4)})
    documents = fleet(cheap, dear, cost, east, _on_cores("a", 3, "12"))
    assert placed(plan(documents, lock({"a east/i": 2, "a east/j": 3}))) == {"a east/j": 3}
    assert placed(plan(documents, lock({"a east/i": 1}))) == {"a east/i": 1, "a east/j": 2}


def test_on_nodes_without_gpus_new_replicas_change_places_where_all_cost_less() -> None:
    """The first to choose takes the cheap node, which costs twice as much to those that may not go on."""
    classes = _cores("cheap", "1"), _cores("medium", "2"), _cores("dear", "99")
    fast = cluster("east", {"cheap": ("cheap", 1), "dear": ("dear", 1)}, labels={"disk": "fast"})
    slow = cluster("west", {"medium": ("medium", 1)}, labels={"disk": "fast", "slow": "too"})
    every = Settings(stack="test", objective="cost")
    wanted = _on_cores("a", 1, "9"), _on_cores("b", 1, "8", clusterSelector=NOT_SLOW)
    assert placed(plan(fleet(*classes, every, fast, slow, *wanted), EMPTY)) == {
        "a west/medium": 1,
        "b east/cheap": 1,
    }


def test_nodes_without_gpus_whose_cores_have_no_price_come_last_and_are_told() -> None:
    unpriced = [_cores("a-large", None), _cores("b", None), _cores("c", "99")]
    pools = {name: (name, 1) for name in ("a-large", "b", "c")}
    planned = plan(fleet(*unpriced, cluster("east", pools), _on_cores("a", 1, "9")), EMPTY)
    assert placed(planned) == {"a east/c": 1}
    assert [problem.what for problem in planned.problems] == [
        "no price in USD is known for nodes of a-large, b: new replicas come there after all nodes with a "
        "price, by their cores per node"
    ]


def test_a_plan_says_once_per_class_that_its_prices_are_of_another_region_than_its_nodes() -> None:
    price = {
        "onDemand": "8",
        "region": "us-east4",
        "currency": "USD",
        "asOf": "2026-04-14",
        "source": "a list",
    }
    far, near = class_("far", 8, price=price), class_("near", 8, price=price)
    unsaid = _priced("unsaid", 8, "8")
    clusters = [
        gke("a", {"p": ("far", 1), "q": ("far", 1)}, region="us-south1"),
        gke("b", {"p": ("far", 1), "u": ("unsaid", 1)}, region="europe-west4"),
        gke("c", {"p": ("near", 1), "q": ("far", 1)}, region="us-east4"),
        # Where it stands is not known, and its nodes may be anybody's.
        cluster("d", {"p": ("near", 1)}),
    ]
    planned = plan(fleet(far, near, unsaid, *clusters, deployment("a", 1)), EMPTY)
    assert [(problem.key, problem.what, problem.severity) for problem in planned.problems] == [
        (
            "far",
            "prices of class far are those of us-east4, and count for its nodes in europe-west4, us-south1 "
            "too",
            "notice",
        )
    ]


def test_prices_are_compared_in_the_currency_of_most_classes_in_use() -> None:
    """Those of a catalogue that nobody uses outvote no team's own."""
    own = [_priced("x", 8, "40", currency="EUR"), _priced("y", 8, "20", currency="EUR")]
    others = [_priced(f"c{number}", 8, "1") for number in range(5)]
    east = cluster("east", {"x": ("x", 1), "y": ("y", 1)})
    assert _placed(*own, *others, east, deployment("a", 1)) == {"a east/y": 1}
