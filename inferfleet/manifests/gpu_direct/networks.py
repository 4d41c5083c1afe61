"""Network and GKENetworkParamSet of each subnetwork between GPUs: the names that annotations of pods have.

As cluster-toolkit makes them, `modules/scheduler/gke-cluster/templates` and `main.tf` at commit 10470803
(2026-06-25). Types: https://github.com/GoogleCloudPlatform/gke-networking-api, apis/network/v1, v0.2.11.
"""

from collections.abc import Iterable
from typing import Any

from inferfleet.gke import names as cloud_names
from inferfleet.gke.fabrics import ExtraNetwork
from inferfleet.manifests.metadata import metadata

_GROUP = "networking.gke.io"
PARAMETERS, NETWORK = "GKENetworkParamSet", "Network"


def networks(extras: Iterable[ExtraNetwork], *, cloud_name: str, stack: str) -> tuple[dict[str, Any], ...]:
    """Return the objects of the networks of a cluster with this name in the cloud, in their order.

    Each Network follows the parameters that it refers to. GKE gives pods the whole interface (type Device).
    """
    return tuple(
        manifest
        for extra in extras
        for subnet, _ in extra.subnets
        for manifest in _both(extra, subnet, cloud_name=cloud_name, stack=stack)
    )


def _both(
    extra: ExtraNetwork, subnet: str, *, cloud_name: str, stack: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    parameters = {
        "vpc": cloud_names.gke_part(cloud_name, extra.part),
        "vpcSubnet": cloud_names.gke_part(cloud_name, subnet),
        # Networks that have a zone are those of RDMA adapters.
        "deviceMode": "RDMA" if extra.zone else "NetDevice",
    }
    reference = {"group": _GROUP, "kind": PARAMETERS, "name": subnet}
    return (
        {**_head(PARAMETERS, subnet, stack), "spec": parameters},
        {**_head(NETWORK, subnet, stack), "spec": {"type": "Device", "parametersRef": reference}},
    )


def _head(kind: str, name: str, stack: str) -> dict[str, Any]:
    return {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": metadata(name, stack=stack)}
