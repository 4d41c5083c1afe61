"""Replicas of several roles and workers of several pods, as `plan` and `explain` show them."""

from typing import Any

import pytest

from inferfleet.cli.show import plan as plan_tables
from inferfleet.cli.verbs import explain
from inferfleet.cli.verbs.explain import as_values
from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.advice.summaries import change_lines
from inferfleet.fleet.decisions import Change
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan
from inferfleet.fleet.spot import Spot

DEVICES = [
    {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": 8},
    {"name": "nic", "driver": "dra.net", "claim": "Synthetic", "count": 8},
]
POD = {"spec": {"containers": [{"name": "engine", "image": "engine:1"}]}}


def _documents(topology: dict[str, int], plugins: tuple[dict[str, Any], ...] = ()) -> Documents:
    node = {"cpu": "200", "memory": "1Ti"}
    node_class = {"metadata": {"name": "h100"}, "spec": {"node": node, "devices": DEVICES}}
    cluster = {
        "cluster": {"source": "Existing", "existing": {"kubeconfig": {"path": "kubeconfig"}}},
        "nodePools": [{"name": "h100", "className": "h100", "nodeCount": 8}],
        "serving": {"gateway": {"className": "istio"}},
    }
    encoder = {"workers": {"count": 2, "topology": {"tensor": 1}, "template": POD}}
    spec = {
        "replicas": 2,
        "rollout": "Surge",
        "workers": {"topology": topology, "template": POD},
        "roles": {"encode": encoder},
        "plugins": plugins,
    }
    return Documents(
        Settings(stack="prod"),
        {"h100": InferenceClass.model_validate(node_class)},
        {"east": InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": cluster})},
        {
            "ml/a": ModelDeployment.model_validate(
                {"metadata": {"name": "a", "namespace": "ml"}, "spec": spec}
            )
        },
    )


def _desired(documents: Documents) -> Desired:
    return Desired("prod", (), plan(documents, Lock(stack="prod")), frozenset(), ())


def test_a_plan_counts_pods_where_workers_have_several(capsys: pytest.CaptureFixture[str]) -> None:
    planned = _desired(_documents({"tensor": 8, "pipeline": 2}))
    plan_tables.show(planned, remembered=False)
    assert capsys.readouterr().out == (
        "placements\n"
        "deployment  cluster  pools                    replicas  GPUs  pods in all\n"
        "ml/a        east     decode=h100 encode=h100         2    36            8\n"
    )
    (placement,) = plan_tables.as_values(planned)["placements"]
    assert placement == {
        "deployment": "ml/a",
        "cluster": "east",
        "pools": {"decode": "h100", "encode": "h100"},
        "replicas": 2,
        "gpus": 36,
        "pods": 8,
    }


def test_an_explanation_tells_what_plugins_did_to_followers(capsys: pytest.CaptureFixture[str]) -> None:
    tweaks = {"name": "demo-pod-tweaks", "config": {"annotations": {"a": "b"}}}
    of_followers = tweaks | {"config": {"annotations": {"c": "d"}}, "scope": {"target": "Worker"}}
    documents = _documents({"tensor": 8, "pipeline": 2}, (tweaks, of_followers))
    lock = Lock(stack="prod")
    told = explain.explanation("ml/a", documents, lock, desired(documents, lock))
    explain.show(told)
    (decode, _) = as_values(told)["placements"][0]["roles"]
    assert [step["effect"] for step in decode["plugins"]] == ["changed", "out of scope"]
    assert [step["effect"] for step in decode["followerPlugins"]] == ["changed", "changed"]
    said = capsys.readouterr().out.partition("role decode, followers: ")[2].partition("\n\n")[0]
    assert said == (
        "plugin demo-pod-tweaks 1.0.0 (deployment chain, spec.plugins[1])\n"
        '  metadata.annotations.c: "d" (new)'
    )


def test_an_explanation_tells_one_reason_once(capsys: pytest.CaptureFixture[str]) -> None:
    documents = _documents({"tensor": 8, "pipeline": 16})
    explain.show(explain.explanation("ml/a", documents, Lock(stack="prod"), _desired(documents)))
    assert capsys.readouterr().out.partition("kept free")[2].partition("\n\n")[2] == (
        "2 without a place\n"
        "cluster  pool  why not\n"
        "east     h100  decode: room for one pod (8 GPUs) on 8 of 8 nodes, needs 16: one for each "
        "pod of a worker; encode: has room\n"
        "0 of 1 cluster has room: 1 lacks room for workers of 16 pods for role decode\n"
        "smallest fix: Add 41 nodes to pool east/h100 (its class has no price)\n"
        "  east/h100: 8 -> 49 nodes, its class has no price\n"
        "\n"
        "reached under /ml/deployments/a/\n"
        "services that select it: none\n"
    )


def _spot(cluster: str = "east", **pools: str) -> Spot:
    return Spot("ml/a", cluster, tuple(pools.items()))


TOGETHER = _spot(decode="h100", encode="h100")


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (
            [
                Change(_spot(decode="h100", encode="l4"), 3, 0),
                Change(TOGETHER, 0, 2),
                Change(_spot("west", decode="h100", encode="l4"), 0, 1),
            ],
            [
                "ml/a: east decode=h100 encode=h100 0 -> 2, east decode=h100 encode=l4 3 -> 0, "
                "west decode=h100 encode=l4 0 -> 1",
                "  2 replicas: decode stays on east/h100; encode moves from east/l4 to east/h100",
                "  1 replica: decode moves from east/h100 to west/h100; encode moves from east/l4 to west/l4",
            ],
        ),
        (
            [Change(_spot(decode="h100"), 1, 0), Change(TOGETHER, 0, 1)],
            [
                "ml/a: east/h100 1 -> 0, east decode=h100 encode=h100 0 -> 1",
                "  1 replica: decode stays on east/h100; encode starts on east/h100",
            ],
        ),
        (
            [Change(_spot(decode="h100"), 0, 1), Change(TOGETHER, 1, 0)],
            [
                "ml/a: east/h100 0 -> 1, east decode=h100 encode=h100 1 -> 0",
                "  1 replica: decode stays on east/h100; encode ends on east/h100",
            ],
        ),
        ([Change(TOGETHER, 1, 3)], ["ml/a: east decode=h100 encode=h100 1 -> 3"]),
        (
            [Change(_spot(decode="l4"), 1, 0), Change(_spot("west", decode="l4"), 0, 1)],
            ["ml/a: east/l4 1 -> 0, west/l4 0 -> 1"],
        ),
    ],
)
def test_moves_are_told_role_by_role_where_replicas_have_several(
    changes: list[Change], lines: list[str]
) -> None:
    assert list(change_lines(changes, {})) == lines


