"""Pools whose networks between GPUs GKE makes: what pods claim, what is installed, and what is warned of."""

from dataclasses import replace
from typing import Any

import pytest
from small_stack import NOTHING, deployment, find, stack

from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.plugins.registry import builtin

CLASS = InferenceClass.model_validate(
    {
        "metadata": {"name": "b200"},
        "spec": {
            "node": {"cpu": "200", "memory": "1700Gi"},
            "devices": [
                {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": 8},
                {"name": "nic", "driver": "dra.net", "deviceClassName": "mrdma.google.com", "count": 8},
            ],
            "provisioning": {
                "provider": "GKE",
                "gke": {
                    "machineType": "a4-highgpu-8g",
                    "accelerator": {"type": "nvidia-b200", "count": 8},
                    "networking": {"gpuDirect": "RDMA", "acceleratorNetworkProfile": "Auto"},
                },
            },
        },
    }
)
ON_FABRIC: dict[str, Any] = {"plugins": [{"name": "network-fabric"}]}


def _documents(who: str | None = None, gpus: int = 8, replicas: int = 1, **spec: Any) -> Documents:
    """Deployment `a` on pool `gpus` of GKE cluster `east`."""
    gke = {"project": "acme-prod", "region": "us-east5", "minVersion": "1.35"}
    pool = {"name": "gpus", "className": "b200", "maxNodeCount": 2, "zones": ["us-east5-a"]}
    east = InferenceCluster.model_validate(
        {
            "metadata": {"name": "east"},
            "spec": {
                "cluster": {"source": "GKE", "gke": {**gke, "network": {"gpuDirect": who} if who else {}}},
                "nodePools": [{**pool, "capacity": {"model": "Spot"}}],
            },
        }
    )
    engine = {"command": ["vllm", "serve"], "args": [f"--tensor-parallel-size={gpus}"]}
    a = deployment("a", gpus=gpus, replicas=replicas, engine=engine, capacityModels=["Spot"], **spec)
    return replace(stack(east, a), classes={"b200": CLASS})


def _made(documents: Documents) -> Desired:
    return desired(documents, NOTHING, registry=builtin())


def _told(found: Desired) -> list[str]:
    return [one.what for one in found.warnings if "GPUDirect" in one.what or "NCCL" in one.what]


@pytest.mark.parametrize("gpus", [8, 2])
def test_pods_claim_as_many_cards_as_they_have_gpus(gpus: int) -> None:
    found = _made(_documents("Existing", gpus))
    (template,) = [one for one in found.clusters[0].objects if one.kind == "ResourceClaimTemplate"]
    exactly = {"deviceClassName": "mrdma.google.com", "allocationMode": "ExactCount", "count": gpus}
    assert template.manifest["spec"] == {
        "spec": {"devices": {"requests": [{"name": "nic", "exactly": exactly}]}}
    }
    workload = find(found, "Deployment", "east/ml/a-decode-gpus")
    pod = workload.manifest["spec"]["template"]
    (engine,) = pod["spec"]["containers"]
    assert pod["spec"]["resourceClaims"] == [
        {"name": "devices", "resourceClaimTemplateName": template.kubernetes_name}
    ]
    assert engine["resources"] == {
        "limits": {**engine["resources"]["limits"], "nvidia.com/gpu": str(gpus)},
        "requests": {**engine["resources"]["requests"], "nvidia.com/gpu": str(gpus)},
        "claims": [{"name": "devices"}],
    }
    assert "inferfleet.dev/claimed-gpus" not in pod["metadata"].get("annotations", {})
    assert template.key in workload.after
    assert _told(found) == []


def test_the_stack_installs_nccl_and_makes_no_networks() -> None:
    found = _made(_documents("Stack", **ON_FABRIC))
    kinds = ("GKENetworkParamSet", "Network", "DaemonSet")
    made = [f"{one.kind} {one.name}" for one in found.clusters[0].objects if one.kind in kinds]
    assert made == ["DaemonSet east/kube-system/nccl-rdma-installer"]
    pod = find(found, "Deployment", "east/ml/a-decode-gpus").manifest["spec"]["template"]
    assert "networking.gke.io/interfaces" not in pod["metadata"].get("annotations", {})
    assert _told(found) == []


def test_cards_that_no_pod_claims_and_an_installer_that_nobody_is_said_to_bring_are_warnings() -> None:
    assert _told(_made(_documents(**ON_FABRIC))) == [
        "cluster east does not say who installs Google's NCCL on pool gpus, where pods of ml/a claim network "
        "cards; without it engines with the plugin network-fabric do not start"
    ]
    assert _told(_made(_documents("Stack", replicas=0))) == [
        "pool gpus of cluster east has GPUDirect-RDMA (class b200): networks that GKE makes, and no pod that "
        "is placed there claims a network card"
    ]
