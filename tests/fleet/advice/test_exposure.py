"""What a plan names as exposed: it does not answer while one node is drained, replaced or lost."""

from small_fleet import deployment, fleet, spot

from inferfleet.fleet.advice.exposure import exposures, one_picker
from inferfleet.fleet.decisions import Placement

JUDGE = {
    "workers": {
        "count": 2,
        "topology": {"tensor": 1},
        "template": {"spec": {"containers": [{"name": "engine", "image": "engine:1"}]}},
    }
}


def _lines(*placements: Placement, **fields: object) -> list[str]:
    documents = fleet(deployment("a", 4, **fields))  # type: ignore[arg-type]
    return [str(role) for role in exposures(documents, placements)]


def test_one_replica_on_a_cluster_is_exposed_there() -> None:
    """Replicas on other clusters do not answer for it: each gateway leads to those of its own cluster."""
    placements = Placement(spot("a east/h100"), 1), Placement(spot("a west/h100"), 2)
    assert _lines(*placements) == ["ml/a on east: one replica"]


def test_one_replica_on_each_of_two_pools_of_a_cluster_is_not_exposed() -> None:
    assert _lines(Placement(spot("a east/h100"), 1), Placement(spot("a east/l4"), 1)) == []


def test_a_range_counts_by_the_fewest_that_its_scaler_keeps() -> None:
    assert _lines(Placement(spot("a east/h100"), 4, 1)) == ["ml/a on east: one replica when scaled down"]
    assert _lines(Placement(spot("a east/h100"), 4, 2)) == []


def test_a_role_with_one_worker_is_named_where_others_have_more() -> None:
    one = Placement(spot("a east/h100"), 1)
    assert _lines(one, roles={"judge": JUDGE}) == ["ml/a on east: one worker of role decode"]
    assert _lines(one, workers=2, roles={"judge": JUDGE}) == []


def test_what_has_no_document_any_more_is_left_out() -> None:
    assert _lines(Placement(spot("b east/h100"), 1)) == []


def _pickers(*pickers: dict[str, object]) -> str:
    names = [f"m{number}" for number in range(len(pickers))]
    documents = fleet(
        *(deployment(name, 1, endpointPicker=picker) for name, picker in zip(names, pickers, strict=True))
    )
    placements = [Placement(spot(f"{name} east/h100"), 2) for name in names]
    return str(one_picker(documents, placements) or "")


def test_few_deployments_with_one_picker_are_named_and_many_are_counted() -> None:
    alone: dict[str, object] = {"replicas": 1}
    several: dict[str, object] = {"replicas": 2}
    assert _pickers(alone) == "ml/m0: one endpoint picker, until another runs"
    assert _pickers(alone, several, alone) == "ml/m0 and ml/m2: one endpoint picker each, until another runs"
    assert _pickers(*[alone] * 4) == "all 4 deployments: one endpoint picker each, until another runs"
    counted = "4 of 5 deployments: one endpoint picker each, until another runs"
    assert _pickers(*[alone] * 4, several) == counted


def test_a_gateway_that_chooses_pods_itself_needs_no_picker() -> None:
    assert _pickers({"failureMode": "FailOpen"}, {"replicas": 2}) == ""
