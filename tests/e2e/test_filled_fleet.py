"""A fleet filled to its last GPU: real schedulers find a place for each pod where it was planned, and for no
more. One replica more runs on the nodes of the proposed fix.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest
from asking import ask, until, url
from filled import GPUS_PER_NODE, MODELS, NODES, ONE_MORE, STACK, Engine, Fleet
from project import Project, checkout
from sandboxes import brought_up, started

from inferfleet.fleet.names import DEPLOYMENT, ROLE
from sandbox import clusters


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    root = tmp_path_factory.mktemp("filled")
    filled = Fleet(checkout(root, STACK))
    filled.project.begin()
    filled.write()
    try:
        filled.project, _ = started(filled.project)
        done = filled.project.up()
        assert done.code == 0, done.output
        yield filled
    finally:
        clusters.down(root, STACK)


@pytest.fixture(scope="module")
def engines(fleet: Fleet) -> set[Engine]:
    """The pods that the first update made."""
    return fleet.engines()


def _running(engines: Iterable[Engine]) -> Counter[tuple[str, ...]]:
    return Counter((engine.deployment, engine.role, engine.cluster, engine.where) for engine in engines)


def _planned(plan: Mapping[str, Any]) -> Counter[tuple[str, ...]]:
    """Pods by deployment, role, cluster and pool, as a plan has them."""
    pods: Counter[tuple[str, ...]] = Counter()
    for placement in plan["placements"]:
        name = placement["deployment"].removeprefix("ml/")
        for role, pool in placement["pools"].items():
            pods[name, role, placement["cluster"], pool] += placement["replicas"] * MODELS[name][2][role][0]
    return pods


def test_every_pod_runs_on_the_cluster_and_pool_where_it_was_planned(
    fleet: Fleet, engines: set[Engine]
) -> None:
    planned = fleet.plan()
    placed: Counter[str] = Counter()
    for placement in planned["placements"]:
        placed[placement["deployment"]] += placement["replicas"]
    assert placed == {f"ml/{name}": replicas for name, (_, replicas, _) in MODELS.items()}
    assert _running(engines) == _planned(planned)


def test_no_gpu_is_left_and_none_is_taken_twice(engines: set[Engine]) -> None:
    used: Counter[tuple[str, str]] = Counter()
    for engine in engines:
        _, gpus = MODELS[engine.deployment][2][engine.role]
        used[engine.cluster, engine.node] += gpus
    assert sorted(used.values()) == [GPUS_PER_NODE] * sum(count for _, count in NODES.values())


def test_pods_of_a_worker_stand_on_different_nodes(engines: set[Engine]) -> None:
    groups: dict[tuple[str, str], list[str]] = {}
    for engine in engines:
        if engine.group:
            groups.setdefault((engine.cluster, engine.group), []).append(engine.node)
    assert sorted(map(len, groups.values())) == [2, 2, 4]
    assert [nodes for nodes in groups.values() if len(set(nodes)) < len(nodes)] == []


def test_claims_hold_as_many_devices_as_planned(fleet: Fleet) -> None:
    held: Counter[int] = Counter()
    for claim in fleet.project.items("west", "resourceclaims"):
        held[len(claim["status"]["allocation"]["devices"]["results"])] += 1
    assert held == {1: 2, 2: 3, 4: 1}


@pytest.mark.parametrize("name", ["single", "claim-of-1"])
def test_one_more_pod_past_the_plan_finds_no_node(fleet: Fleet, engines: set[Engine], name: str) -> None:
    """The scheduler agrees that nothing is left: the same pod once more, by hand, stays pending."""
    cluster = min(engine.cluster for engine in engines if engine.deployment == name)
    pods = [engine for engine in engines if (engine.deployment, engine.cluster) == (name, cluster)]
    scale = ("-n", "ml", "scale", "deployment", f"{name}-decode-{pods[0].where}")
    fleet.project.kubectl(cluster, *scale, f"--replicas={len(pods) + 1}")
    try:
        until(f"{name} waits for a node", lambda: "Unschedulable" in _reasons(fleet.project, cluster, name))
    finally:
        fleet.project.kubectl(cluster, *scale, f"--replicas={len(pods)}")


def _reasons(project: Project, cluster: str, name: str) -> set[str]:
    return {
        condition.get("reason", "")
        for pod in project.items(cluster, "pods", "-l", f"{DEPLOYMENT}={name},{ROLE}")
        for condition in pod["status"].get("conditions", ())
    }


def test_one_more_of_each_kind_stays_unplaced_and_runs_on_the_nodes_of_the_fixes(
    fleet: Fleet, engines: set[Engine]
) -> None:
    fleet.more.update(ONE_MORE.keys())
    fleet.write()
    unplaced = fleet.plan()["unplaced"]
    told = {missing["deployment"].removeprefix("ml/"): missing for missing in unplaced}
    assert {name: missing["replicas"] for name, missing in told.items()} == dict.fromkeys(ONE_MORE, 1)
    for name, missing in told.items():
        assert MODELS[name][0] in {reason["pool"] for reason in missing["reasons"]}
    without = fleet.project.up()
    assert (without.code, without.operations) == (0, {}), without.output
    assert [name for name in ONE_MORE if f"ml/{name} found no place" not in without.output] == []
    assert fleet.engines() == engines

    # A fix has the size that a pool gets with what others take of it.
    for pool in (pool for missing in unplaced for pool in missing["fix"]["pools"]):
        fleet.nodes[pool["cluster"]] = max(fleet.nodes[pool["cluster"]], pool["nodes"])
    nodes = sum(count for _, count in NODES.values())
    assert sum(fleet.nodes.values()) == nodes + sum(ONE_MORE.values())
    fleet.write()
    brought_up(fleet.project)
    planned, done = fleet.plan(), fleet.project.up()
    assert (planned["unplaced"], done.code) == ([], 0), done.output
    after = fleet.engines()
    assert engines <= after
    assert _running(after) == _planned(planned)
    for name in ONE_MORE:
        _answers(fleet.project, [engine for engine in after - engines if engine.deployment == name])


def _answers(project: Project, replica: list[Engine]) -> None:
    name, cluster = replica[0].deployment, replica[0].cluster
    asked, pods = url(project, cluster, f"ml/deployments/{name}"), {f"ml/{one.name}" for one in replica}
    assert len(pods) == sum(number for number, _ in MODELS[name][2].values())
    until(f"the replica of {name} that came answers", lambda: ask(asked).pod in pods)
