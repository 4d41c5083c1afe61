"""The simulated Google Cloud under the real engine: previews, changes, faults, drift, and an empty end."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from asking import until
from project import ROOT, Project
from small_cloud import Resource, cluster, l4, network, pool

from sandbox import clusters
from sandbox.cluster.kwok import KwokCluster
from sandbox.environment import environment
from sandbox.gcp import faults, lifecycle
from sandbox.gcp.store import Record, Store
from sandbox.places import StackPlaces
from sandbox.pulumi_state import prepare_pulumi
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import Tools, make_tools

STACK = "cloud"
ALL = (*network(), cluster(), pool("system", nodeCount=1), l4())
PODS = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "big", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "big"}},
        "template": {
            "metadata": {"labels": {"app": "big"}},
            "spec": {
                "nodeSelector": {"inferfleet.dev/pool": "l4"},
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                "containers": [{"name": "x", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "4"}}}],
            },
        },
    },
}


class Tiny:
    """A project whose program registers what a test writes."""

    def __init__(self, root: Path, places: StackPlaces, tools: Tools) -> None:
        self.places, self.tools = places, tools
        self.engine = Project(root, STACK, {**os.environ, **environment(places, tools)})
        self.store = Store(places.cloud)

    def write(self, *resources: Resource, inside: dict[str, Any] | None = None) -> None:
        (self.engine.root / "resources.json").write_text(json.dumps(resources))
        thing = self.engine.root / "object.json"
        thing.write_text(json.dumps(inside)) if inside else thing.unlink(missing_ok=True)

    def up(self, *resources: Resource, inside: dict[str, Any] | None = None) -> dict[str, str]:
        """What the engine did. Fails loudly."""
        self.write(*resources, inside=inside)
        done = self.engine.up()
        assert done.code == 0, done.output
        return done.operations

    def preview(self, *resources: Resource, inside: dict[str, Any] | None = None) -> dict[str, str]:
        self.write(*resources, inside=inside)
        done = self.engine.preview()
        assert done.code == 0, done.output
        return done.operations

    def record(self, name: str) -> Record:
        return next(one for one in self.store.read().values() if one.id.endswith(f"/{name}"))

    def nodes(self, pool: str) -> int:
        """How many nodes of the pool the API server has."""
        kwok = KwokCluster(self.places, "east.us-east5.acme")
        selector = f"cloud.google.com/gke-nodepool={pool}"
        return len(kwok.kubectl(self.tools).items("nodes", "-l", selector))


@pytest.fixture(scope="module")
def standing_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tiny]:
    root = tmp_path_factory.mktemp("tiny")
    shutil.copy(ROOT / "tests" / "e2e" / "tiny_cloud" / "__main__.py", root)
    (root / ".venv").symlink_to(ROOT / ".venv")
    runtime = {"name": "python", "options": {"virtualenv": ".venv"}}
    (root / "Pulumi.yaml").write_text(yaml.safe_dump({"name": "tiny", "runtime": runtime}))
    places, tools = StackPlaces(root, STACK), make_tools(Progress())
    try:
        prepare_pulumi(places, tools)
        lifecycle.start_cloud(places, tools)
        faults.change(places.cloud, lambda old: faults.with_pace(old, grow_after=1, idle_for=2))
        yield Tiny(root, places, tools)
    finally:
        clusters.down(root, STACK)


@pytest.fixture
def tiny(standing_cloud: Tiny) -> Iterator[Tiny]:
    """The cloud with a network, a cluster and two pools; without faults."""
    faults.change(standing_cloud.places.cloud, lambda old: old.cleared)
    standing_cloud.up(*ALL)
    yield standing_cloud
    faults.change(standing_cloud.places.cloud, lambda old: old.cleared)


def test_the_first_preview_lists_everything_also_what_is_inside_the_cluster(standing_cloud: Tiny) -> None:
    assert standing_cloud.preview(*ALL, inside=PODS) == {
        "Stack tiny-cloud": "create",
        "gcp gcp": "create",
        "kubernetes east": "create",
        "Network net": "create",
        "Subnetwork sub": "create",
        "Account nodes": "create",
        "IAMMember nodes-role": "create",
        "Cluster east": "create",
        "NodePool system": "create",
        "NodePool l4": "create",
        "Deployment east/big": "create",
    }
    assert standing_cloud.store.read() == {}


def test_what_was_made_shows_no_change_and_refresh_finds_none(tiny: Tiny) -> None:
    assert tiny.nodes("system") == 1
    assert tiny.preview(*ALL) == {}
    assert not _refresh(tiny)
    assert tiny.preview(*ALL) == {}


def test_an_edit_in_place_changes_nodes_that_run(tiny: Tiny) -> None:
    labelled = pool("system", {"labels": {"team": "a"}}, nodeCount=2)
    assert tiny.up(*network(), cluster(resourceLabels={"team": "a"}), labelled, l4()) == {
        "Cluster east": "update",
        "NodePool system": "update",
    }
    kwok = KwokCluster(tiny.places, "east.us-east5.acme")
    nodes = kwok.kubectl(tiny.tools).items("nodes", "-l", "cloud.google.com/gke-nodepool=system")
    assert [one["metadata"]["labels"].get("team") for one in nodes] == ["a", "a"]


def test_a_field_that_only_a_new_pool_can_have_is_planned_as_a_replacement(tiny: Tiny) -> None:
    spot = {"spot": True, "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}}
    changed = (*network(), cluster(), pool("system", spot, nodeCount=1), l4())
    assert tiny.preview(*changed) == {"NodePool system": "replace"}
    assert tiny.up(*changed) == {"NodePool system": "replace"}
    assert (tiny.nodes("system"), tiny.record("system").state["nodeConfig"]["spot"]) == (1, True)


def test_a_changed_cluster_replaces_nothing_inside_it(tiny: Tiny) -> None:
    tiny.up(*ALL, inside=PODS)
    edited = (*network(), cluster(resourceLabels={"a": "b"}), pool("system", nodeCount=1), l4())
    assert tiny.preview(*edited, inside=PODS) == {"Cluster east": "update"}


def test_pods_make_a_pool_grow_and_their_end_lets_it_shrink_without_drift(tiny: Tiny) -> None:
    until("the pool is empty", lambda: tiny.nodes("l4") == 0)
    assert tiny.up(*ALL, inside=PODS)["Deployment east/big"] == "create"
    assert (tiny.nodes("l4"), tiny.preview(*ALL, inside=PODS)) == (2, {})
    _refresh(tiny)
    assert tiny.preview(*ALL, inside=PODS) == {}
    assert tiny.up(*ALL)["Deployment east/big"] == "delete"
    until("the pool has given up its nodes", lambda: tiny.nodes("l4") == 0)
    assert tiny.preview(*ALL) == {}


def test_a_pool_out_of_stock_fails_half_made_and_the_next_update_finishes_it(tiny: Tiny) -> None:
    faults.change(tiny.places.cloud, faults.with_stockout("us-east5-a", "e2-standard-8"))
    more = pool("more", {"machineType": "e2-standard-8"}, nodeCount=1)
    tiny.write(*ALL, more)
    failed = tiny.engine.up()
    assert failed.code != 0
    assert "ZONE_RESOURCE_POOL_EXHAUSTED" in failed.output
    assert (tiny.record("more").status, "NodePool more" in tiny.engine.state()) == ("ERROR", True)
    faults.change(tiny.places.cloud, lambda old: old.cleared)
    assert tiny.up(*ALL, more) == {"NodePool more": "update"}
    assert (tiny.record("more").status, tiny.nodes("more")) == ("RUNNING", 1)


def test_a_refresh_sees_what_was_changed_by_hand(tiny: Tiny) -> None:
    system = tiny.record("system")
    command = ("inferfleet", "sandbox", "cloud", "edit", system.id, "nodeCount=3", "--stack", STACK)
    edited = tiny.engine.run(*command)
    assert edited.returncode == 0, edited.stderr
    assert tiny.nodes("system") == 3
    assert tiny.preview(*ALL) == {}
    assert _refresh(tiny)
    assert tiny.up(*ALL) == {"NodePool system": "update"}
    assert tiny.nodes("system") == 1


def test_the_provider_refuses_any_other_backend(tiny: Tiny, tmp_path: Path) -> None:
    elsewhere = {**tiny.engine.environment, "PULUMI_BACKEND_URL": f"file://{tmp_path}"}
    other = Project(tiny.engine.root, STACK, elsewhere)
    assert other.run("pulumi", "stack", "init", STACK, "--non-interactive").returncode == 0
    refused = other.preview()
    assert refused.code != 0
    assert "serves the sandbox of stack cloud alone" in refused.output


def test_destroy_leaves_the_cloud_empty(tiny: Tiny) -> None:
    tiny.up(*ALL, inside=PODS)
    done = tiny.engine.destroy()
    assert done.code == 0, done.output
    assert tiny.store.read() == {}
    assert clusters.created_names(tiny.places) == []


def _refresh(tiny: Tiny) -> bool:
    """True when the state differed from the cloud."""
    command = ("pulumi", "refresh", "--stack", STACK, "--yes", "--skip-preview", "--non-interactive")
    done = tiny.engine.run(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    return " updated" in done.stdout.partition("Resources:")[2]
