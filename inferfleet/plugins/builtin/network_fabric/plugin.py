"""Plugin network-fabric: what pods need to use the network between the GPUs of different nodes.

The objects that a cluster needs for it are not the pod's: networks of nodes and their `Network` objects, and
the DaemonSets that install Google's or the vendor's libraries.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from inferfleet.plugins import api
from inferfleet.plugins.api import Edited, Mistake, Plugin, PluginError, PodTemplate, Request, devices
from inferfleet.plugins.builtin.network_fabric import infiniband, rdma, tcpxo
from inferfleet.plugins.builtin.network_fabric.interfaces import whole_node

_SCOPE = "use scope, or write the plugin in the class or cluster that has one"
_INFINIBAND = ("ib_resource", "ib_count", "nccl_ib_hca", "ucx_net_devices")


class Config(api.Config):
    """Which network it is, and what cannot be known of it."""

    fabric: Literal["TCPXO", "RDMA", "InfiniBand"] | None = None
    """GPUDirect-TCPXO or GPUDirect RDMA of GKE, or InfiniBand (RoCE with an RDMA device plugin is used like
    it). Default on GKE clusters that the stack creates: that of the pool. Required elsewhere."""
    networks: tuple[str, ...] = ()
    """Names of the cluster's `Network` objects, one per GPU, in the order of the node's interfaces; for TCPXO
    and RDMA. Default on GKE clusters that the stack creates: the names of their subnetworks there."""
    library_path: tuple[str, ...] = ()
    """Folders of the engine's image whose libraries come before those of the node, because LD_LIBRARY_PATH of
    an image cannot be added to; for TCPXO and RDMA. Default: none."""
    entry_point: tuple[str, ...] = ()
    """Entry point of the engine's image, such as [vllm, serve], where the engine has no `command`; for RDMA,
    where a script of Google's runs before the engine. Default: none."""
    daemon_image: str = Field(default=tcpxo.IMAGE, min_length=1)
    """Image of the TCPXO daemon. It must be of the same release as the installer of NCCL on the nodes."""
    ib_resource: str = Field(default="rdma/ib", min_length=1)
    """Resource of the RDMA device plugin that the engine asks for; for InfiniBand."""
    ib_count: int = Field(default=1, ge=1)
    """How much of that resource; for InfiniBand. Write the number of adapters where the device plugin counts
    them (SR-IOV). Default: 1, which stands for all adapters where it shares them."""
    nccl_ib_hca: str | None = Field(default=None, min_length=1)
    """Adapters that NCCL uses (NCCL_IB_HCA), such as `=mlx5_0,mlx5_1`; for InfiniBand. Default: NCCL's own
    choice."""
    ucx_net_devices: str | None = Field(default=None, min_length=1)
    """Devices that UCX and NIXL use (UCX_NET_DEVICES), such as `mlx5_0:1`; for InfiniBand. Default: UCX's own
    choice."""

    def mistakes(self) -> Iterator[Mistake]:
        """Yield fields that are of another network, and a name that is there twice."""
        given = self.model_fields_set
        wrong = {
            None: set(),
            "TCPXO": {"entry_point", *_INFINIBAND},
            "RDMA": {"daemon_image", *_INFINIBAND},
            "InfiniBand": {"networks", "library_path", "entry_point", "daemon_image"},
        }[self.fabric]
        for name, field in type(self).model_fields.items():
            if name in given & wrong:
                written = field.alias or name
                yield Mistake(f"{written} has no use with fabric {self.fabric}", "Remove it", (written,))
        if len(set(self.networks)) != len(self.networks):
            yield Mistake("networks has one name twice", "Write one name per interface", ("networks",))


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate | Edited:
    """Put pods on the network between GPUs of different nodes: TCPXO, RDMA or InfiniBand."""
    if request.accelerator is None:
        return Edited(template, remarks=("these pods have no accelerator, so they need no such network",))
    fabric = _fabric(request, config)
    if fabric == "InfiniBand":
        _check_adapters(request, config.ib_resource)
        infiniband.use(
            template,
            resource=config.ib_resource,
            count=config.ib_count,
            nccl=config.nccl_ib_hca,
            ucx=config.ucx_net_devices,
        )
        return template
    whole_node(request, fabric)
    if fabric == "TCPXO":
        tcpxo.use(
            template,
            request,
            networks=config.networks,
            before=config.library_path,
            image=config.daemon_image,
        )
    else:
        rdma.use(
            template,
            request,
            networks=config.networks,
            before=config.library_path,
            entry_point=config.entry_point,
        )
    return template


def _fabric(request: Request, config: Config) -> str:
    """Return the fabric. Raises PluginError where the pool has none, or another one than the config says."""
    pool = f"pool {request.pool.name} of cluster {request.cluster.name}"
    if request.cluster.source == "Existing":
        if config.fabric is None:
            raise PluginError(f"what network {pool} has is not known; set fabric, or use scope")
        return config.fabric
    own = request.pool.fabric
    if own is None:
        asked = config.fabric or "a network between GPUs"
        raise PluginError(f"{pool} has no network between GPUs, so pods cannot use {asked}; {_SCOPE}")
    if config.fabric not in (None, own):
        raise PluginError(f"fabric {config.fabric} contradicts {pool}, which has {own}; write fabric: {own}")
    if own not in ("TCPXO", "RDMA"):
        raise PluginError(f"{pool} has {own}, for which this plugin has nothing; {_SCOPE}")
    return own


def _check_adapters(request: Request, resource: str) -> None:
    """Raise PluginError unless the class of the pod's nodes has a network, or devices of the resource."""
    described = request.node_class
    if not any(
        resource in (device.driver, device.resource) or devices.is_network(device.driver, device.attributes)
        for device in described.devices
    ):
        raise PluginError(
            f"class {described.name} has no network between its nodes, so pods cannot ask for {resource}; "
            f"describe the adapters in the class by a Synthetic device of driver {resource}, or {_SCOPE}"
        )


PLUGIN = Plugin("network-fabric", Config, edit, version="1.0.0")
