"""What the pods of a role claim, by class and shape: whole objects, and what no cluster would allocate."""

from collections.abc import Callable
from typing import Any

import pytest

from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.shapes import Shape
from inferfleet.fleet.spot import Spot
from inferfleet.serving.claims import Claims, claims
from inferfleet.serving.pod.hardware import PodClaim

Make = Callable[..., ModelDeployment]
GPU = {
    "name": "gpu",
    "driver": "gpu.nvidia.com",
    "deviceClassName": "gpu.nvidia.com",
    "count": 8,
    "attributes": {"architecture": {"string": "Hopper"}},
}
NIC = {"name": "nic", "driver": "dra.net", "claim": "Synthetic", "attributes": {"link": {"string": "tcpxo"}}}
RDMA = {"name": "rdma", "driver": "dra.net", "deviceClassName": "mrdma.google.com", "count": 4}
IMEX = {
    "name": "imex",
    "driver": "compute-domain.nvidia.com",
    "deviceClassName": "compute-domain-default-channel.nvidia.com",
}
LABELS = {
    "app.kubernetes.io/managed-by": "inferfleet",
    "inferfleet.dev/stack": "prod",
    "inferfleet.dev/deployment": "qwen",
    "inferfleet.dev/role": "decode",
    "inferfleet.dev/placement": "h100",
}
HOPPER = 'attributes["gpu.nvidia.com/architecture"] == "Hopper"'
DOMAIN = {
    "apiVersion": "resource.nvidia.com/v1beta1",
    "kind": "ComputeDomain",
    "metadata": {"name": "qwen-decode-h100", "namespace": "ml", "labels": LABELS},
    "spec": {
        "numNodes": 0,
        "channel": {"resourceClaimTemplate": {"name": "qwen-decode-h100-channel"}},
    },
}


def _class(*devices: dict[str, Any], allocation: str = "DRA") -> InferenceClass:
    return InferenceClass.model_validate(
        {
            "metadata": {"name": "h100"},
            "spec": {
                "node": {"cpu": "208", "memory": "1872Gi"},
                "devices": devices,
                "allocation": allocation,
            },
        }
    )


def _claims(document: ModelDeployment, spot: Spot, kind: InferenceClass, shape: Shape) -> Claims:
    return claims(document, spot, "decode", inference_class=kind, shape=shape, stack="prod")


def _requests(made: Claims) -> list[dict[str, Any]]:
    requests: list[dict[str, Any]] = made.objects[0]["spec"]["spec"]["devices"]["requests"]
    return requests


def test_a_pod_claims_the_gpus_of_its_shape(deployment: Make, spot: Spot) -> None:
    made = _claims(deployment(), spot, _class(GPU, NIC), Shape(1, 2))
    name = "qwen-decode-h100-e63b36a6"
    exactly = {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 2}
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "ml", "labels": LABELS},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}},
    }
    assert made == Claims((PodClaim("devices", name, 2),), (template,))


def test_the_shorthand_of_a_class_is_claimed_too(deployment: Make, spot: Spot) -> None:
    kind = InferenceClass.model_validate(
        {
            "metadata": {"name": "h100"},
            "spec": {
                "node": {"cpu": "208", "memory": "1872Gi"},
                "resources": {"gpu": {"count": 8, "memory": "80Gi"}},
                "allocation": "DRA",
            },
        }
    )
    made = _claims(deployment(), spot, kind, Shape(1, 8))
    assert [(request["name"], request["exactly"]["count"]) for request in _requests(made)] == [("gpu", 8)]


@pytest.mark.parametrize(
    ("gpus", "counts"),
    [
        (8, {"gpu": 8, "rdma": 4}),
        (4, {"gpu": 4, "rdma": 2}),
        (3, {"gpu": 3, "rdma": 1}),
        (1, {"gpu": 1}),
    ],
)
def test_other_devices_are_claimed_by_the_share_of_the_gpus(
    deployment: Make, spot: Spot, gpus: int, counts: dict[str, int]
) -> None:
    made = _claims(deployment(), spot, _class(GPU, RDMA), Shape(1, gpus))
    assert {request["name"]: request["exactly"]["count"] for request in _requests(made)} == counts


def test_the_selector_of_the_role_is_asked_of_each_device(deployment: Make, spot: Spot) -> None:
    written = f'{HOPPER} && attributes["dra.net/link"] == "tcpxo"'
    made = _claims(deployment(nodeSelector={"cel": written}), spot, _class(GPU, NIC), Shape(1, 2))
    (request,) = _requests(made)
    asked = 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'
    assert request["exactly"]["selectors"] == [{"cel": {"expression": asked}}]
    assert made.objects[0]["metadata"]["annotations"] == {
        "inferfleet.dev/not-claimed": 'attributes["dra.net/link"] == "tcpxo": it is about device nic, '
        "which is not claimed"
    }
    assert made.problems == ()


def test_other_contents_have_another_name_and_the_same_the_same(deployment: Make, spot: Spot) -> None:
    def name(gpus: int, **spec: Any) -> str:
        return _claims(deployment(**spec), spot, _class(GPU), Shape(1, gpus)).pods[0].template

    assert name(2) == name(2, replicas=7)
    assert len({name(2), name(4), name(2, nodeSelector={"cel": HOPPER})}) == 3


