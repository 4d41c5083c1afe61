"""Workers of several pods and replicas of several roles: they fit as a whole or not at all."""

import pytest
from small_fleet import class_, cluster, deployment, fleet, lock, role, standing

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import of_severity
from inferfleet.fleet.decisions import Reason
from inferfleet.fleet.demands import Demand, declared_demands
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan
from inferfleet.fleet.shapes import Pod
from inferfleet.fleet.spot import Spot

EMPTY = lock({})
TWO_STAGES = {"tensor": 8, "pipeline": 2}
FOUR = "has 4 GPUs per node, needs 8, and class l4 has no network between its nodes"
SMALL = "capacity['gpu.nvidia.com/memory'].compareTo(quantity('40Gi')) < 0"
LARGE = "capacity['gpu.nvidia.com/memory'].compareTo(quantity('40Gi')) > 0"
NEEDS_TWO = "nodes, needs 2: one for each pod of a worker"
FABRIC = class_(
    "joined",
    8,
    devices=[
        {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": 8},
        {"name": "nic", "driver": "dra.net", "claim": "Synthetic", "count": 8},
    ],
)


def _lock(placements: dict[str, int]) -> Lock:
    spots = {}
    for text, replicas in placements.items():
        key, where, *pools = text.split()
        made = tuple((name.split("=")[0], name.split("=")[1]) for name in pools)
        spots[Spot(key, where, made)] = replicas
    return Lock(stack="test", placements=spots)


def _reasons(documents: Documents, locked: Lock = EMPTY) -> list[tuple[int, list[Reason]]]:
    return [(missing.replicas, list(missing.reasons)) for missing in plan(documents, locked).unplaced]


def test_a_worker_of_two_pods_takes_two_nodes_of_one_pool() -> None:
    east = cluster("east", {"one": ("h100", 1), "three": ("h100", 3)})
    planned = plan(fleet(east, deployment("a", 2, topology=TWO_STAGES)), EMPTY)
    assert standing(planned) == {"ml/a east decode=three": 1}
    assert [(missing.replicas, list(missing.reasons)) for missing in planned.unplaced] == [
        (
            1,
            [
                Reason("east", "one", f"room for one pod (8 GPUs) on 1 of 1 {NEEDS_TWO}"),
                Reason("east", "three", f"room for one pod (8 GPUs) on 1 of 3 {NEEDS_TWO}"),
            ],
        )
    ]


def test_nodes_without_gpus_are_counted_by_the_pods_they_have_room_for() -> None:
    cores = class_("cores", 0, devices=[])
    three = deployment("a", 1, topology={"tensor": 1, "pipeline": 3}, accelerator="None")
    east = cluster("east", {"cores": ("cores", 2)})
    why = "room for one pod on 2 of 2 nodes, needs 3: one for each pod of a worker"
    assert _reasons(fleet(cores, east, three)) == [(1, [Reason("east", "cores", why)])]


def test_cores_are_told_where_nodes_have_enough_free_gpus_for_a_worker() -> None:
    hungry = deployment("a", 1, topology=TWO_STAGES, resources={"requests": {"cpu": "150"}})
    busy = deployment("b", 1, cel=LARGE, resources={"requests": {"cpu": "100"}})
    east = cluster("east", {"h100": ("h100", 2)})
    locked = _lock({"ml/b east decode=h100": 1})
    small = deployment("a", 1, topology={"tensor": 4, "pipeline": 2}, resources={"requests": {"cpu": "150"}})
    assert _reasons(fleet(east, small, busy), locked) == [
        (
            1,
            [
                Reason(
                    "east",
                    "h100",
                    f"room for one pod (4 GPUs, cores 150) on 1 of 2 {NEEDS_TWO}",
                )
            ],
        )
    ]
    assert _reasons(fleet(east, hungry, busy), locked) == [
        (1, [Reason("east", "h100", f"room for one pod (8 GPUs) on 1 of 2 {NEEDS_TWO}")])
    ]


@pytest.mark.parametrize(("nodes", "placed"), [(1, 0), (2, 2), (4, 2)])
def test_pods_of_a_worker_share_no_node_though_they_are_smaller(nodes: int, placed: int) -> None:
    halves = deployment("a", 2, topology={"tensor": 4, "pipeline": 2})
    planned = plan(fleet(cluster("east", {"h100": ("h100", nodes)}), halves), EMPTY)
    assert sum(placement.replicas for placement in planned.placements) == placed


def test_an_update_by_surge_keeps_a_whole_worker_free() -> None:
    east = cluster("east", {"h100": ("h100", 3)})
    surge = deployment("a", 1, topology=TWO_STAGES, rollout="Surge")
    why = (
        "room for 3 of the 4 pods (2 of a replica, 2 kept free for rollouts), each of a worker on a node of "
        "its own"
    )
    assert _reasons(fleet(east, surge)) == [(1, [Reason("east", "h100", why)])]


def test_entries_and_followers_are_counted_apart() -> None:
    entry, follower = (
        {"template": {"spec": {"containers": [{"name": "engine", "image": "e:1", "resources": resources}]}}}
        for resources in ({"requests": {"cpu": "100"}}, {"requests": {"cpu": "4"}})
    )
    made = deployment("a", 1)
    workers = {"topology": {"tensor": 4, "pipeline": 3}, "entry": entry, "follower": follower}
    made = made.model_validate(
        {
            "metadata": {"name": "a", "namespace": "ml"},
            "spec": {"replicas": 2, "workers": workers},
        }
    )
    documents = fleet(cluster("east", {"h100": ("h100", 3)}), made)
    assert declared_demands(documents).of("ml/a", "decode", ("east", "h100")) == Demand(
        Pod(4, 100_000, 0), 3, 0, gang=3, follower=Pod(4, 4_000, 0)
    )
    assert standing(plan(documents, EMPTY)) == {"ml/a east decode=h100": 2}


def test_a_group_larger_than_a_node_takes_whole_nodes_where_a_network_joins_them() -> None:
    wide = deployment("a", 1, gpus=16)
    east = cluster("east", {"h100": ("h100", 8), "joined": ("joined", 2)})
    documents = fleet(FABRIC, east, wide)
    planned = plan(documents, EMPTY)
    assert standing(planned) == {"ml/a east decode=joined": 1}
    assert planned.reasons["ml/a"] == (
        Reason(
            "east",
            "h100",
            "has 8 GPUs per node, needs 16, and class h100 has no network between its nodes",
        ),
    )
    assert planned.demands.of("ml/a", "decode", ("east", "joined")) == Demand(
        Pod(8, 0, 0), 2, 0, gang=2, follower=Pod(8, 0, 0)
    )


def test_imex_channels_join_nodes_as_a_network_does() -> None:
    devices = [
        {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": 4},
        {
            "name": "imex",
            "driver": "compute-domain.nvidia.com",
            "deviceClassName": "compute-domain-default-channel.nvidia.com",
        },
    ]
    east = cluster("east", {"rack": ("gb200", 2)})
    planned = plan(fleet(class_("gb200", 4, devices=devices), east, deployment("a", 1, gpus=8)), EMPTY)
    assert standing(planned) == {"ml/a east decode=rack": 1}


@pytest.mark.parametrize(
    ("topology", "why"),
    [
        ({"tensor": 12}, "tensor 12 is no number of whole nodes of 8"),
        ({"tensor": 16, "data": 2, "dataLocal": 2}, "over several nodes dataLocal must be 1"),
    ],
)
def test_groups_that_are_no_whole_nodes_are_refused(topology: dict[str, int], why: str) -> None:
    documents = fleet(
        FABRIC, cluster("east", {"joined": ("joined", 4)}), deployment("a", 1, topology=topology)
    )
    (problem,) = plan(documents, EMPTY).problems
    assert (problem.path, problem.severity) == ("spec.workers.topology", "error")
    assert problem.what.endswith(f"and several together do not do: {why}")


def test_a_group_over_nodes_needs_a_template_for_its_followers() -> None:
    entry = {"template": {"spec": {"containers": [{"name": "engine", "image": "e:1"}]}}}
    made = deployment("a", 1).model_validate(
        {
            "metadata": {"name": "a", "namespace": "ml"},
            "spec": {"replicas": 1, "workers": {"topology": {"tensor": 16}, "entry": entry}},
        }
    )
    (problem,) = plan(fleet(FABRIC, cluster("east", {"joined": ("joined", 4)}), made), EMPTY).problems
    assert (problem.path, problem.what) == (
        "spec.workers",
        "a group of 16 GPUs (tensor) takes 2 pods on nodes of class joined, and workers have a template for "
        "their entry alone",
    )


NOT_SMALL = f"nodeSelector is false: {SMALL}, where memory is 80Gi"


def test_each_role_of_a_replica_has_a_pool_of_one_cluster() -> None:
    east = cluster("east", {"h100": ("h100", 1)})
    west = cluster("west", {"h100": ("h100", 2), "l4": ("l4", 1)})
    documents = fleet(east, west, deployment("a", 3, gpus=8, cel=LARGE, roles={"encode": role(2, cel=SMALL)}))
    assert standing(plan(documents, EMPTY)) == {"ml/a west decode=h100 encode=l4": 2}
    assert _reasons(documents) == [
        (
            1,
            [
                Reason("east", "h100", f"decode: has room; encode: {NOT_SMALL}"),
                Reason(
                    "west",
                    "h100",
                    "decode: 2 of 2 nodes full: 0 free GPUs on the emptiest node, needs 8",
                ),
                Reason(
                    "west",
                    "l4",
                    "encode: 1 of 1 nodes full: 0 free GPUs on the emptiest node, needs 2",
                ),
            ],
        )
    ]


def test_roles_may_share_a_pool_and_say_so_when_it_does_not_hold_both() -> None:
    both = deployment("a", 1, gpus=2, roles={"encode": role(2)})
    assert standing(plan(fleet(cluster("east", {"l4": ("l4", 1)}), both), EMPTY)) == {
        "ml/a east decode=l4 encode=l4": 1
    }
    larger = deployment("a", 1, gpus=4, roles={"encode": role(2)})
    assert _reasons(fleet(cluster("east", {"l4": ("l4", 1)}), larger)) == [
        (
            1,
            [
                Reason("east", "", "no pools have room for all roles of a replica together"),
                Reason("east", "l4", "has room"),
            ],
        )
    ]


def test_two_spots_on_a_cluster_share_no_pool_of_a_role() -> None:
    east = cluster("east", {"a": ("h100", 1), "b": ("h100", 1), "small": ("l4", 1)})
    pair = deployment("x", 2, gpus=8, cel=LARGE, roles={"encode": role(1, cel=SMALL)})
    assert standing(plan(fleet(east, pair), EMPTY)) == {"ml/x east decode=a encode=small": 1}
    more = cluster("east", {"a": ("h100", 1), "b": ("h100", 1), "m1": ("l4", 1), "m2": ("l4", 1)})
    assert standing(plan(fleet(more, pair), EMPTY)) == {
        "ml/x east decode=a encode=m1": 1,
        "ml/x east decode=b encode=m2": 1,
    }


def test_a_role_that_is_new_gets_a_pool_beside_the_ones_that_replicas_have() -> None:
    east = cluster("east", {"h100": ("h100", 2), "l4": ("l4", 1), "l4b": ("l4", 1)})
    west = cluster("west", {"h100": ("h100", 2), "l4": ("l4", 1)})
    documents = fleet(east, west, deployment("a", 2, gpus=8, roles={"encode": role(2, cel=SMALL)}))
    planned = plan(documents, _lock({"ml/a east decode=h100": 2}))
    assert (standing(planned), planned.problems) == ({"ml/a east decode=h100 encode=l4": 2}, ())


def test_a_role_that_is_gone_leaves_the_others_where_they_are() -> None:
    east = cluster("east", {"h100": ("h100", 2), "l4": ("l4", 1)})
    planned = plan(fleet(east, deployment("a", 2, gpus=8)), _lock({"ml/a east decode=h100 encode=l4": 2}))
    assert (standing(planned), planned.problems) == ({"ml/a east decode=h100": 2}, ())


def test_a_role_that_is_gone_is_an_error_on_a_lost_cluster() -> None:
    east = cluster("east", {"h100": ("h100", 2), "l4": ("l4", 1)}, state="lost")
    locked = _lock({"ml/a east decode=h100 encode=l4": 2})
    planned = plan(fleet(east, deployment("a", 2, gpus=8)), locked)
    assert planned.lock.placements == locked.placements
    assert [problem.what for problem in of_severity(planned.problems, "error")] == [
        "cluster east is lost and the lock has 2 replicas of ml/a with role encode there, but the deployment "
        "has decode only"
    ]


def test_replicas_leave_a_pool_of_one_role_together() -> None:
    east = cluster("east", {"h100": ("h100", 2), "l4": ("l4", 2), "old": ("l4", 0)})
    documents = fleet(east, deployment("a", 2, gpus=8, roles={"encode": role(2, cel=SMALL)}))
    planned = plan(documents, _lock({"ml/a east decode=h100 encode=h100": 2}))
    assert (standing(planned), planned.problems) == ({"ml/a east decode=h100 encode=l4": 2}, ())


def test_a_new_role_without_room_is_an_error_that_says_what_is_full() -> None:
    east = cluster("east", {"l4": ("l4", 1)})
    documents = fleet(east, deployment("a", 1, gpus=4, roles={"encode": role(1)}))
    (problem,) = plan(documents, _lock({"ml/a east decode=l4": 1})).problems
    assert (problem.severity, problem.what) == (
        "error",
        "1 replica of ml/a cannot leave east/l4 (has no pool for role encode): east/l4: decode: 1 of 1 nodes "
        "full: 0 free GPUs on the emptiest node, needs 4; encode: 1 of 1 nodes full: 0 free GPUs on the "
        "emptiest node, needs 1",
    )


def test_placements_of_the_lock_that_share_a_pool_of_a_role_are_an_error() -> None:
    east = cluster("east", {"l4": ("l4", 2), "more": ("l4", 2)})
    documents = fleet(east, deployment("a", 2, roles={"encode": role(1)}))
    locked = {"ml/a east decode=l4 encode=l4": 1, "ml/a east decode=l4 encode=more": 1}
    (problem,) = plan(documents, _lock(locked)).problems
    assert problem.what == (
        "the lock has ml/a east decode=l4 encode=l4 and ml/a east decode=l4 encode=more, which share pool l4 "
        "of role decode: workloads are named by role and pool, so both would have the same one"
    )
