"""Networks between GPUs on clusters that the stack creates: what is made for them, and what is warned of."""

from dataclasses import replace
from typing import Any

import pytest
from small_stack import NOTHING, deployment, find, stack

from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.plugins.registry import builtin


def _class(name: str, machine: str, gpu: str, kind: str) -> InferenceClass:
    return InferenceClass.model_validate(
        {
            "metadata": {"name": name},
            "spec": {
                "node": {"cpu": "200", "memory": "1700Gi"},
                "resources": {"gpu": {"count": 8, "memory": "80Gi"}},
                "provisioning": {
                    "provider": "GKE",
                    "gke": {
                        "machineType": machine,
                        "accelerator": {"type": gpu, "count": 8},
                        "networking": {"gpuDirect": kind},
                    },
                },
            },
        }
    )


CLASSES = {
    "tcpx": _class("tcpx", "a3-highgpu-8g", "nvidia-h100-80gb", "TCPX"),
    "mega": _class("mega", "a3-megagpu-8g", "nvidia-h100-mega-80gb", "TCPXO"),
    "h200": _class("h200", "a3-ultragpu-8g", "nvidia-h200-141gb", "RDMA"),
}
ON_FABRIC: dict[str, Any] = {"plugins": [{"name": "network-fabric"}]}


def _documents(class_name: str = "mega", who: str | None = None, **spec: Any) -> Documents:
    """Deployment `a`, whose pods take whole nodes, on pool `gpus` of GKE cluster `east`."""
    east = InferenceCluster.model_validate(
        {
            "metadata": {"name": "east"},
            "spec": {
                "cluster": {
                    "source": "GKE",
                    "gke": {
                        "project": "acme-prod",
                        "region": "us-east5",
                        "minVersion": "1.33",
                        "network": {"gpuDirect": who} if who else {},
                    },
                },
                "nodePools": [
                    {
                        "name": "gpus",
                        "className": class_name,
                        "maxNodeCount": 2,
                        "zones": ["us-east5-a"],
                        "capacity": {"model": "Spot"},
                    }
                ],
            },
        }
    )
    engine = {"command": ["vllm", "serve"], "args": ["--tensor-parallel-size=8"]}
    a = deployment("a", gpus=8, engine=engine, capacityModels=["Spot"], **spec)
    return replace(stack(east, a), classes=CLASSES)


def _made(documents: Documents) -> Desired:
    return desired(documents, NOTHING, registry=builtin())


def _told(found: Desired) -> list[tuple[str, str, str]]:
    return [
        (one.path, one.what, one.next_step)
        for one in found.warnings
        if "GPUDirect" in one.what or "Network objects" in one.what
    ]


def _for_fabric(found: Desired) -> list[str]:
    kinds = ("GKENetworkParamSet", "Network", "DaemonSet")
    return [f"{one.kind} {one.name}" for one in found.clusters[0].objects if one.kind in kinds]


@pytest.mark.parametrize(
    ("class_name", "networks", "installers"),
    [
        ("mega", [f"tcpxo-{number}" for number in range(8)], ["device-injector", "nccl-tcpxo-installer"]),
        ("h200", ["gvnic", *(f"rdma-a-{number}" for number in range(8))], ["nccl-rdma-installer"]),
    ],
)
def test_the_stack_makes_networks_and_installer_before_the_pods_that_use_them(
    class_name: str, networks: list[str], installers: list[str]
) -> None:
    found = _made(_documents(class_name, "Stack", **ON_FABRIC))
    kinds = ("GKENetworkParamSet", "Network")
    made = [f"{kind} east/{name}" for name in networks for kind in kinds]
    assert _for_fabric(found) == [*made, *(f"DaemonSet east/kube-system/{name}" for name in installers)]
    workload = find(found, "Deployment", "east/ml/a-decode-gpus")
    keys = {one.key for one in found.clusters[0].objects if one.kind in (*kinds, "DaemonSet")}
    assert keys <= set(workload.after)
    for name in networks:
        first = find(found, "GKENetworkParamSet", f"east/{name}").key
        assert first in find(found, "Network", f"east/{name}").after
    assert _told(found) == []


