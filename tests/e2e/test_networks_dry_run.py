"""Networks and installers of GPUDirect are taken by a real API server that has Google's CRDs."""

from collections.abc import Iterator
from typing import Any

import pytest
from dry_run import ApiServer
from project import Project

from inferfleet.cloud.gke.described import extra_networks, interfaces
from inferfleet.cloud.gke.facts.installers import INSTALLERS
from inferfleet.cloud.gke.facts.machines import Fabric
from inferfleet.cloud.gke.gpu_direct import installer, networks
from sandbox.gcp.nodes.network_cards import cards_of, device_classes
from sandbox.toolchain.parts import GKE_NETWORKS
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.tools import make_tools

_NETWORKING = "/apis/networking.gke.io/v1"
PATHS = {
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
    "DaemonSet": "/apis/apps/v1/namespaces/kube-system/daemonsets",
    "GKENetworkParamSet": f"{_NETWORKING}/gkenetworkparamsets",
    "Network": f"{_NETWORKING}/networks",
}
FABRICS = (Fabric("TCPX", 4, 4, 8244), Fabric("TCPXO", 8, 8, 8244), Fabric("RDMA", 2, 9, None))


@pytest.fixture(scope="module")
def server(standing: Project) -> Iterator[ApiServer]:
    """The API server of the eastern cluster, with Google's definitions of networks."""
    folder = make_tools(Progress(), (GKE_NETWORKS,)).folder(GKE_NETWORKS.name) / "crds"
    standing.kubectl("east", "create", "-f", str(folder))
    standing.kubectl("east", "wait", "--for=condition=Established", "--timeout=600s", "-f", str(folder))
    yield ApiServer(standing.root / ".sandbox" / standing.stack / "east.kubeconfig")
    standing.kubectl("east", "delete", "-f", str(folder))


def _rendered() -> list[dict[str, Any]]:
    extras = [extra for fabric in FABRICS for extra in extra_networks(fabric, ("us-east5-a",))]
    made = networks(interfaces(extras, cloud_name="east-123456"), stack="prod")
    node = {"name": "gke-1", "labels": {"node.kubernetes.io/instance-type": "a4-highgpu-8g"}}
    cards = (*device_classes(), *cards_of({"metadata": node}))
    return [*made, *(installer(row, stack="prod") for row in INSTALLERS), *cards]


def test_every_object_is_taken(server: ApiServer) -> None:
    refused = [
        (manifest["kind"], manifest["metadata"]["name"], why)
        for manifest in _rendered()
        if (why := server.refuses(manifest, PATHS[manifest["kind"]]))
    ]
    assert refused == []


@pytest.mark.parametrize(
    ("kind", "spec", "said"),
    [
        ("GKENetworkParamSet", {"deviceMode": "netdevice"}, "Unsupported value"),
        ("Network", {"type": "device"}, "Unsupported value"),
        ("Network", {"type": "Device", "parameters": {}}, "unknown field"),
    ],
)
def test_its_definitions_refuse_what_google_refuses(
    server: ApiServer, kind: str, spec: dict[str, Any], said: str
) -> None:
    manifest = {
        "apiVersion": "networking.gke.io/v1",
        "kind": kind,
        "metadata": {"name": "x"},
        "spec": spec,
    }
    assert said in server.refuses(manifest, PATHS[kind])
