"""The nodes of a pool are brought to what its record says: kept, relabelled, made or replaced."""

import json
from pathlib import Path
from typing import Any

import pytest
from cloud_double import IDS, with_cluster

from sandbox.gcp.nodes.node_changes import LABELS, annotated, kept_and_new, relabelled
from sandbox.gcp.nodes.pool_nodes import pool_node
from sandbox.gcp.store import Record

A, B = "us-east5-a", "us-east5-b"


@pytest.fixture
def pool(tmp_path: Path) -> Record:
    """A CPU pool with two nodes in zone a."""
    return with_cluster(tmp_path)[0].store.read()[IDS["system"]].but(zones={A: 2})


def _node(pool: Record, zone: str, age: int = 0) -> dict[str, Any]:
    node = annotated(pool_node(pool, zone), pool, zone)
    node["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:0{age}Z"
    return node


def _config(pool: Record, **changes: Any) -> Record:
    return pool.but(state={**pool.state, "nodeConfig": {**pool.state["nodeConfig"], **changes}})


def test_nodes_that_fit_stay_and_those_that_lack_are_made(pool: Record) -> None:
    nodes = [_node(pool, A), _node(pool, B)]
    kept, new = kept_and_new(nodes, pool, ())
    assert kept == [nodes[0]]
    assert [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in new] == [A]


def test_of_too_many_nodes_those_named_go_first_and_then_the_youngest(pool: Record) -> None:
    old, middle, young = (_node(pool, A, age) for age in (1, 2, 3))
    assert kept_and_new([young, middle, old], pool, ()) == ([old, middle], [])
    assert kept_and_new([young, middle, old], pool, (old["metadata"]["name"],)) == ([middle, young], [])


@pytest.mark.parametrize(
    "change",
    [
        {"machineType": "e2-standard-8"},
        {"bootDisk": {"sizeGb": 300}},
        {"gcfsConfig": {"enabled": True}},
        {"resourceLabels": {"team": "ml"}},
    ],
)
def test_what_machines_are_made_with_makes_new_nodes_and_another_label_does_not(
    pool: Record, change: dict[str, Any]
) -> None:
    nodes = [_node(pool, A, 1), _node(pool, A, 2)]
    kept, new = kept_and_new(nodes, _config(pool, **change), ())
    assert (kept, len(new)) == ([], 2)
    assert kept_and_new(nodes, _config(pool, labels={"a": "b"}), ()) == (nodes, [])


def test_labels_that_are_no_more_wanted_are_taken_from_nodes(pool: Record) -> None:
    labelled = _config(pool, labels={"old": "x", "same": "y"})
    nodes = [_node(labelled, A)]
    wanted = _config(pool, labels={"same": "z", "new": "w"})
    [(names, patch)] = relabelled(nodes, wanted)
    assert names == [nodes[0]["metadata"]["name"]]
    changed = {key: patch["metadata"]["labels"][key] for key in ("old", "same", "new")}
    assert changed == {"old": None, "same": "z", "new": "w"}
    assert json.loads(patch["metadata"]["annotations"][LABELS])[1] == patch["spec"]["taints"]
    merged = {**nodes[0]["metadata"], "annotations": patch["metadata"]["annotations"]}
    assert relabelled([{**nodes[0], "metadata": merged}], wanted) == []
