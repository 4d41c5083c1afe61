"""Plugin network-fabric: what pods need to use the network between the GPUs of different nodes.

The objects that a cluster needs for it are not the pod's: networks of nodes and their `Network` objects, and
the DaemonSets that install Google's or the vendor's libraries.
"""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Edited,
    Mistake,
    Plugin,
    PluginError,
    PodTemplate,
    Request,
    accelerator,
    add_capability,
    devices,
    engine,
    gke,
    put_env,
    put_field,
    put_init_container,
    put_mount,
    put_resource,
    put_volume,
)

# GPUDirect's images, paths and settings are those that Google publishes, all in
# GoogleCloudPlatform/container-engine-accelerators at commit 992db812 (2026-06-11), but for the tag of the
# daemon, which is that of `master` as it was reported on 2026-11-28, beside installer v1.0.17:
# `gpudirect-tcpxo/nccl-test-latest.yaml` (pods with TCPXO), `gpudirect-tcpxo/best-practice.md` (the daemon
# as a sidecar, its startup probe), `gpudirect-tcpxo/README.md` (release of 2026-01-09: versions, settings
# of NCCL), `gpudirect-rdma/nccl-test.yaml` (pods with RDMA), `gpudirect-rdma/nccl-test-a4x-max.yaml`
# (IPC_LOCK, without which memory cannot be registered where memlock is limited). Where GKE offers the cards
# to claims, pods have them already and name no networks: cluster-toolkit,
# examples/gke-a4x/nccl-jobset-example.yaml at commit 10470803 (2026-06-25).
#
# InfiniBand: https://docs.coreweave.com/products/networking/hpc-interconnect/use-gpudirect-rdma (`rdma/ib:
# 1`, no number of devices), Mellanox/k8s-rdma-shared-dev-plugin, example/test-hca-pod.yaml, commit 2a8045c9
# (1 of a resource of another name; IPC_LOCK),
# https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html (NCCL_IB_HCA), and openucx/ucx,
# docs/source/faq.md (UCX_NET_DEVICES).

# That of the cluster's own network, which every pod has.
_FIRST_INTERFACE = "eth0"
# Numbers of the first interface between GPUs. With RDMA, eth1 is the node's second gVNIC, which pods do not
# take.
_TCPXO_FIRST, _RDMA_FIRST = 1, 2
# One interface per GPU.
_TCPXO_INTERFACES = 8

_LIBRARIES = "/usr/local/nvidia/lib64"

_DAEMON = "tcpxo-daemon"
_DAEMON_IMAGE = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.23"
_DAEMON_COMMAND = ("/bin/sh", "-c")
_DAEMON_SCRIPT = (
    "set -ex\nchmod 755 /fts/entrypoint_rxdm_container.sh\n/fts/entrypoint_rxdm_container.sh --num_hops=2\n"
)
_DAEMON_CAPABILITIES = ("NET_ADMIN", "NET_BIND_SERVICE")
# Written by the daemon when it is ready; the name must not have an underscore.
_DAEMON_HEALTH = "/run/health-check"
# It is the container's name that the device injector looks for.
_DAEMON_DEVICES = f"devices.gke.io/container.{_DAEMON}"
_DEVICES = (
    *(f"/dev/nvidia{number}" for number in range(8)),
    "/dev/nvidiactl",
    "/dev/nvidia-uvm",
    "/dev/dmabuf_import_helper",
)
_APERTURES = "/dev/aperture_devices"
# Volumes: the node's folder, and where the daemon and the engine see it, None for not at all.
_TCPXO_VOLUMES: Mapping[str, tuple[str, str | None, str | None]] = MappingProxyType(
    {
        "nvidia": ("/home/kubernetes/bin/nvidia/lib64", _LIBRARIES, _LIBRARIES),
        "sys": ("/sys", "/hostsysfs", None),
        "proc-sys": ("/proc/sys", "/hostprocsysfs", None),
        "aperture-devices": (_APERTURES, None, _APERTURES),
    }
)
# CUDA_VISIBLE_DEVICES of the same list is left to the device plugin.
TCPXO_ENV: Mapping[str, str] = MappingProxyType(
    {
        "NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY": _APERTURES,
        "NCCL_FASTRAK_CTRL_DEV": "eth0",
        "NCCL_FASTRAK_IFNAME": "eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8",
        "NCCL_SOCKET_IFNAME": "eth0",
        "NCCL_CROSS_NIC": "0",
        "NCCL_PROTO": "Simple,LL128",
        "NCCL_MIN_NCHANNELS": "4",
        "NCCL_TUNER_PLUGIN": "libnccl-tuner.so",
        "NCCL_TUNER_CONFIG_PATH": f"{_LIBRARIES}/a3plus_tuner_config.textproto",
        "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE": f"{_LIBRARIES}/a3plus_guest_config.textproto",
        "NCCL_NVLSTREE_MAX_CHUNKSIZE": "131072",
        "NCCL_P2P_NET_CHUNKSIZE": "524288",
        "NCCL_P2P_PCI_CHUNKSIZE": "524288",
        "NCCL_P2P_NVL_CHUNKSIZE": "1048576",
        "NCCL_FASTRAK_NUM_FLOWS": "2",
        "NCCL_FASTRAK_USE_SNAP": "1",
        "NCCL_FASTRAK_PLUGIN_ACCEPT_TIMEOUT_MS": "600000",
        "NCCL_FASTRAK_ENABLE_CONTROL_CHANNEL": "0",
        "NCCL_BUFFSIZE": "8388608",
        "NCCL_NET_GDR_LEVEL": "PIX",
        "NCCL_FASTRAK_ENABLE_HOTPATH_LOGGING": "0",
        "NCCL_FASTRAK_USE_LLCM": "1",
        "NCCL_NVLS_ENABLE": "1",
        "NCCL_DEBUG": "WARN",
        "NCCL_DEBUG_SUBSYS": "INIT,NET,ENV,COLL,GRAPH",
    }
)

