"""What a person does to the simulated cloud by hand: looks, edits and makes it fail."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cloud_double import IDS, create, with_cluster
from rich.console import Console
from small_cloud import l4

from sandbox.gcp import faults
from sandbox.gcp.faults import Faults
from sandbox.gcp.verb import as_values, find_resource, print_cloud, with_field
from sandbox.problem import SandboxProblem


@pytest.mark.parametrize("name", ["system", "nodePools/system", IDS["system"]])
def test_a_resource_is_named_by_its_name_or_the_end_of_its_id(tmp_path: Path, name: str) -> None:
    cloud, _ = with_cluster(tmp_path)
    assert find_resource(cloud.store.read(), name).id == IDS["system"]


@pytest.mark.parametrize("name", ["", "west", "syst"])
def test_a_name_that_no_resource_has_lists_those_that_exist(tmp_path: Path, name: str) -> None:
    cloud, _ = with_cluster(tmp_path)
    with pytest.raises(SandboxProblem, match=r"names 0 resources.*\n") as refused:
        find_resource(cloud.store.read(), name)
    assert IDS["system"] in str(refused.value)


@pytest.mark.parametrize(
    ("field", "value", "inside"),
    [
        ("nodeCount", "3", 3),
        ("nodeConfig.spot", "true", True),
        ("nodeConfig.machineType", "e2-standard-8", "e2-standard-8"),
        ("nodeConfig.labels.team", "a", "a"),
        ("nodeConfig.tags", '["x"]', ["x"]),
    ],
)
def test_a_field_is_set_and_the_rest_is_kept(tmp_path: Path, field: str, value: str, inside: Any) -> None:
    cloud, _ = with_cluster(tmp_path)
    record = cloud.store.read()[IDS["system"]]
    state: Any = with_field(record, field, value)
    assert state["cluster"] == "east"
    for name in field.split("."):
        state = state[name]
    assert state == inside


def test_a_field_that_the_provider_does_not_have_is_refused(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    record = cloud.store.read()[IDS["system"]]
    with pytest.raises(SandboxProblem, match="has no field 'nodes'"):
        with_field(record, "nodes", "3")


def test_faults_add_up_and_clearing_them_keeps_the_pace(tmp_path: Path) -> None:
    assert faults.read(tmp_path) == Faults()
    for changed in (
        faults.with_stockout("us-east5-a", "nvidia-l4"),
        faults.with_quota("us-east5", "nvidia-l4", 8),
        faults.with_conflict("east"),
        faults.with_delay(3),
        lambda old: faults.with_pace(old, grow_after=1, idle_for=2),
    ):
        faults.change(tmp_path, changed)
    assert faults.lines(faults.read(tmp_path)) == [
        "stock-out: us-east5-a nvidia-l4",
        "quota: us-east5 nvidia-l4 at most 8",
        "conflict: cluster east is busy",
        "slow: every operation takes 3 s longer",
        "pools grow after 1 s and shrink after 2 s",
    ]
    assert faults.change(tmp_path, lambda old: old.cleared) == Faults(grow_after=1, idle_for=2)


def test_the_table_shows_nodes_and_what_is_wrong(tmp_path: Path) -> None:
    cloud, _ = with_cluster(tmp_path)
    record = create(cloud, l4())
    cloud.store.change(record.id, status="ERROR", message="nothing left")
    text = StringIO()
    records = cloud.store.read()
    print_cloud(records, Faults(), Console(file=text, width=200))
    lines = [" ".join(line.split()) for line in text.getvalue().splitlines()]
    assert "NodePool acme locations/us-east5/clusters/east/nodePools/l4 ERROR 0 in us-east5-a" in lines
    assert f"{record.id}: nothing left" in lines
    assert [values["id"] for values in as_values(records, Faults())["resources"]] == list(records)
