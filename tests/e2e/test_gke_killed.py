"""Updates of clusters of Google's that are killed at any moment; and one that loses a cluster on its way."""

import json
import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from documents import Document, model
from gke_edits_stack import kind
from gke_fleet import Fleet, fleet, gke
from killing import update

from sandbox import clusters
from sandbox.gcp.store import CLUSTER, Store

SCARCE = kind("cheap", "n1-standard-8", "nvidia-tesla-t4", 1, product="Tesla T4")
KINDS = (
    "deployments,services,configmaps,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,"
    "gateways,httproutes,inferencepools,gcpbackendpolicies,gcpgatewaypolicies,healthcheckpolicies,namespaces"
)
OURS = "inferfleet.dev/stack=killed"
# What an update does to clusters and pools, from nothing on, and how many lines it prints at least.
PRINTED = {"made": 100, "added": 60, "replaced and removed": 42}
# The share of these lines after which it is killed; the seed makes failures come again.
_SHARES = random.Random(11)
MOMENTS = {step: _SHARES.uniform(0.05, 0.95) for step in PRINTED}


def plain(**recipe: Any) -> Document:
    return kind("plain", "g2-standard-8", "nvidia-l4", 1, product="NVIDIA L4", **recipe)


def documents(step: str) -> dict[str, list[Document]]:
    """What the fleet is to be: a pool, a model and a cluster come, the two go, and a pool is replaced."""
    recipe = {"driver": "DEFAULT"} if step == "replaced and removed" else {}
    pools = [{"name": "l4", "className": "plain", "nodeCount": 1, "zones": ["us-east5-a"]}]
    if step != "made":
        pools.append({"name": "more", "className": "cheap", "nodeCount": 1, "zones": ["us-east5-b"]})
    made = [gke("east", "us-east5", *pools, replace={"allow": ["driver"]})]
    if step == "added":
        made.append(gke("west", "us-west1", {**pools[0], "zones": ["us-west1-a"]}))
    models = [model("chat"), *([model("extra", gpu="Tesla T4")] if step == "added" else [])]
    return {"classes": [plain(**recipe), SCARCE], "clusters": made, "models": models}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A stack with nothing deployed yet."""
    with fleet(tmp_path_factory.mktemp("killed"), "killed", **documents("made")) as made:
        yield made


@pytest.mark.parametrize(("step", "share"), MOMENTS.items())
def test_an_update_killed_at_any_moment_ends_where_it_would_have_ended(
    killed: Fleet, step: str, share: float
) -> None:
    for name, those in documents(step).items():
        killed.project.write(name, *those)
    with update(killed.project) as going:
        assert going.stdout is not None
        told = (line for line in going.stdout if line.startswith(" "))
        assert [*islice(told, lines := int(share * PRINTED[step]))][lines - 1 :]
        assert going.poll() is None
    # What Google was asked for comes to its end without the engine.
    killed.mend()
    mended = killed.project.cli("recover", "--stack", "killed", "--yes")
    assert mended.returncode == 0, mended.stdout + mended.stderr
    killed.up()
    assert killed.up().operations == {}
    assert _in_state(killed) == _standing(killed)


def _in_state(fleet: Fleet) -> list[str]:
    """Everything that the state has of cloud and clusters, by ID; nothing in it is on its way."""
    exported = fleet.project.run("pulumi", "stack", "export", "--stack", fleet.project.stack)
    state = json.loads(exported.stdout)["deployment"]
    assert not state.get("pending_operations")
    assert not [one["urn"] for one in state["resources"] if one.get("delete")]
    found = [one for one in state["resources"] if one["custom"] and "pulumi:providers" not in one["type"]]
    return sorted(_named(one) for one in found)


def _named(resource: dict[str, Any]) -> str:
    """IDs of Google's, and `<kind> <cluster>/<namespace>/<name>` in clusters."""
    if resource["type"].startswith("gcp:"):
        return str(resource["id"])
    return f"{resource['type'].rpartition(':')[2]} {resource['urn'].rpartition('::')[2]}"


def _standing(fleet: Fleet) -> list[str]:
    """The same, as cloud and clusters have it."""
    records = Store(fleet.places.cloud).read()
    there = [one.name.rpartition("-")[0] for one in records.values() if one.token == CLUSTER]
    assert len(clusters.created_names(fleet.places)) == len(there)
    assert {one.status for one in records.values()} == {"RUNNING"}
    inside = [
        f"{one['kind']} {name}/{_path(one['metadata'])}"
        for name in there
        for one in fleet.items(name, KINDS, "-l", OURS)
    ]
    return sorted([*records, *inside])


def _path(metadata: dict[str, Any]) -> str:
    return "/".join(one for one in (metadata.get("namespace"), metadata["name"]) if one)