# Volumes: the node's folder, and where the engine sees it.
_RDMA_VOLUMES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "library-dir-host": ("/home/kubernetes/bin/nvidia", "/usr/local/nvidia"),
        "gib": ("/home/kubernetes/bin/gib", "/usr/local/gib"),
    }
)
# The settings of NCCL for RDMA are published as this script alone, which chooses them by the machine.
RDMA_SCRIPT = "/usr/local/gib/scripts/set_nccl_env.sh"
_NO_SCRIPT = f"{RDMA_SCRIPT} is missing: is the installer of gIB on this node?"
_START_WITH_SCRIPT = [
    "/bin/bash",
    "-c",
    f'[ -r {RDMA_SCRIPT} ] || {{ echo "{_NO_SCRIPT}" >&2; exit 1; }}\nsource {RDMA_SCRIPT}\nexec "$0" "$@"\n',
]
# Google's example gives up after 31 seconds, and the daemon takes about 30.
_PATIENCE = 24
_LIBRARY_PATH = "LD_LIBRARY_PATH"
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
    daemon_image: str = Field(default=_DAEMON_IMAGE, min_length=1)
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
                key = field.alias or name
                yield Mistake(f"{key} has no use with fabric {self.fabric}", "Remove it", (key,))
        if len(set(self.networks)) != len(self.networks):
            yield Mistake("networks has one name twice", "Write one name per interface", ("networks",))


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate | Edited:
    """Put pods on the network between GPUs of different nodes: TCPXO, RDMA or InfiniBand."""
    if request.accelerator is None:
        return Edited(template, remarks=("these pods have no accelerator, so they need no such network",))
    fabric = _fabric(request, config)
    if fabric == "InfiniBand":
        _check_adapters(request, config.ib_resource)
        _use_infiniband(template, config)
        return template
    _require_whole_node(request, fabric)
    if fabric == "TCPXO":
        _use_tcpxo(template, request, config)
    else:
        _use_rdma(template, request, config)
    return template


def _fabric(request: Request, config: Config) -> str:
    """Return the fabric. Raises PluginError where the pool has none, or another one than the config says."""
    pool = f"pool {request.pool.name} of cluster {request.cluster.name}"
    if request.cluster.source == "Existing":
        if config.fabric is None:
            raise PluginError(f"what network {pool} has is not known; set fabric, or use scope")
        return config.fabric
    pool_fabric = request.pool.fabric
    if pool_fabric is None:
        asked = config.fabric or "a network between GPUs"
        raise PluginError(f"{pool} has no network between GPUs, so pods cannot use {asked}; {_SCOPE}")
    if config.fabric not in (None, pool_fabric):
        raise PluginError(
            f"fabric {config.fabric} contradicts {pool}, which has {pool_fabric}; write fabric: {pool_fabric}"
        )
    if pool_fabric not in ("TCPXO", "RDMA"):
        raise PluginError(f"{pool} has {pool_fabric}, for which this plugin has nothing; {_SCOPE}")
    return pool_fabric


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


