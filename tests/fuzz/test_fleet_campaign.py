"""Edited random fleets with a fixed seed; `make fuzz COUNT=100000 SEED=2` tries more."""

from dataclasses import replace

import pytest
from fleet_campaign import history
from fleet_documents import Fleet, Raw
from packings import Size, fit
from plan_faults import faults

from inferfleet.fleet.decisions import Placement, Plan, Unplaced
from inferfleet.fleet.planning import plan
from inferfleet.fleet.spot import Spot


@pytest.mark.parametrize("tenth", range(10))
def test_plans_of_edited_fleets_keep_every_rule(tenth: int) -> None:
    found = [history(20, number) for number in range(tenth * 8, tenth * 8 + 8)]
    assert [fault for _, faults_ in found for fault in faults_] == []


def _fleet(replicas: int = 1, **spec: object) -> Fleet:
    """One deployment of 4 GPUs, and a cluster with two pools of nodes that have as many."""
    pools: list[Raw] = [{"name": name, "className": "l4", "nodeCount": 1} for name in ("p", "q")]
    existing = {"source": "Existing", "existing": {"kubeconfig": {"path": "kubeconfig"}}}
    template = {"spec": {"containers": [{"name": "engine", "image": "engine:1"}]}}
    workers = {"topology": {"tensor": 4}, "template": template}
    fleet = Fleet({})
    fleet.put(
        "InferenceCluster",
        {
            "metadata": {"name": "c"},
            "spec": {"cluster": existing, "nodePools": pools, "serving": {"gateway": {"className": "any"}}},
        },
    )
    fleet.put(
        "ModelDeployment",
        {
            "metadata": {"name": "d", "namespace": "ml"},
            "spec": {"replicas": replicas, "workers": workers, **spec},
        },
    )
    return fleet


def _placed(planned: Plan, **pools: int) -> Plan:
    """The plan with these replicas on pools instead of its own."""
    spots = {Spot("ml/d", "c", (("decode", pool),)): number for pool, number in pools.items()}
    return replace(
        planned,
        placements=tuple(Placement(spot, number) for spot, number in spots.items()),
        lock=replace(planned.lock, placements=spots),
    )


def _found(fleet: Fleet, planned: Plan) -> list[str]:
    return list(faults(fleet, fleet.lock, planned))


def test_what_must_not_be_in_a_plan_is_found() -> None:
    fleet = _fleet(2)
    planned = plan(fleet.loaded(), fleet.lock)
    assert _found(fleet, planned) == []
    assert _found(fleet, _placed(planned, p=2)) == [
        "c/p is oversubscribed and has new replicas",
        "c/p is oversubscribed, and nobody is told",
    ]
    assert _found(fleet, _placed(planned, p=1)) == ["ml/d: 1 placed and 0 without a place are not 2"]
    silent = replace(_placed(planned, p=1), unplaced=(Unplaced("ml/d", 1, ()),))
    assert _found(fleet, silent) == ["ml/d: not every cluster has a reason against it"]


def test_policies_that_a_plan_does_not_keep_are_found() -> None:
    fleet = _fleet(2)
    planned = plan(fleet.loaded(), fleet.lock)
    fleet.put("Quota", {"metadata": {"name": "q", "namespace": "ml"}, "spec": {"gpus": 4}})
    assert _found(fleet, planned) == ["quota of GPUs: 8 of 4 are used, 0 before"]
    cordoned = _fleet(2)
    cordoned.documents["InferenceCluster", "c"]["spec"]["state"] = "cordoned"
    assert _found(cordoned, planned) == ["ml/d is new on c: cordoned"]
    spot = _fleet(2, nodeSelector={"cel": "attributes['gpu.nvidia.com/architecture'] == 'Hopper'"})
    assert _found(spot, planned) == [
        f"ml/d decode is new on c/{pool}: its selector is not true there" for pool in ("p", "q")
    ]


@pytest.mark.parametrize(
    ("gpus", "workers", "holds"),
    [
        ([8, 8], [(4, 4), (4, 4)], True),
        ([8, 8], [(4, 4), (4, 4), (4,)], False),
        ([8], [(4, 4)], False),  # the pods of a worker are on nodes of their own
        ([6, 6], [(3,), (3,), (2,), (2,), (2,)], True),  # the largest first, each on the fullest, leaves one
        ([6, 6], [(4,), (4,), (3,)], False),
        ([], [], True),
    ],
)
def test_every_way_to_pack_a_pool_is_tried(
    gpus: list[int], workers: list[tuple[int, ...]], holds: bool
) -> None:
    nodes = [Size(number, 0, 0) for number in gpus]
    assert fit(nodes, [tuple(Size(pod, 0, 0) for pod in worker) for worker in workers]) is holds
