"""Requests for pods of GKE clusters that the stack creates, in tests of what differs there."""

from dataclasses import replace

from one_request import GPU, REQUEST

from inferfleet.plugins.contract import ClusterFacts, DeviceFacts, PoolFacts, Request

_EAST = ClusterFacts(name="east", source="GKE", state="active", labels={}, gateway="gke", profile="gie-1.5")


def on_gke(
    accelerator: str, fabric: str | None = None, *networks: str, product: str | None = None, count: int = 8
) -> Request:
    """A pod with all GPUs of a node of a pool `h100` with this accelerator and fabric."""
    device: DeviceFacts = replace(GPU, count=count, attributes={"productName": product} if product else {})
    return replace(
        REQUEST,
        accelerator=device,
        node_class=replace(REQUEST.node_class, devices=(device,)),
        gpus=count,
        cluster=_EAST,
        pool=PoolFacts(
            name="h100",
            node_labels={"inferfleet.dev/pool": "h100", "cloud.google.com/gke-accelerator": accelerator},
            taints=(),
            zones=("us-east5-a",),
            fabric=fabric,
            networks=networks,
        ),
    )


TCPXO = on_gke("nvidia-h100-mega-80gb", "TCPXO", *(f"tcpxo-{number}" for number in range(8)))
RDMA = on_gke("nvidia-h200-141gb", "RDMA", "gvnic", *(f"rdma-a-{rail}" for rail in range(8)))