def _use_rdma(template: PodTemplate, request: Request, config: Config) -> None:
    """Let the engine use GPUDirect RDMA. Raises PluginError for what stands in its way.

    Google publishes the settings of NCCL as a script alone, so it runs before the engine, in its container.
    """
    count = accelerator(request).count
    if not request.pool.claims_cards:
        # The interface of the second gVNIC comes first, and then one of the adapters per GPU.
        rails = request.pool.networks[1:]
        names = _network_names(rails, config.networks, count=count, fabric="GPUDirect RDMA")
        _annotate_interfaces(template, names, first=_RDMA_FIRST)
    elif config.networks:
        raise PluginError(
            f"pods on pool {request.pool.name} of cluster {request.cluster.name} claim their network cards, "
            "so networks has no use; remove it, or use scope"
        )
    container = engine(template)
    for name, (folder, path) in _RDMA_VOLUMES.items():
        put_volume(template, {"name": name, "hostPath": {"path": folder}})
        put_mount(container, {"name": name, "mountPath": path})
    add_capability(container, "IPC_LOCK")
    _add_libraries(container, config.library_path)
    _start_with_script(container, config.entry_point)


def _start_with_script(container: dict[str, Any], entry_point: tuple[str, ...]) -> None:
    """Let the container run Google's script before its command, or before the entry point of its image.

    Raises PluginError where neither is known.
    """
    command = container.get("command") or []
    if command[: len(_START_WITH_SCRIPT)] == _START_WITH_SCRIPT:
        return
    if not (command or entry_point):
        raise PluginError(
            f"the engine has no command, so nothing can run {RDMA_SCRIPT} before it; set entryPoint to that "
            f"of the image {container['image']}, such as [vllm, serve], or write command in the template"
        )
    container["args"] = [*(command or entry_point), *container.get("args", [])]
    container["command"] = list(_START_WITH_SCRIPT)


def _use_tcpxo(template: PodTemplate, request: Request, config: Config) -> None:
    """Let the engine use GPUDirect-TCPXO. Raises PluginError for what stands in its way.

    The daemon is a native sidecar, as Google's best practice has it, so that the engine starts once it is
    ready.
    """
    names = _network_names(
        request.pool.networks, config.networks, count=_TCPXO_INTERFACES, fabric="GPUDirect-TCPXO"
    )
    _annotate_interfaces(template, names, first=_TCPXO_FIRST)
    paths = "".join(f"- path: {device}\n" for device in _DEVICES)
    put_field(template, "metadata", "annotations", _DAEMON_DEVICES, value=paths)
    container = engine(template)
    daemon_mounts = []
    for name, (folder, in_daemon, in_engine) in _TCPXO_VOLUMES.items():
        put_volume(template, {"name": name, "hostPath": {"path": folder}})
        if in_daemon:
            daemon_mounts.append({"name": name, "mountPath": in_daemon})
        if in_engine:
            put_mount(container, {"name": name, "mountPath": in_engine})
    _add_libraries(container, config.library_path)
    _put_missing_env(container, TCPXO_ENV)
    daemon = {
        "name": _DAEMON,
        "image": config.daemon_image,
        "restartPolicy": "Always",
        "command": list(_DAEMON_COMMAND),
        "args": [_DAEMON_SCRIPT],
        "env": [
            {"name": "LD_LIBRARY_PATH", "value": _LIBRARIES},
            {"name": "HEALTH_CHECK_LOG_FILE", "value": _DAEMON_HEALTH},
        ],
        "securityContext": {"capabilities": {"add": list(_DAEMON_CAPABILITIES)}},
        "startupProbe": {
            "exec": {"command": ["cat", _DAEMON_HEALTH]},
            "initialDelaySeconds": 1,
            "periodSeconds": 5,
            "timeoutSeconds": 1,
            "failureThreshold": _PATIENCE,
        },
        "volumeMounts": daemon_mounts,
    }
    put_init_container(template, daemon, same=("image", "args"))


