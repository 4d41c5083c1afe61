"""What a LeaderWorkerSet that leaves holds until the update deletes it: all pods of its groups."""

from typing import Any

import pytest

from inferfleet.clusters.preflight.workloads import leaving
from inferfleet.desired.values import Component, Connection, DesiredCluster, KubeObject
from inferfleet.fleet.decisions import Leaving
from inferfleet.fleet.shapes import Pod

PREFIX = "inferfleet.dev"


def _template(pool: str, **selector: str) -> dict[str, Any]:
    labels = {f"{PREFIX}/deployment": "a", f"{PREFIX}/role": "decode", f"{PREFIX}/placement": pool}
    engine = {"name": "engine", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
    return {"metadata": {"labels": labels}, "spec": {"containers": [engine], "nodeSelector": selector}}


def _set(name: str, template: dict[str, Any]) -> dict[str, Any]:
    group = {"size": 2, "leaderTemplate": template, "workerTemplate": template}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"replicas": 3, "leaderWorkerTemplate": group},
    }


def _leaving(running: dict[str, Any], *desired: dict[str, Any]) -> list[Leaving]:
    objects = tuple(KubeObject("n", manifest) for manifest in desired)
    cluster = DesiredCluster(
        Connection("east", "existing/east", "active"), (Component("ModelReplicas", "c", objects),)
    )
    return list(leaving(cluster, [running]))


WANTED = _set("a-decode-l4", _template("l4"))
HELD = Leaving("east", "ml", "a-decode-l4", pool="l4", pods=6, gpus_per_pod=2, deployment="ml/a")


@pytest.mark.parametrize(
    ("desired", "held"), [([], [HELD]), ([WANTED], []), ([WANTED | {"kind": "Deployment"}], [HELD])]
)
def test_a_group_leaves_with_all_its_pods_and_where_another_kind_takes_its_name(
    desired: list[dict[str, Any]], held: list[Leaving]
) -> None:
    assert _leaving(WANTED, *desired) == held


def test_pods_without_accelerators_hold_what_they_request() -> None:
    template = _template("l4")
    template["spec"]["containers"] = [{"name": "engine", "resources": {"requests": {"cpu": "8"}}}]
    [gone] = _leaving(_set("a-decode-l4", template))
    assert (gone.gpus_per_pod, gone.requests) == (0, Pod(0, 8000, 0))


@pytest.mark.parametrize(
    ("selector", "pool"), [({}, "pool-of-20-characters"), ({f"{PREFIX}/pool": "other"}, "other")]
)
def test_a_group_whose_name_was_cut_leaves_the_pool_of_its_placement(
    selector: dict[str, str], pool: str
) -> None:
    [gone] = _leaving(_set("a-decode-pool-4a6f4e", _template("pool-of-20-characters", **selector)))
    assert gone.pool == pool
