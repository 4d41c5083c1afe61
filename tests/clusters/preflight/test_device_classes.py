"""A cluster where pods claim devices serves the API for it, and has every DeviceClass that they name."""

from collections.abc import Callable
from typing import Any

import pytest
from fake_cluster import KINDS, FakeCluster, thing
from own_cluster import east_problem
from test_observe import OURS, east, look

from inferfleet.fleet.decisions import Leaving

Start = Callable[..., FakeCluster]
DRA = {
    "resource.k8s.io/v1": {
        "DeviceClass": ("deviceclasses", False),
        "ResourceClaimTemplate": ("resourceclaimtemplates", True),
    },
    "resource.nvidia.com/v1beta1": {"ComputeDomain": ("computedomains", True)},
}
CLIQUE = "nvidia.com/gpu.clique"
GPU, CHANNEL = "gpu.nvidia.com", "compute-domain-default-channel.nvidia.com"


def _object(version: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": OURS}, **fields}


def _template(*classes: str) -> dict[str, Any]:
    requests = [{"name": f"r{at}", "exactly": {"deviceClassName": name}} for at, name in enumerate(classes)]
    spec = {"spec": {"devices": {"requests": requests}}}
    return _object("resource.k8s.io/v1", "ResourceClaimTemplate", "qwen-1", spec=spec)


def _domain() -> dict[str, Any]:
    return _object("resource.nvidia.com/v1beta1", "ComputeDomain", "qwen", spec={})


def _device_class(name: str) -> dict[str, Any]:
    return _object("resource.k8s.io/v1", "DeviceClass", name)


def test_a_cluster_with_all_device_classes_is_ready(cluster: Start) -> None:
    fake = cluster(kinds={**KINDS, **DRA}, objects=[_device_class(GPU), _device_class(CHANNEL)])
    assert look(fake, east(_template(GPU), _domain())).problems == ()


def test_each_missing_device_class_is_named_with_what_brings_it(cluster: Start) -> None:
    fake = cluster(kinds={**KINDS, **DRA}, objects=[_device_class("tpu.google.com")])
    seen = look(fake, east(_template(GPU, "nic.example"), _domain()))
    has = "which claims of pods name (it has: tpu.google.com)"
    chart = "NVIDIA's DRA driver (chart dra-driver-nvidia-gpu"
    correct = "or correct deviceClassName in the class"
    assert seen.problems == (
        east_problem(
            f"cluster 'east' has no DeviceClass {CHANNEL!r}, {has}",
            f"Install {chart}, resources.computeDomains.enabled: true), {correct}",
            "spec.nodePools",
        ),
        east_problem(
            f"cluster 'east' has no DeviceClass {GPU!r}, {has}",
            f"Install {chart}, gpuResourcesEnabledOverride: true), {correct}",
            "spec.nodePools",
        ),
        east_problem(
            f"cluster 'east' has no DeviceClass 'nic.example', {has}",
            f"Install the DRA driver that brings it, {correct}",
            "spec.nodePools",
        ),
    )


@pytest.mark.parametrize(
    ("kinds", "what", "next_step"),
    [
        (
            {"resource.k8s.io/v1beta2": DRA["resource.k8s.io/v1"]},
            "cluster 'east' does not know DeviceClass, ResourceClaimTemplate of resource.k8s.io/v1 "
            "(of this group it serves v1beta2)",
            "Bring the cluster to Kubernetes 1.34, or use classes with allocation: DevicePlugin there",
        ),
        (
            {},
            "cluster 'east' does not know DeviceClass, ResourceClaimTemplate of resource.k8s.io/v1",
            "Bring the cluster to Kubernetes 1.34, or use classes with allocation: DevicePlugin there",
        ),
    ],
)
def test_an_older_kubernetes_is_named_with_what_it_serves(
    cluster: Start, kinds: dict[str, Any], what: str, next_step: str
) -> None:
    fake = cluster(kinds={**KINDS, **kinds})
    assert look(fake, east(_template(GPU))).problems == (east_problem(what, next_step, "spec.nodePools"),)


def test_a_cluster_without_compute_domains_is_told_where_they_come_from(cluster: Start) -> None:
    kinds = {**KINDS, "resource.k8s.io/v1": DRA["resource.k8s.io/v1"]}
    fake = cluster(kinds=kinds, objects=[_device_class(CHANNEL)])
    assert look(fake, east(_domain())).problems == (
        east_problem(
            "cluster 'east' does not know ComputeDomain of resource.nvidia.com/v1beta1",
            "Install NVIDIA's DRA driver (chart dra-driver-nvidia-gpu, resources.computeDomains.enabled: "
            "true), "
            "or leave out the class's device of IMEX channels",
            "spec.nodePools",
        ),
    )


def _node(name: str, **labels: str) -> dict[str, Any]:
    named = {"name": name, "labels": {"inferfleet.dev/pool": "gb200", **labels}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": named}


def _worker_set() -> dict[str, Any]:
    term = {"topologyKey": CLIQUE}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = {"nodeSelector": {"inferfleet.dev/pool": "gb200"}, "affinity": affinity, "containers": []}
    made = _object(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        "qwen",
        spec={"leaderWorkerTemplate": {"workerTemplate": {"spec": spec}}},
    )
    return {**made, "metadata": {**made["metadata"], "namespace": "ml"}}


def _of_domains(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    sets = {"leaderworkerset.x-k8s.io/v1": {"LeaderWorkerSet": ("leaderworkersets", True)}}
    v1 = {**KINDS["v1"], "Node": ("nodes", False)}
    return {"kinds": {**KINDS, **sets, "v1": v1}, "objects": nodes}


@pytest.mark.parametrize(
    "nodes",
    [[], [_node("a", **{CLIQUE: "c1.0"}), _node("b")], [_node("x") | {"metadata": {"name": "x"}}]],
    ids=["a pool of no nodes yet", "a node that lost its label", "nodes of other pools"],
)
def test_nothing_is_said_where_nodes_tell_their_domain(cluster: Start, nodes: list[dict[str, Any]]) -> None:
    fake = cluster(**_of_domains(nodes))
    assert [one for one in look(fake, east(_worker_set())).problems if CLIQUE in one.what] == []


def test_a_pool_whose_nodes_do_not_tell_their_nvlink_domain_is_told(cluster: Start) -> None:
    fake = cluster(**_of_domains([_node("a"), _node("b")]))
    told = [one for one in look(fake, east(_worker_set())).problems if CLIQUE in one.what]
    assert told == [
        east_problem(
            "none of the 2 nodes of cluster 'east' with inferfleet.dev/pool=gb200 has the label "
            "nvidia.com/gpu.clique, and pods of a worker of ml/qwen must be on nodes of one NVLink domain",
            "Install NVIDIA's GPU feature discovery there, or set gpuCliqueLabelEnabled: true in the chart "
            "dra-driver-nvidia-gpu",
            "spec.nodePools",
        )
    ]


def test_a_leaving_workload_that_claims_its_gpus_holds_them(cluster: Start) -> None:
    template = {
        "metadata": {
            "labels": {"inferfleet.dev/deployment": "a", "inferfleet.dev/role": "decode"},
            "annotations": {"inferfleet.dev/claimed-gpus": "8"},
        },
        "spec": {"nodeSelector": {"inferfleet.dev/pool": "h100"}, "containers": [{"name": "engine"}]},
    }
    workload = thing(
        "Deployment", "a-decode-h100", "ml", labels=OURS, spec={"replicas": 2, "template": template}
    )
    assert look(cluster(objects=[workload]), east()).leaving == (
        Leaving("east", "ml", "a-decode-h100", pool="h100", pods=2, gpus_per_pod=8, deployment="ml/a"),
    )