def test_why_replicas_leave_a_spot_stands_below_the_change() -> None:
    changes = [Change(_spot(decode="l4"), 1, 0), Change(_spot("west", decode="l4"), 0, 1)]
    assert list(change_lines(changes, {_spot(decode="l4"): "drained"})) == [
        "ml/a: east/l4 1 -> 0, west/l4 0 -> 1",
        "  leaves east/l4: drained",
    ]


def test_an_explanation_has_the_shape_of_each_role(capsys: pytest.CaptureFixture[str]) -> None:
    documents = _documents({"tensor": 16})
    told = explain.explanation("ml/a", documents, Lock(stack="prod"), _desired(documents))
    explain.show(told)
    assert capsys.readouterr().out == (
        "ml/a: 2 of 2 replicas placed\n"
        "\n"
        "role decode\n"
        "GPUs per pod       16 = tensor 16 x dataLocal 1\n"
        "pods per worker     1 = pipeline 1 x data 1 / dataLocal 1\n"
        "pods per replica    1 = 1 per worker x 1 worker\n"
        "GPUs per replica   16 = 1 x 16\n"
        "on nodes of 8 GPUs, 2 pods per worker, each with 8 GPUs\n"
        "kept free           1 pods per placement, for a new one beside an old one\n"
        "role encode\n"
        "GPUs per pod        1 = tensor 1 x dataLocal 1\n"
        "pods per worker     1 = pipeline 1 x data 1 / dataLocal 1\n"
        "pods per replica    2 = 1 per worker x 2 workers\n"
        "GPUs per replica    2 = 2 x 1\n"
        "kept free           1 pods per placement, for a new one beside an old one\n"
        "\n"
        "placements\n"
        "cluster  pools                    replicas  in the lock  GPUs  class  waits at most\n"
        "east     decode=h100 encode=h100         2            0    36  h100\n"
        "\n"
        "reached under /ml/deployments/a/\n"
        "services that select it: none\n"
    )
    values = as_values(told)
    assert values["roles"]["decode"]["acrossNodes"] == [{"nodeGpus": 8, "podsPerWorker": 2, "gpusPerPod": 8}]
    assert values["roles"]["encode"] == {
        "gpusPerPod": 1,
        "podsPerWorker": 1,
        "workersPerReplica": 2,
        "gpusPerReplica": 2,
        "sparePodsPerPlacement": 1,
        "acrossNodes": [],
    }
    (placed,) = values["placements"]
    assert [(role["role"], role["pods"], role["gpus"]) for role in placed["roles"]] == [
        ("decode", 4, 32),
        ("encode", 4, 4),
    ]
