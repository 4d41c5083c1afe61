"""What drivers publish of a class: as much as the class says, in the form that the API server takes."""

from typing import Any

from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from sandbox.cluster.nodes import nodes
from sandbox.devices.published import MADE_FROM, has_channels, published

GPU = {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": 2}
NIC = {"name": "nic", "driver": "dra.net", "claim": "Synthetic", "count": 8}
IMEX = {
    "name": "imex",
    "driver": "compute-domain.nvidia.com",
    "deviceClassName": "compute-domain-default-channel.nvidia.com",
}


def _class(*devices: dict[str, Any], allocation: str = "DRA") -> InferenceClass:
    node = {"cpu": "11", "memory": "40Gi", "pods": 100}
    spec = {"node": node, "devices": devices, "allocation": allocation}
    return InferenceClass.model_validate({"metadata": {"name": "kind"}, "spec": spec})


def _cluster(count: int = 1) -> InferenceCluster:
    source = {"source": "Existing", "existing": {"kubeconfig": {"path": "east.kubeconfig"}}}
    pools = [{"name": "l4", "className": "kind", "nodeCount": count}]
    spec = {"cluster": source, "nodePools": pools, "serving": {"gateway": {"className": "any"}}}
    return InferenceCluster.model_validate({"metadata": {"name": "east"}, "spec": spec})


def _published(*devices: dict[str, Any], count: int = 1, **spec: Any) -> list[dict[str, Any]]:
    made = published(_cluster(count), {"kind": _class(*devices, **spec)})
    for one in made:
        assert one["metadata"]["annotations"].pop(MADE_FROM)
        del one["metadata"]["annotations"]
    return list(made)


def test_a_node_publishes_the_devices_that_pods_can_claim() -> None:
    attributes = {"architecture": {"string": "Hopper"}, "cudaComputeCapability": {"version": "9.0.0"}}
    gpu = {**GPU, "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}
    device_class, one_slice = _published(gpu, NIC)
    assert device_class == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu.nvidia.com"},
        "spec": {
            "selectors": [
                {
                    "cel": {
                        "expression": "device.driver == 'gpu.nvidia.com' && "
                        "device.attributes['gpu.nvidia.com'].type == 'gpu'"
                    }
                }
            ]
        },
    }
    uuids = [device["attributes"].pop("uuid")["string"] for device in one_slice["spec"]["devices"]]
    assert len(set(uuids)) == 2
    own = {"type": {"string": "gpu"}, **attributes}
    capacity = {"memory": {"value": "80Gi"}}
    assert one_slice == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "east-l4-0-gpu"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": "east-l4-0",
            "pool": {"name": "east-l4-0-gpu", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": "gpu-0", "attributes": own, "capacity": capacity},
                {"name": "gpu-1", "attributes": own, "capacity": capacity},
            ],
        },
    }


def test_every_node_has_slices_of_its_own_and_the_cluster_one_class() -> None:
    made = _published(GPU, count=3)
    assert [one["metadata"]["name"] for one in made] == [
        "gpu.nvidia.com",
        *(f"east-l4-{number}-gpu" for number in range(3)),
    ]


def test_no_driver_publishes_what_the_api_server_would_refuse() -> None:
    attributes = {"form-factor": {"string": "SXM"}, "long": {"string": "x" * 65}, "a": {"int": 1}}
    _, one_slice = _published({**GPU, "attributes": attributes})
    assert [sorted(device["attributes"]) for device in one_slice["spec"]["devices"]] == [
        ["a", "type", "uuid"],
        ["a", "type", "uuid"],
    ]


def test_with_the_device_plugin_only_channels_are_published() -> None:
    made = _published(GPU, IMEX, allocation="DevicePlugin")
    assert [one["metadata"]["name"] for one in made] == [IMEX["deviceClassName"], "east-l4-0-imex"]
    assert has_channels(made)
    assert not has_channels(_published(GPU))


def test_nodes_with_claims_have_no_extended_resource_and_the_taint_all_the_same() -> None:
    _, node = nodes(_cluster(), {"kind": _class(GPU)})
    assert node["status"]["capacity"] == {"cpu": "11", "memory": "40Gi", "pods": "100"}
    assert node["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
