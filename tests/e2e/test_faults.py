"""Clusters that stop or are swapped, and locks that must hold."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from asking import ask, url
from documents import API, deployment, east, service, west
from project import Project

from sandbox import clusters

L4 = "NVIDIA L4"


@pytest.fixture(scope="module")
def spread(standing: Project) -> Project:
    """Two replicas, one on each cluster, and one on west. A test leaves what the next one begins with."""
    standing.begin(
        clusters=[east(), west()],
        spread=[deployment("spread", replicas=2, gpu=L4)],
        here=[deployment("here", on="west", gpu=L4), service("chat", spread=1)],
    )
    done = standing.up()
    assert done.code == 0, done.output
    return standing


@contextmanager
def _without_east(project: Project) -> Iterator[None]:
    """East has stopped until the block ends."""
    clusters.stop(project.root, project.stack, "east")
    try:
        yield
    finally:
        clusters.start(project.root, project.stack, "east")


# By name: what a policy is asked of, and a condition that this fleet breaks.
TEN = {
    "gpus": ("team", "team.gpus < 2"),
    "dollars": ("team", "team.cost < 100.0 && stack.unpriced == 0"),
    "replicas": ("model", "model.replicas < 2"),
    "residency": ("placement", 'placement.cluster.region.startsWith("eu-")'),
    "registries": ("image", 'image.registry == "ghcr.io"'),
    "digests": ("image", 'image.digest != ""'),
    "plugins": ("plugin", 'plugin.name == "cache"'),
    "tiers": ("cluster", '"tier" in cluster.labels'),
    "spare": ("fleet", "fleet.pools.map(pool, pool.freeGpus).sum() >= 1000"),
    "n-minus-one": ("loss", 'loss.kind != "cluster" || size(loss.unserved) == 0'),
}


def test_ten_policies_refuse_an_update_in_the_words_of_validate(spread: Project) -> None:
    plugins = [{"name": "demo-pod-tweaks", "config": {"env": [{"name": "A", "value": "b"}]}}]
    spread.write("spread", deployment("spread", replicas=2, gpu=L4, plugins=plugins))
    rules = [
        {"apiVersion": API, "kind": "Policy", "metadata": {"name": name}, "spec": spec}
        for name, (each, cel) in TEN.items()
        for spec in [{"each": each, "cel": cel, "message": "ask us"}]
    ]
    spread.write("policies", *rules)
    told = spread.cli("validate", "--stack", spread.stack).stderr.splitlines()
    words = [line for line in told if " breaks policy " in line]
    assert [name for name in TEN if not any(f" breaks policy {name}: ask us" in line for line in words)] == []
    before = spread.state()
    refused = spread.up()
    assert refused.code != 0
    assert [line for line in words if line not in refused.output] == []
    assert refused.operations.keys() <= {"Stack inferfleet-e2e"}
    assert spread.state() == before
    spread.write("policies")
    spread.write("spread", deployment("spread", replicas=2, gpu=L4))


def test_swapped_kubeconfigs_are_refused_by_uid(spread: Project) -> None:
    folder = spread.root / ".sandbox" / spread.stack
    first, second = folder / "east.kubeconfig", folder / "west.kubeconfig"
    _swap(first, second)
    try:
        refused = spread.up()
    finally:
        _swap(first, second)
    assert refused.code != 0
    assert refused.output.count("kube-system") >= 2, refused.output
    assert "Traceback" not in refused.output
    assert spread.up().operations == {}


def _swap(first: Path, second: Path) -> None:
    kept = first.read_text()
    shutil.copy(second, first)
    second.write_text(kept)


def test_a_locked_stack_shows_what_would_move_and_stays(spread: Project) -> None:
    lock = spread.lock_file.read_text()
    spread.configure(locked=True)
    assert spread.up().operations == {}
    spread.write("here", deployment("here", on="west", gpu=L4, replicas=2), service("chat", spread=1))
    for run in (spread.preview, spread.up):
        refused = run()
        assert refused.code != 0
        assert "ml/here on west/l4: 1 -> 2 replicas" in refused.output
    assert spread.lock_file.read_text() == lock
    assert spread.cli("plan", "--stack", spread.stack, "--write").returncode == 0
    assert spread.up().operations == {
        "Deployment west/ml/here-decode-l4": "update",
        "PodDisruptionBudget west/ml/here-decode": "create",
    }
    spread.configure(locked=False)
    spread.write("here", deployment("here", on="west", gpu=L4), service("chat", spread=1))
    assert spread.up().code == 0


def test_a_cluster_that_does_not_answer_is_named_and_a_lost_one_holds_nothing_up(spread: Project) -> None:
    before, lock = spread.state(), spread.lock_file.read_text()
    edited = deployment("spread", replicas=3, gpu=L4, image="docker.io/vllm/vllm-openai:v1")
    budget = "PodDisruptionBudget west/ml/spread-decode"
    spread.write("spread", edited)
    with _without_east(spread):
        for run in (spread.preview, spread.up):
            refused = run()
            assert refused.code != 0
            assert "cluster 'east'" in refused.output or "cluster east" in refused.output
            assert "state: lost" in refused.output
            assert "Traceback" not in refused.output
            assert refused.operations.keys() <= {"Stack inferfleet-e2e"}
        assert spread.state() == before
        assert spread.lock_file.read_text() == lock

        spread.write("clusters", east(state="lost"), west())
        done = spread.up()
        assert done.code == 0, done.output
        assert done.operations == {
            "kubernetes east": "update",
            "Deployment west/ml/spread-decode-l4": "update",
            budget: "create",
        }
        assert spread.state() == sorted([*before, budget])

    # Back again, the edit that it missed reaches it.
    spread.write("clusters", east(), west())
    back = spread.up()
    assert back.code == 0, back.output
    assert back.operations == {
        "kubernetes east": "update",
        "Deployment east/ml/spread-decode-l4": "update",
    }


def test_an_abandoned_cluster_leaves_the_state_and_its_replicas_go_where_a_plan_without_it_said(
    spread: Project,
) -> None:
    with _without_east(spread):
        asked = ("plan", "--stack", spread.stack, "--without", "cluster=east", "--json")
        predicted = json.loads(spread.cli(*asked).stdout)
        spread.write("clusters", east(state="abandoned"), west())
        done = spread.up()
        assert done.code == 0, done.output
        shown = spread.run("pulumi", "stack", "output", "--stack", spread.stack, "--json").stdout
        outputs = json.loads(shown)
        assert outputs["placements"] == {
            one["deployment"]: {f"{one['cluster']} decode={one['pools']['decode']}": one["replicas"]}
            for one in predicted["placements"]
        }
        assert outputs["services"] == {one["service"]: [one["cluster"]] for one in predicted["services"]}
        assert [name for name in spread.state() if "east" in name] == ["kubernetes east"]
        [workload] = spread.items(
            "west", "deployments", "-l", "inferfleet.dev/placement,inferfleet.dev/deployment=spread"
        )
        assert workload["status"]["readyReplicas"] == 3
        reached = [(one["cluster"], one["service"]) for one in predicted["services"]]
        asked = [ask(url(spread, *each), model="some/model").status for each in reached]
        assert (reached, asked) == ([("west", "ml/chat")], [200])

        # After that the document may go.
        spread.write("clusters", west())
        gone = spread.up()
        assert gone.code == 0, gone.output
        assert gone.operations == {"kubernetes east": "delete"}
    _forget(spread)


def _forget(project: Project) -> None:
    """What an abandoned cluster still holds would be somebody else's for the next test."""
    ours = "app.kubernetes.io/managed-by=inferfleet"
    for kind in ("gateways", "httproutes", "inferencepools", "deployments", "services", "configmaps"):
        project.kubectl("east", "delete", kind, "-A", "-l", ours, "--wait=false")
    for kind in ("serviceaccounts", "roles", "rolebindings", "clusterroles", "clusterrolebindings"):
        project.kubectl("east", "delete", kind, "-A", "-l", ours, "--wait=false")
    # So that everything can be destroyed in the end.
    project.write("clusters", east(), west())
