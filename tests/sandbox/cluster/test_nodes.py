"""Nodes carry what GKE and kwok put on real ones, as far as classes and pools say it."""

from typing import Any

from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from sandbox.cluster.nodes import MADE_FROM, nodes

GPU = {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com"}
NIC = {"name": "nic", "driver": "dra.net", "claim": "Synthetic", "count": 8}


PAGES = {"cpu": "11", "memory": "40Gi", "hugepages": {"2Mi": "4Gi"}}


def _class(*devices: dict[str, Any], **spec: Any) -> InferenceClass:
    node = {"cpu": "11", "memory": "40Gi", "pods": 100}
    return InferenceClass.model_validate(
        {"metadata": {"name": "kind"}, "spec": {"node": node, "devices": devices, **spec}}
    )


def _cluster(*pools: dict[str, Any], **spec: Any) -> InferenceCluster:
    source = {"source": "Existing", "existing": {"kubeconfig": {"path": "east.kubeconfig"}}}
    serving = {"gateway": {"className": "any"}}
    of_kind = [{"className": "kind", **pool} for pool in pools]
    spec = {"cluster": source, "nodePools": of_kind, "serving": serving, **spec}
    return InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": spec})


def _product(name: str) -> dict[str, Any]:
    return {"attributes": {"productName": {"string": name}}}


def test_a_pool_node_has_its_class_s_capacity_and_gke_s_labels_and_taint() -> None:
    cluster = _cluster({"name": "l4", "nodeCount": 1})
    _, node = nodes(cluster, {"kind": _class({**GPU, "count": 4, **_product("NVIDIA L4")}, NIC)})
    assert node["metadata"]["annotations"].pop(MADE_FROM)
    assert node == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "east-l4-0",
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": "east-l4-0",
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/region": "sandbox",
                "topology.kubernetes.io/zone": "sandbox-a",
                "inferfleet.dev/pool": "l4",
                "cloud.google.com/gke-nodepool": "l4",
                "nvidia.com/gpu.product": "NVIDIA-L4",
                "cloud.google.com/gke-accelerator": "nvidia-l4",
            },
        },
        "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {"cpu": "11", "memory": "40Gi", "pods": "100", "nvidia.com/gpu": "4"},
            "allocatable": {"cpu": "11", "memory": "40Gi", "pods": "100", "nvidia.com/gpu": "4"},
        },
    }


def test_a_node_has_huge_pages_and_resources_that_only_selectors_see() -> None:
    adapter = {"name": "adapter", "driver": "rdma/ib", "claim": "Synthetic", "count": 8}
    kind = _class({**GPU, "count": 4}, NIC, adapter, node=PAGES)
    _, node = nodes(_cluster({"name": "l4", "nodeCount": 1}), {"kind": kind})
    assert node["status"]["allocatable"] == {
        "cpu": "11",
        "memory": "40Gi",
        "pods": "110",
        "hugepages-2Mi": "4Gi",
        "nvidia.com/gpu": "4",
        "rdma/ib": "8",
    }


def test_nodes_with_imex_channels_tell_their_nvlink_domain_one_for_each_pool() -> None:
    channel = "compute-domain-default-channel.nvidia.com"
    imex = {"name": "imex", "driver": "compute-domain.nvidia.com", "deviceClassName": channel}
    pools = [{"name": name, "nodeCount": 2} for name in ("rack-a", "rack-b")]
    _, *racks = nodes(_cluster(*pools), {"kind": _class(GPU, imex)})
    told = [node["metadata"]["labels"]["nvidia.com/gpu.clique"] for node in racks]
    assert told == ["rack-a.0", "rack-a.0", "rack-b.0", "rack-b.0"]


def test_every_cluster_has_one_untainted_node_without_devices() -> None:
    node = nodes(_cluster({"name": "l4", "nodeCount": 0}), {"kind": _class(GPU)})[0]
    assert node["metadata"]["name"] == "cpu.east"
    assert node["spec"] == {"taints": []}
    assert node["status"]["allocatable"] == {"cpu": "32", "memory": "128Gi", "pods": "110"}


def test_a_pool_stands_at_its_full_size() -> None:
    cluster = _cluster({"name": "a", "minNodeCount": 1, "maxNodeCount": 3}, {"name": "b", "nodeCount": 2})
    names = [node["metadata"]["name"] for node in nodes(cluster, {"kind": _class(GPU)})]
    assert names == ["cpu.east", "east-a-0", "east-a-1", "east-a-2", "east-b-0", "east-b-1"]


def test_a_pool_s_own_selector_and_taints_and_the_cluster_s_taints_are_on_its_nodes() -> None:
    own = {"key": "nvidia.com/gpu", "value": "own", "effect": "NoSchedule"}
    team = {"key": "team", "value": "ml", "effect": "NoExecute"}
    pool = {"name": "a", "nodeCount": 1, "nodeSelector": {"rack": "r1"}, "taints": [own]}
    node = nodes(_cluster(pool, taints=[team]), {"kind": _class(GPU)})[1]
    assert node["metadata"]["labels"]["rack"] == "r1"
    assert node["spec"]["taints"] == [team, own]


def test_devices_of_other_vendors_get_their_own_resource_and_no_nvidia_taint() -> None:
    amd = {"name": "gpu", "driver": "gpu.amd.com", "deviceClassName": "gpu.amd.com", "count": 8}
    node = nodes(_cluster({"name": "a", "nodeCount": 1}), {"kind": _class(amd)})[1]
    assert node["spec"] == {"taints": []}
    assert node["status"]["capacity"]["amd.com/gpu"] == "8"


def test_a_node_of_another_kind_is_told_from_the_one_that_stands_by_what_it_was_made_from() -> None:
    cluster = _cluster({"name": "a", "nodeCount": 1})
    before, same, after = (
        nodes(cluster, {"kind": _class({**GPU, "count": count})})[1]["metadata"]["annotations"][MADE_FROM]
        for count in (1, 1, 2)
    )
    assert before == same != after
