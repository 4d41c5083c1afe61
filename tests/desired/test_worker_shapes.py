"""Engines are checked against the workers that the plan makes, or would make, of a topology."""

import pytest
from small_fleet import cluster, fleet, spot

from inferfleet.desired.problems import worker_shapes
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.demands import declared_demands
from inferfleet.fleet.shapes import Shape


def _wide(**topology: int) -> ModelDeployment:
    return ModelDeployment.model_validate(
        {
            "metadata": {"name": "wide", "namespace": "ml"},
            "spec": {"replicas": 1, "workers": {"topology": topology}},
        }
    )


@pytest.mark.parametrize(
    ("topology", "placed", "wanted"),
    [
        ({"tensor": 8}, (), (Shape(1, 8),)),
        ({"tensor": 16}, (), (Shape(2, 8),)),
        ({"tensor": 8, "pipeline": 2}, (), (Shape(2, 8),)),
        ({"tensor": 8}, ("wide east/small",), (Shape(2, 4),)),
        ({"tensor": 8}, ("wide east/small", "wide east/large"), (Shape(1, 8), Shape(2, 4))),
        ({"tensor": 8}, ("other east/small",), (Shape(1, 8),)),
    ],
)
def test_a_worker_has_the_shape_of_its_place(
    topology: dict[str, int], placed: tuple[str, ...], wanted: tuple[Shape, ...]
) -> None:
    documents = fleet(
        cluster("east", {"small": ("l4", 4), "large": ("h100", 2)}), deployment := _wide(**topology)
    )
    planned = Plan(
        placements=tuple(Placement(spot(place), 1) for place in placed),
        demands=declared_demands(documents),
    )
    assert worker_shapes(documents, planned)[deployment.metadata.key, "decode"] == wanted
