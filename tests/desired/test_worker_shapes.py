"""Command lines are checked against the workers that the plan makes, or would make, of a topology."""

from dataclasses import replace
from typing import Any

import pytest
from small_fleet import cluster, fleet, spot

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.kinds.plugin_spec import PluginSpec
from inferfleet.api.kinds.settings import Settings
from inferfleet.desired.checks import engine_problems, worker_shapes
from inferfleet.fleet.decisions import Placement, Plan
from inferfleet.fleet.shapes import Shape

NOTHING = Plan()


def _wide(*args: str, **topology: int) -> ModelDeployment:
    container: dict[str, Any] = {"name": "engine", "image": "x", "args": list(args)}
    workers = {"topology": topology, "template": {"spec": {"containers": [container]}}}
    return ModelDeployment.model_validate(
        {"metadata": {"name": "wide", "namespace": "ml"}, "spec": {"replicas": 1, "workers": workers}}
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
    planned = replace(NOTHING, placements=tuple(Placement(spot(place), 1) for place in placed))
    assert worker_shapes(documents, planned)[deployment.metadata.key, "decode"] == wanted


def test_nothing_is_missing_where_a_plugin_writes_it() -> None:
    documents = fleet(cluster("east", {"large": ("h100", 2)}), _wide(tensor=8, pipeline=2))
    without = [problem.what for problem in engine_problems(documents, NOTHING)]
    assert without == [
        "topology.tensor is 8, but --tensor-parallel-size is not among the arguments of the engine",
        "topology.pipeline is 2, but --pipeline-parallel-size is not among the arguments of the engine",
        "a worker has 2 pods, and nothing in the command line joins them",
    ]
    settings = Settings(stack="test", plugins=(PluginSpec(name="engine-args"),))
    assert list(engine_problems(replace(documents, settings=settings), NOTHING)) == []


def test_a_plugin_for_entries_alone_leaves_followers_to_the_document() -> None:
    part = ("-tp=8", "-pp=2", "--nnodes=$(LWS_GROUP_SIZE)", "--master-addr=$(LWS_LEADER_ADDRESS)")
    documents = fleet(cluster("east", {"large": ("h100", 2)}), _wide(*part, tensor=8, pipeline=2))

    def said(*targets: str) -> list[str]:
        plugins = tuple(
            PluginSpec.model_validate({"name": "engine-args", "scope": {"target": target}})
            for target in targets
        )
        settings = Settings(stack="test", plugins=plugins)
        return [problem.what for problem in engine_problems(replace(documents, settings=settings), NOTHING)]

    joins = "the command line joins the pods of a worker and has no"
    missing = [f"{joins} --node-rank", f"{joins} --headless for followers, which serve no requests"]
    assert (said(), said("Entry"), said("Entry", "Worker"), said("All")) == (missing, missing, [], [])
