"""InfiniBand, or RoCE with an RDMA device plugin: its resource, locked memory, devices of NCCL and UCX.

What one of the resource is, the device plugin says. A shared one gives a pod all adapters for 1, and has as
many as pods may share them; CoreWeave's `rdma/ib` is such a one. One for SR-IOV counts adapters.

Sources: https://docs.coreweave.com/products/networking/hpc-interconnect/use-gpudirect-rdma (`rdma/ib: 1`, no
number of devices), Mellanox/k8s-rdma-shared-dev-plugin, example/test-hca-pod.yaml, commit 2a8045c9 (1 of a
resource of another name; IPC_LOCK), https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
(NCCL_IB_HCA), and openucx/ucx, docs/source/faq.md (UCX_NET_DEVICES).
"""

from inferfleet.plugins.api import PodTemplate, add_capability, engine, put_env, put_resource


def use(template: PodTemplate, *, resource: str, count: int, nccl: str | None, ucx: str | None) -> None:
    """Let the engine use InfiniBand. Raises PluginError where it says something else already."""
    container = engine(template)
    put_resource(container, resource, count)
    add_capability(container, "IPC_LOCK")
    chosen = {"NCCL_IB_HCA": nccl, "UCX_NET_DEVICES": ucx}
    variables = [{"name": name, "value": value} for name, value in chosen.items() if value]
    put_env(container, *variables, replace=False)