def test_pods_name_the_networks_that_the_stack_makes() -> None:
    found = _made(_documents("h200", "Stack", **ON_FABRIC))
    template = find(found, "Deployment", "east/ml/a-decode-gpus").manifest["spec"]["template"]
    named = template["metadata"]["annotations"]["networking.gke.io/interfaces"]
    made = [one.kubernetes_name for one in found.clusters[0].objects if one.kind == "Network"]
    assert [name for name in made if f'"{name}"' not in named] == ["gvnic"]


def test_the_field_changes_no_pod() -> None:
    said, unsaid = (_made(_documents("mega", who, **ON_FABRIC)) for who in ("Stack", None))
    workloads = [find(found, "Deployment", "east/ml/a-decode-gpus").manifest for found in (said, unsaid)]
    assert workloads[0] == workloads[1]


@pytest.mark.parametrize("who", [None, "Existing"])
def test_nothing_is_made_unless_a_document_says_that_the_stack_does(who: str | None) -> None:
    assert _for_fabric(_made(_documents("mega", who, **ON_FABRIC))) == []


def test_pods_on_networks_that_nobody_is_said_to_make_are_a_warning() -> None:
    assert _told(_made(_documents("mega", **ON_FABRIC))) == [
        (
            "spec.cluster.gke.network",
            "cluster east does not say who makes the Network objects that pods of ml/a name on pool gpus, "
            "and who installs NCCL there; without them these pods never start",
            "Write network: {gpuDirect: Stack}, or gpuDirect: Existing where they are there already",
        )
    ]
    assert _told(_made(_documents("mega", "Existing", **ON_FABRIC))) == []


@pytest.mark.parametrize(
    ("class_name", "what", "next_step"),
    [
        (
            "mega",
            "pool gpus of cluster east has GPUDirect-TCPXO (class mega): 8 more networks",
            "Add the plugin network-fabric to deployments there; or, for a new pool, use a class without "
            "networking.gpuDirect",
        ),
        (
            "h200",
            "pool gpus of cluster east has GPUDirect-RDMA (class h200): 2 more networks",
            "Add the plugin network-fabric to deployments there; or, for a new pool, use a class without "
            "networking.gpuDirect",
        ),
        (
            "tcpx",
            "pool gpus of cluster east has GPUDirect-TCPX (class tcpx): 4 more networks",
            "Nothing that comes with inferfleet puts pods on TCPX: for a new pool, use a class without "
            "networking.gpuDirect, or write a plugin",
        ),
    ],
)
@pytest.mark.parametrize("who", [None, "Stack"])
def test_networks_that_no_pod_uses_are_a_warning(
    class_name: str, what: str, next_step: str, who: str | None
) -> None:
    unused = ("spec.nodePools[0].className", f"{what}, and no pod that is placed there uses any", next_step)
    assert _told(_made(_documents(class_name, who))) == [unused]


@pytest.mark.parametrize("written", ["", "no JSON", "3", '["eth1"]', '[{"network": "default"}]'])
def test_an_annotation_without_another_network_uses_none(written: str) -> None:
    template = {"metadata": {"annotations": {"networking.gke.io/interfaces": written}}}
    documents = _documents("mega")
    annotated = ModelDeployment.model_validate(
        {
            "metadata": {"name": "a", "namespace": "ml"},
            "spec": {
                "replicas": 1,
                "capacityModels": ["Spot"],
                "workers": {
                    "topology": {"tensor": 8},
                    "template": {
                        **template,
                        "spec": {"containers": [{"name": "engine", "image": "engine:1"}]},
                    },
                },
            },
        }
    )
    found = _made(replace(documents, deployments={"ml/a": annotated}))
    assert [path for path, _, _ in _told(found)] == ["spec.nodePools[0].className"]
