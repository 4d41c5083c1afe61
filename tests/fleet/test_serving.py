"""Services: which endpoints share the traffic on a cluster, and in which integers."""

from dataclasses import replace
from typing import Any

import pytest
from small_fleet import cluster, deployment, fleet, lock, service

from inferfleet.documents.problems import Where, of_severity
from inferfleet.fleet.planning import plan

EAST = cluster("east", {"l4": ("l4", 2)}, labels={"region": "east"})
ONLY_WEST = {"selector": {"region": "west"}}


@pytest.mark.parametrize(
    ("replicas", "other", "selects", "is_refused"),
    [
        (0, {}, {}, True),
        # No L4 has so many GPUs.
        (1, {"gpus": 8}, {}, True),
        (1, ONLY_WEST, {}, True),
        (1, ONLY_WEST, {"region": "east"}, False),
    ],
    ids=["without replicas", "without a place", "on another cluster", "never selected"],
)
def test_a_service_has_one_model_name_wherever_its_deployments_are_placed(
    replicas: int, other: dict[str, Any], selects: dict[str, str], is_refused: bool
) -> None:
    documents = fleet(
        *(cluster(name, {"l4": ("l4", 4)}, labels={"region": name}) for name in ("east", "west")),
        deployment("a", 1, selector={"region": "east"}, engine={"servedNames": ["chat"]}),
        deployment("b", replicas, engine={"servedNames": ["other"]}, **other),
        service("s", (1, selects)),
    )
    told = [one.what for one in plan(documents, lock({})).problems if "served name in common" in one.what]
    assert [what.partition(": ")[2] for what in told] == ["ml/a has chat; ml/b has other"] * is_refused


def test_the_lines_are_named_that_declare_other_names() -> None:
    models = [
        deployment("a", 1, engine={"servedNames": ["chat"]}),
        deployment("b", 1, engine={"servedNames": [], "model": "m"}),
    ]
    lines = {
        ("ModelDeployment", "ml/a"): {"spec.engine.servedNames": Where("models.yaml", 7)},
        ("ModelDeployment", "ml/b"): {"spec.engine.model": Where("models.yaml", 19)},
    }
    documents = replace(fleet(EAST, *models, service("chat", (1, {}))), positions=lines)
    [problem] = of_severity(plan(documents, lock({})).problems, "error")
    assert problem.what.endswith("ml/a (models.yaml:7) has chat; ml/b (models.yaml:19) has m")
    assert problem.next_step == (
        "Declare one name for all of them in engine.servedNames, which restarts their pods, also those with "
        "a command of your own; or write a service for each"
    )
