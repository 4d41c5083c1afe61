"""Clusters are not built again under a state that speaks of objects on them."""

import json
from pathlib import Path

import pytest

from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.pulumi_state import resources_of


def _write_state(places: StackPlaces, text: str) -> None:
    file = places.state / ".pulumi" / "stacks" / "inferfleet" / f"{places.stack}.json"
    file.parent.mkdir(parents=True)
    file.write_text(text)


def test_resources_belong_to_the_cluster_their_pulumi_name_begins_with(tmp_path: Path) -> None:
    places = StackPlaces(tmp_path, "local")
    names = ("inferfleet-local", "east", "east/ml/a", "east-2/ml/a", "west")
    resources = [{"urn": f"urn:pulumi:local::inferfleet::type::{name}"} for name in names]
    _write_state(places, json.dumps({"checkpoint": {"latest": {"resources": resources}}}))
    assert {cluster: resources_of(places, cluster) for cluster in ("east", "west", "north")} == {
        "east": 2,
        "west": 1,
        "north": 0,
    }


def test_a_cluster_that_the_cloud_made_is_no_loss_to_one_that_takes_its_name(tmp_path: Path) -> None:
    places = StackPlaces(tmp_path, "local")
    cluster = "inferfleet:components:Fleet$inferfleet:components:GkeCluster::east"
    urns = (cluster, "kubernetes:core/v1:Namespace::east/ml")
    resources = [{"urn": f"urn:pulumi:local::inferfleet::{urn}"} for urn in urns]
    _write_state(places, json.dumps({"checkpoint": {"latest": {"resources": resources}}}))
    assert resources_of(places, "east") == 0


def test_a_stack_without_state_or_resources_holds_nothing(tmp_path: Path) -> None:
    places = StackPlaces(tmp_path, "local")
    assert resources_of(places, "east") == 0
    _write_state(places, '{"checkpoint": {"latest": null}}')
    assert resources_of(places, "east") == 0


def test_a_damaged_state_is_named_with_the_way_out(tmp_path: Path) -> None:
    places = StackPlaces(tmp_path, "local")
    _write_state(places, "{")
    with pytest.raises(SandboxProblem, match=r"is damaged .* Run `inferfleet sandbox down`"):
        resources_of(places, "east")
