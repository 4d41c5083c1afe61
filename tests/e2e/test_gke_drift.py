"""Changes by hand on a small stack of Google's: status names them, a refresh restores them; and quotas before
an update.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from documents import API, Document, deployment
from project import Project
from sandboxes import running

from sandbox import clusters
from sandbox.cluster.kwok import KwokCluster
from sandbox.gcp import faults
from sandbox.gcp.store import POOL, Store
from sandbox.places import StackPlaces

STACK = "drift"
# What docs/guides/gke.md tells to run on a schedule; without the first, changes by hand are not seen.
CHECK = ("--refresh", "--expect-no-changes")


def cluster(**l4: Any) -> Document:
    """One cluster with a fixed pool of one node with one GPU."""
    place = {
        "project": "inferfleet-test",
        "region": "us-east5",
        "deletionProtection": False,
        "maintenancePolicy": {
            "dailyMaintenanceWindow": {"startTime": "09:00"},
            "maintenanceExclusions": [
                {
                    "name": "kept",
                    "scope": "NO_MINOR_OR_NODE_UPGRADES",
                    "startTime": "2025-12-01T00:00:00Z",
                    "endTimeBehavior": "UNTIL_END_OF_SUPPORT",
                }
            ],
        },
    }
    pool = {
        "name": "l4",
        "className": "gke-l4-1x-g2",
        "nodeCount": 1,
        "zones": ["us-east5-a"],
        "upgradeSettings": {"strategy": "BLUE_GREEN"},
    }
    return {
        "apiVersion": API,
        "kind": "InferenceCluster",
        "metadata": {"name": "east", "labels": {"region": "east"}},
        "spec": {
            "cluster": {"source": "GKE", "gke": place},
            "nodePools": [{**pool, "labels": {"team": "ml"}, **l4}],
            "serving": {"gateway": {"className": "gke-l7-rilb", "provider": "gke", "port": 8080}},
        },
    }


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Deployed, and as its documents say."""
    with running(tmp_path_factory.mktemp("drift"), STACK, cluster()) as project:
        project.write("models", deployment("one", on="east"))
        done = project.up()
        assert done.code == 0, done.output
        yield project


def places(fleet: Project) -> StackPlaces:
    return StackPlaces(fleet.root, STACK)


def drift(fleet: Project) -> tuple[int, list[str]]:
    """Exit code of `status`, and what drifted."""
    done = fleet.cli("status", "--stack", STACK, "--json")
    return done.returncode, sorted(one["what"] for one in json.loads(done.stdout)["drift"])


def edit(fleet: Project, thing: str, change: str) -> None:
    done = fleet.cli("sandbox", "cloud", "edit", thing, change, "--stack", STACK)
    assert done.returncode == 0, done.stderr


def kubectl(fleet: Project, *arguments: str) -> None:
    (name,) = clusters.created_names(places(fleet))
    kubeconfig = KwokCluster(places(fleet), name).folder / "kubeconfig.yaml"
    done = fleet.run("kubectl", "--kubeconfig", str(kubeconfig), *arguments)
    assert done.returncode == 0, done.stderr


def warnings(fleet: Project) -> list[str]:
    """What a preview warns of quotas."""
    previewed = fleet.preview()
    assert previewed.code == 0, previewed.output
    told = {line.strip() for line in previewed.output.splitlines()}
    return sorted(line for line in told if line.startswith("warning: ") and "quota" in line)


def test_what_an_update_made_has_not_drifted(fleet: Project) -> None:
    assert drift(fleet) == (0, [])


def test_changes_by_hand_are_named_and_an_update_with_refresh_restores_them(fleet: Project) -> None:
    records = Store(places(fleet).cloud).read().values()
    pool = next(one for one in records if one.token == POOL and one.name.startswith("l4-"))
    labels = {**pool.state["nodeConfig"]["labels"], "team": "theirs"}
    edit(fleet, pool.name, f"nodeConfig.labels={json.dumps(labels)}")
    edit(fleet, pool.name, "nodeCount=2")
    edit(fleet, pool.id.split("/")[5], "releaseChannel.channel=RAPID")
    edit(fleet, pool.id.split("/")[5], "privateClusterConfig.enablePrivateNodes=false")
    kubectl(fleet, "-n", "ml", "label", "deployment", "one-epp", "inferfleet.dev/deployment-")
    open_ = '{"spec": {"endpointPickerRef": {"failureMode": "FailOpen"}}}'
    kubectl(fleet, "-n", "ml", "patch", "inferencepool", "one", "--type=merge", "-p", open_)

    assert drift(fleet) == (
        0,
        [
            "cluster east: privateClusterConfig.enablePrivateNodes is false, documents say true",
            "cluster east: releaseChannel.channel is RAPID, documents say REGULAR",
            "east Deployment ml/one-epp: metadata.labels.inferfleet.dev/deployment is unset, documents say "
            "one",
            "east InferencePool ml/one: spec.endpointPickerRef.failureMode is FailOpen, documents say "
            "FailClose",
            "pool east/l4: nodeConfig.labels.team is theirs, documents say ml",
            "pool east/l4: size is 2, documents say 1",
        ],
    )

    unseen = fleet.preview(*CHECK[1:])
    assert (unseen.code, unseen.operations) == (0, {}), unseen.output
    assert fleet.preview(*CHECK).code != 0
    restored = fleet.up("--refresh")
    assert (restored.code, restored.operations) == (
        0,
        {
            "Cluster east": "update",
            "NodePool east/l4": "update",
            "InferencePool east/ml/one": "update",
            "Deployment east/ml/one-epp": "update",
        },
    ), restored.output
    assert drift(fleet) == (0, [])
    assert fleet.preview(*CHECK).code == 0


def test_a_quota_that_does_not_hold_new_nodes_is_a_warning_of_the_preview(fleet: Project) -> None:
    faults.change(places(fleet).cloud, faults.with_quota("us-east5", "nvidia-l4", 2))
    more = {"name": "more", "className": "gke-l4-1x-g2", "nodeCount": 2, "zones": ["us-east5-a"]}
    wanted = cluster()
    wanted["spec"]["nodePools"].append(more)
    fleet.write("clusters", wanted)
    try:
        (warning,) = warnings(fleet)
        assert warning.endswith(
            "quota NVIDIA_L4_GPUS of project inferfleet-test in us-east5 is 2, with 1 in use; pool east/more "
            "takes 2 more. Ask for more at https://console.cloud.google.com/iam-admin/quotas?project="
            "inferfleet-test, or nodes will be missing"
        )
        faults.change(places(fleet).cloud, lambda old: old.cleared)
        assert warnings(fleet) == []
    finally:
        faults.change(places(fleet).cloud, lambda old: old.cleared)
        fleet.write("clusters", cluster())
