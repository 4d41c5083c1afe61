"""What the verbs say of a cluster that the stack creates."""

import json

import pytest
import yaml
from small_project import Project

CLASS = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceClass
metadata: {name: gke-l4}
spec:
  node: {cpu: "11", memory: 40Gi}
  resources: {gpu: {count: 1, memory: 23034Mi}}
  provisioning:
    provider: GKE
    gke: {machineType: g2-standard-12, accelerator: {type: nvidia-l4, count: 1}}
"""
CLUSTER = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {name: east}
spec:
  cluster: {source: GKE, gke: {project: acme-inference, region: us-east4, minVersion: "1.34.1-gke.1829001"}}
  nodePools: [{name: l4, className: gke-l4, minNodeCount: 0, maxNodeCount: 2, zones: [us-east4-a]}]
"""
POOLS = "stacks/prod/clusters.yaml"


@pytest.fixture
def cloud(project: Project) -> Project:
    """The small project, on GKE."""
    project.write("classes/gke.yaml", CLASS)
    project.write(POOLS, CLUSTER)
    return project


def test_render_writes_cloud_settings_beside_the_manifests(cloud: Project) -> None:
    assert cloud.run("render", "-o", "out").code == 0
    files = sorted(path.name for path in (cloud.root / "out/east/_cloud").iterdir())
    assert files == [
        "account-east_nodes.yaml",
        "cluster-east.yaml",
        "iammember-east_nodes_artifactregistry.reader.yaml",
        "iammember-east_nodes_container.defaultNodeServiceAccount.yaml",
        "network-east_network.yaml",
        "nodepool-east_l4.yaml",
        "nodepool-east_system.yaml",
        "router-east_nat.yaml",
        "routernat-east_nat.yaml",
        "subnetwork-east_nodes.yaml",
        "subnetwork-east_proxies.yaml",
    ]
    pool = yaml.safe_load((cloud.root / "out/east/_cloud/nodepool-east_l4.yaml").read_text())
    assert (pool["type"], pool["name"]) == ("gcp:container/nodePool:NodePool", "east/l4")
    workload = yaml.safe_load((cloud.root / "out/east/ml/deployment-qwen-decode-l4.yaml").read_text())
    chosen = workload["spec"]["template"]["spec"]["nodeSelector"]
    assert chosen == {"inferfleet.dev/pool": pool["properties"]["name"]}
    assert pool["properties"]["nodeConfig"]["labels"] == chosen


def test_render_prints_cloud_settings_before_what_stands_on_the_cluster(cloud: Project) -> None:
    printed = cloud.run("render").out
    assert printed.startswith("---\n# cluster east, Google Cloud\ntype: gcp:compute/network:Network\n")
    assert printed.index("# cluster east, Google Cloud") < printed.index("# cluster east\n")
    rendered = json.loads(cloud.run("render", "--format", "json").out)
    assert [set(entry) for entry in (rendered[0], rendered[-1])] == [
        {"cluster", "cloud"},
        {"cluster", "manifest", "held"},
    ]


def test_plan_tells_what_is_created_and_what_a_recipe_would_replace(cloud: Project) -> None:
    first = cloud.run("plan", "--write").out
    assert "Google Cloud, against placement.lock\n  cluster east is created; with pool l4\n" in first
    cloud.edit(POOLS, "zones: [us-east4-a]}", "zones: [us-east4-a], capacity: {model: Spot}}")
    refused = cloud.run("plan")
    assert refused.code == 1
    assert refused.err.startswith(f"{POOLS}:6: spec.nodePools[0]: pool east/l4 with 1 replica ")
    assert "capacity.model" in refused.err
    cloud.edit(POOLS, "region: us-east4,", "region: us-east4, replace: {allow: [capacity.model]},")
    allowed = cloud.run("plan", "--json")
    assert allowed.code == 0
    (change,) = allowed.json["cloudChanges"]
    settings = {setting["path"]: (setting["before"], setting["after"]) for setting in change.pop("settings")}
    assert change | {"note": None} == {"cluster": "east", "pool": "l4", "change": "replaced", "note": None}
    assert settings == {
        "nodeConfig.reservationAffinity.consumeReservationType": (None, "NO_RESERVATION"),
        "nodeConfig.spot": (None, True),
    }


def test_explain_tells_the_field_behind_each_setting_of_a_pool(cloud: Project) -> None:
    ran = cloud.run("explain", "east/l4")
    assert ran.code == 0
    settings = {line.split()[0]: " ".join(line.split()[1:]) for line in ran.out.splitlines()[4:]}
    machine = "g2-standard-12 machineType in place, GKE replaces the nodes"
    assert settings["nodeConfig.machineType"] == machine
    assert settings["nodeConfig.gvnic.enabled"] == "true inferfleet"
    explained = cloud.run("explain", "east/l4", "--json").json
    assert (explained["pool"], explained["class"], explained["project"]) == (
        "east/l4",
        "gke-l4",
        "acme-inference",
    )
    (count,) = [
        setting
        for setting in explained["settings"]
        if setting["path"] == "nodeConfig.guestAccelerators[0].count"
    ]
    assert count == {
        "path": "nodeConfig.guestAccelerators[0].count",
        "value": 1,
        "fields": ["accelerator.count"],
        "effect": "replaces the pool",
    }
    assert "Did you mean east/l4?" in cloud.run("explain", "eest/l4").err
