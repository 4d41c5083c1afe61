"""Plugins in chains of deployments whose prefill is apart: what they change rolls, and is no new set."""

from typing import Any

import pytest
from small_stack import cluster, deployment, made

PATCHES = {
    "image": {"op": "replace", "path": "/spec/containers/0/image", "value": "other:2"},
    "args": {"op": "add", "path": "/spec/containers/0/args/-", "value": "--block-size=64"},
    "env": {"op": "add", "path": "/spec/containers/0/env/-", "value": {"name": "A", "value": "1"}},
}


def _workloads(*plugins: dict[str, Any]) -> dict[str, Any]:
    """Pod templates of both roles, by the names of their Deployments."""
    pair = deployment(
        "m",
        engine={"image": None},
        declared={"model": "m", "image": "engine:1"},
        prefill={"workers": {"topology": {"tensor": 1}}},
        plugins=list(plugins),
    )
    return {
        workload.kubernetes_name: workload.manifest["spec"]["template"]
        for of in made(cluster("east"), pair).clusters
        for component in of.components
        if component.kind == "ModelReplicas"
        for workload in component.objects
        if workload.kind == "Deployment"
    }


@pytest.mark.parametrize("part", list(PATCHES))
def test_what_a_plugin_changes_rolls_under_the_same_names(part: str) -> None:
    before = _workloads()
    after = _workloads({"name": "json-patch", "config": {"operations": [PATCHES[part]]}})
    assert list(after) == list(before)
    assert [name for name in before if after[name] == before[name]] == []