def test_classes_of_the_device_plugin_claim_nothing(deployment: Make, spot: Spot) -> None:
    made = _claims(deployment(), spot, _class(GPU, RDMA, IMEX, allocation="DevicePlugin"), Shape(1, 8))
    assert made == Claims()


@pytest.mark.parametrize("allocation", ["DRA", "DevicePlugin"])
def test_workers_over_several_nodes_share_memory_by_a_compute_domain(
    deployment: Make, spot: Spot, allocation: str
) -> None:
    made = _claims(deployment(), spot, _class(GPU, IMEX, allocation=allocation), Shape(2, 8))
    assert made.objects[-1] == DOMAIN
    shared_by = "nvidia.com/gpu.clique"
    assert made.pods[-1] == PodClaim("channel", "qwen-decode-h100-channel", shared_by=shared_by)
    assert (len(made.pods), made.problems) == (2 if allocation == "DRA" else 1, ())


def test_a_worker_of_one_pod_takes_no_channel(deployment: Make, spot: Spot) -> None:
    made = _claims(deployment(), spot, _class(GPU, IMEX), Shape(1, 8))
    assert [claim.name for claim in made.pods] == ["devices"]
    assert [request["name"] for request in _requests(made)] == ["gpu"]


def test_each_role_claims_for_itself(deployment: Make) -> None:
    spot = Spot("ml/qwen", "east", (("decode", "h100"), ("draft", "l4")))
    roles = {
        "draft": {
            "workers": {
                "topology": {"tensor": 1},
                "template": {"spec": {"containers": [{"name": "engine", "image": "vllm:1"}]}},
            },
            "nodeSelector": {"cel": HOPPER},
        }
    }
    document = deployment(roles=roles, nodeSelector={"cel": "true"})
    made = claims(document, spot, "draft", inference_class=_class(GPU), shape=Shape(1, 1), stack="prod")
    assert made.pods[0].template.startswith("qwen-draft-l4-")
    assert made.objects[0]["metadata"]["labels"]["inferfleet.dev/role"] == "draft"
    asked = 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'
    assert _requests(made)[0]["exactly"]["selectors"] == [{"cel": {"expression": asked}}]


@pytest.mark.parametrize(
    ("kind", "shape", "said"),
    [
        pytest.param(
            _class({**GPU, "count": 32}, {**RDMA, "count": 16}),
            Shape(1, 32),
            "spec.workers.topology: each pod claims 48 devices of class h100 (32 gpu and 16 rdma); a claim "
            "gets "
            "32. Make the topology smaller, or let devices of the class be claim: Synthetic",
            id="more devices than a claim gets",
        ),
        pytest.param(
            _class({**GPU, "name": "GPU"}),
            Shape(1, 1),
            "spec.devices[0].name: name 'GPU' of a device that pods claim must be at most 63 lowercase "
            "letters, "
            "digits and '-', with a letter or digit at both ends. Write it like gpu",
            id="a name that no request can have",
        ),
        pytest.param(
            _class({**GPU, "deviceClassName": "gpu_nvidia"}),
            Shape(1, 1),
            "spec.devices[0].deviceClassName: deviceClassName 'gpu_nvidia' of a device that pods claim "
            "must be at "
            "most 253 lowercase letters, digits, '-' and '.', with a letter or digit at both ends. Write "
            "it like "
            "gpu.nvidia.com",
            id="a name that no DeviceClass can have",
        ),
        pytest.param(
            _class(GPU, IMEX),
            Shape(2, 4),
            "spec.workers.topology: each pod has 4 of the 8 GPUs of a node of class h100; a node has one "
            "IMEX "
            "channel, so no other worker of several pods could have the rest. Choose a topology whose pods "
            "have "
            "all 8 GPUs: tensor x dataLocal",
            id="a channel on a node that others share",
        ),
    ],
)
def test_what_nobody_would_allocate_is_told(
    deployment: Make, spot: Spot, kind: InferenceClass, shape: Shape, said: str
) -> None:
    made = _claims(deployment(), spot, kind, shape)
    assert [str(problem) for problem in made.problems] == [said]


def test_cards_that_gke_offers_are_claimed_beside_gpus_of_the_device_plugin(
    deployment: Make, spot: Spot
) -> None:
    gke = {
        "machineType": "a4-highgpu-8g",
        "accelerator": {"type": "nvidia-b200", "count": 8},
        "networking": {"gpuDirect": "RDMA", "acceleratorNetworkProfile": "Auto"},
    }
    plain = _class(GPU, {**RDMA, "count": 8}, allocation="DevicePlugin")
    assert _claims(deployment(), spot, plain, Shape(1, 8)) == Claims()
    written = plain.model_dump(by_alias=True, exclude_none=True)
    written["spec"]["provisioning"] = {"provider": "GKE", "gke": gke}
    made = _claims(deployment(), spot, InferenceClass.model_validate(written), Shape(2, 8))
    exactly = {"deviceClassName": "mrdma.google.com", "allocationMode": "ExactCount", "count": 8}
    (template,) = made.objects
    assert template["spec"] == {"spec": {"devices": {"requests": [{"name": "rdma", "exactly": exactly}]}}}
    assert made == Claims((PodClaim("devices", template["metadata"]["name"]),), (template,))
