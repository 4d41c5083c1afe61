"""Where the problems of recipes are told, once each, and what of a cluster is taken."""

from pathlib import Path
from typing import Any

import pytest
from recipe_text import pool, recipe, stack, told

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.facts import sources
from inferfleet.cloud.gke.recipes.check import recipe_problems
from inferfleet.documents import load
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.problems import Problem, Where, of_severity

TEXT = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceClass
metadata: {name: h100}
spec:
  node: {cpu: 200, memory: 1000Gi}
  resources: {gpu: {count: 4, memory: 80Gi}}
  provisioning:
    provider: GKE
    gke:
      machineType: a3-highgpu-8g
      accelerator:
        type: nvidia-h100-80gb
        count: 4
---
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceCluster
metadata: {name: east}
spec:
  cluster: {source: GKE, gke: {project: acme-prod, region: us-east5, zones: [us-east5-a]}}
  nodePools:
    - {name: one, className: h100, nodeCount: 1}
    - name: two
      className: h100
      maxNodeCount: 3
      capacity:
        model: FlexStart
      minNodeCount: 1
"""


def test_each_problem_stands_at_its_field_and_a_class_is_judged_once(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(TEXT)
    documents = load([tmp_path], catalogue=None, base=tmp_path)
    found = of_severity(tuple(recipe_problems(documents, described_clusters(documents))), "error")
    assert documents.located(found) == (
        Problem(
            f"class h100 asks for 4 nvidia-h100-80gb per node on a3-highgpu-8g, which has 8 ({sources.GPUS})",
            "Write count: 8, or use a3-highgpu-4g. If Google has changed that since, say where you saw "
            "it in the class: verified",
            "spec.provisioning.gke.accelerator.count",
            Where("fleet.yaml", 13),
            kind="InferenceClass",
            key="h100",
        ),
        Problem(
            f"pool two of cluster east has minNodeCount 1, but FlexStart pools start from 0 ({sources.DWS})",
            "Remove minNodeCount",
            "spec.nodePools[1].minNodeCount",
            Where("fleet.yaml", 27),
            kind="InferenceCluster",
            key="east",
        ),
    )


@pytest.mark.parametrize(
    ("provisioning", "why"),
    [
        (None, "does not say how its nodes are provisioned"),
        ({"provider": "EKS", "eks": {"instanceType": "p5.48xlarge"}}, "is provisioned by EKS"),
    ],
)
def test_a_class_that_gke_does_not_provision_is_refused_in_its_pools(
    provisioning: dict[str, object] | None, why: str
) -> None:
    spec = recipe("g2-standard-4") | {"provisioning": provisioning}
    assert told(stack({"p": pool(spec)})) == (
        [f"spec.nodePools[0].className: pool p of cluster east is provisioned by GKE, but class p {why}"],
        [],
    )


def test_names_labels_and_taints_that_are_taken_are_refused() -> None:
    taken = {
        "labels": {"cloud.google.com/gke-spot": "true", "team": "ml"},
        "taints": [{"key": "nvidia.com/gpu", "value": "mine", "effect": "NoSchedule"}],
    }
    pools = {"system": pool(recipe("g2-standard-4"), **taken)}
    assert told(stack(pools, systemPool={"machineType": "g2-standard-8"})) == (
        [
            "spec.cluster.gke.systemPool.machineType: cluster east has a system pool of g2-standard-8, "
            f"which comes with GPUs ({sources.GPUS})",
            "spec.nodePools[0].name: pool system of cluster east has the name of the system pool",
            'spec.nodePools[0].labels["cloud.google.com/gke-spot"]: pool system of cluster east has label '
            f"cloud.google.com/gke-spot, which GKE sets itself ({sources.NODE_POOL_API})",
            "spec.nodePools[0].taints[0]: pool system of cluster east has taint nvidia.com/gpu, which GKE "
            f"sets on all GPU nodes ({sources.GKE_GPUS})",
        ],
        [],
    )


@pytest.mark.parametrize(
    "machine_type", ["e2-standard-8", "n1-standard-8", "c3-standard-8", "n4d-highmem-16", "n2-custom-8-16384"]
)
def test_a_system_pool_may_have_any_machine_without_gpus(machine_type: str) -> None:
    pools = {"p": pool(recipe("g2-standard-4"))}
    assert told(stack(pools, systemPool={"machineType": machine_type})) == ([], [])


@pytest.mark.parametrize(
    "machine_type", ["c4a-standard-4", "t2a-standard-4", "n4a-standard-8", "a4x-highgpu-4g"]
)
def test_a_system_pool_of_arm_machines_would_leave_pickers_pending(machine_type: str) -> None:
    (problem,), _ = told(
        stack({"p": pool(recipe("g2-standard-4"))}, systemPool={"machineType": machine_type})
    )
    assert ("arm64" in problem) is (machine_type != "a4x-highgpu-4g")


@pytest.mark.parametrize(
    "asked",
    [
        recipe("ct5lp-hightpu-4t", accelerator={"type": "tpu-v5-lite-podslice", "count": 4}),
        {
            **recipe("tpu7x-standard-4t"),
            "provisioning": {"provider": "GKE", "gke": {"machineType": "tpu7x-standard-4t"}},
        },
    ],
)
def test_nodes_with_tpus_are_not_offered_and_nothing_else_is_said_of_their_class(
    asked: dict[str, Any],
) -> None:
    machine = asked["provisioning"]["gke"]["machineType"]
    assert told(stack({"p": pool(asked)})) == (
        [
            f"spec.provisioning.gke.machineType: class p has machine type {machine}, and nodes with TPUs are "
            "not offered"
        ],
        [],
    )


@pytest.mark.parametrize(
    ("networks", "told_of"),
    [
        ([], ["spec.cluster.gke.controlPlaneEndpoint: {}no authorizedNetworks limit it"]),
        (
            ["203.0.113.0/24", "0.0.0.0/0"],
            ["spec.cluster.gke.authorizedNetworks: {}authorizedNetworks has 0.0.0.0/0"],
        ),
        (["203.0.113.0/24"], []),
    ],
)
def test_an_api_server_that_everybody_reaches_is_a_warning(networks: list[str], told_of: list[str]) -> None:
    endpoint = {"controlPlaneEndpoint": "IP", "privateNodes": False, "authorizedNetworks": networks}
    begins = "the API server of cluster east can be reached by its address from everywhere: "
    assert told(stack({"p": pool(recipe("g2-standard-4"))}, **endpoint)) == (
        [],
        [line.format(begins) for line in told_of],
    )


def test_private_ranges_before_a_public_address_are_a_warning() -> None:
    networks = {"controlPlaneEndpoint": "IP", "authorizedNetworks": ["10.0.0.0/8", "192.168.1.0/24"]}
    pools = {"p": pool(recipe("g2-standard-4"))}
    assert told(stack(pools, **networks)) == (
        [],
        [
            "spec.cluster.gke.authorizedNetworks: the API server of cluster east has a public address, and "
            "authorizedNetworks has private ranges alone (10.0.0.0/8, 192.168.1.0/24), from which nothing "
            "reaches it there"
        ],
    )
    vpc = {"name": "vpc", "subnetwork": "nodes", "podsRange": "pods", "servicesRange": "svc"}
    private = {**networks, "controlPlaneAccess": "Private"}
    assert told(stack(pools, **private, network={"existing": vpc})) == ([], [])
    assert told(stack(pools, **private)) == (
        [
            "spec.cluster.gke.controlPlaneAccess: the API server of cluster east would be reached from "
            "its own network alone, which this update makes: no machine is in it that could go on"
        ],
        [],
    )
    assert told(stack(pools, **private), existing=("east",)) == ([], [])


def test_abandoned_and_existing_clusters_are_left_alone() -> None:
    bad = stack({"p": pool(recipe("a3-ultragpu-8g"))})
    gone = bad.clusters["east"].model_dump(by_alias=True, exclude_unset=True)
    gone["spec"]["state"] = "abandoned"
    existing = {
        "metadata": {"name": "west"},
        "spec": {
            "cluster": {"source": "Existing", "existing": {"kubeconfig": {"path": "k"}}},
            "nodePools": [{"name": "p", "className": "p", "nodeCount": 5}],
            "serving": {"gateway": {"className": "any"}},
        },
    }
    clusters = {
        "east": InferenceCluster.model_validate(gone),
        "west": InferenceCluster.model_validate(existing),
    }
    documents = Documents(Settings(stack="test"), classes=bad.classes, clusters=clusters)
    assert list(recipe_problems(documents, described_clusters(documents))) == []