def _use_infiniband(template: PodTemplate, config: Config) -> None:
    """Let the engine use InfiniBand, or RoCE with an RDMA device plugin.

    What one of the resource is, the device plugin says. A shared one gives a pod all adapters for 1, and has
    as many as pods may share them; CoreWeave's `rdma/ib` is such a one. One for SR-IOV counts adapters.
    Raises PluginError where the engine says something else already.
    """
    container = engine(template)
    put_resource(container, config.ib_resource, config.ib_count)
    add_capability(container, "IPC_LOCK")
    adapters = {"NCCL_IB_HCA": config.nccl_ib_hca, "UCX_NET_DEVICES": config.ucx_net_devices}
    variables = [{"name": name, "value": value} for name, value in adapters.items() if value]
    put_env(container, *variables, replace=False)


def _require_whole_node(request: Request, fabric: str) -> None:
    """Raise PluginError unless the pod takes all GPUs of its node: it takes all interfaces between them.

    A pod can claim some network cards, but nothing sees to it that they are those next to its GPUs.
    """
    if request.gpus < (count := accelerator(request).count):
        why = (
            "because nothing chooses the network cards next to its GPUs"
            if request.pool.claims_cards
            else "whose interfaces belong to one pod of a node"
        )
        raise PluginError(
            f"a pod with {request.gpus} of {count} GPUs cannot use {fabric}, {why}; give each pod a whole "
            "node, or use scope"
        )


def _annotate_interfaces(template: PodTemplate, names: tuple[str, ...], *, first: int) -> None:
    """Write the annotations that give the pod an interface in each of these networks, beside its first one.

    The interface of the first network is `eth<first>`. Raises PluginError where the template has other
    annotations.
    """
    interfaces = [(_FIRST_INTERFACE, gke.FIRST_NETWORK)]
    interfaces += [(f"eth{first + number}", name) for number, name in enumerate(names)]
    interfaces_json = json.dumps(
        [{"interfaceName": name, "network": network} for name, network in interfaces]
    )
    for key, value in (
        (gke.DEFAULT_INTERFACE, _FIRST_INTERFACE),
        (gke.INTERFACES, interfaces_json),
    ):
        put_field(template, "metadata", "annotations", key, value=value)


def _network_names(
    pool_networks: tuple[str, ...], networks: tuple[str, ...], *, count: int, fabric: str
) -> tuple[str, ...]:
    """Return the names of the pod's networks: those of the config, or else those of the pool.

    Raises PluginError unless there is one per GPU of a node.
    """
    names = networks or pool_networks
    if not names:
        raise PluginError(
            f"the Network objects for {fabric} are not known; set networks to their {count} names, in the "
            "order of the node's interfaces"
        )
    if len(names) != count:
        raise PluginError(
            f"networks has {len(names)} names, but nodes have {count} interfaces for {fabric}; write one "
            "name for each, in their order"
        )
    return names


def _add_libraries(container: dict[str, Any], folders_of_image: tuple[str, ...]) -> None:
    """Let the container find the node's libraries, after what it has in its path and these folders.

    Raises PluginError where the path comes from elsewhere, such as a ConfigMap.
    """
    old = next((entry for entry in container.get("env", []) if entry["name"] == _LIBRARY_PATH), None)
    if old is not None and "valueFrom" in old:
        raise PluginError(f"{_LIBRARY_PATH} has valueFrom, and cannot be added to; write it as value")
    folders = [folder for folder in (old or {}).get("value", "").split(":") if folder]
    new = [folder for folder in (*folders_of_image, _LIBRARIES) if folder not in folders]
    put_env(container, {"name": _LIBRARY_PATH, "value": ":".join([*folders, *new])})


def _put_missing_env(container: dict[str, Any], defaults: Mapping[str, str]) -> None:
    """Set variables that the container does not have: what a deployment sets itself is meant."""
    present = {entry["name"] for entry in container.get("env", [])}
    put_env(
        container,
        *({"name": name, "value": value} for name, value in defaults.items() if name not in present),
    )


PLUGIN = Plugin("network-fabric", Config, edit, version="1.0.0")
