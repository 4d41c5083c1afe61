"""GPUDirect between GPU nodes of GKE: images, paths and settings as Google publishes them.

Sources, all of GoogleCloudPlatform/container-engine-accelerators at commit 992db812 (2026-06-11):
`gpudirect-tcpxo/nccl-test-latest.yaml` (pods with TCPXO), `gpudirect-tcpxo/best-practice.md` (the daemon as a
sidecar, its startup probe), `gpudirect-tcpxo/README.md` (release of 2026-01-09: versions, settings of NCCL),
`gpudirect-rdma/nccl-test.yaml` (pods with RDMA), `gpudirect-rdma/nccl-test-a4x-max.yaml` (IPC_LOCK).
"""

from collections.abc import Mapping
from types import MappingProxyType

# That of the cluster's own network, which every pod has.
FIRST_INTERFACE = "eth0"
# Numbers of the first interface between GPUs. With RDMA, eth1 is the node's second gVNIC, which pods do not
# take.
TCPXO_FIRST, RDMA_FIRST = 1, 2
# One interface per GPU.
TCPXO_INTERFACES = 8

LIBRARIES = "/usr/local/nvidia/lib64"

DAEMON = "tcpxo-daemon"
DAEMON_IMAGE = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.21"
DAEMON_COMMAND = ("/bin/sh", "-c")
DAEMON_SCRIPT = (
    "set -ex\nchmod 755 /fts/entrypoint_rxdm_container.sh\n/fts/entrypoint_rxdm_container.sh --num_hops=2\n"
)
DAEMON_CAPABILITIES = ("NET_ADMIN", "NET_BIND_SERVICE")
# Written by the daemon when it is ready; the name must not have an underscore.
DAEMON_HEALTH = "/run/health-check"
# It is the container's name that the device injector looks for.
DAEMON_DEVICES = f"devices.gke.io/container.{DAEMON}"
DEVICES = (
    *(f"/dev/nvidia{number}" for number in range(8)),
    "/dev/nvidiactl",
    "/dev/nvidia-uvm",
    "/dev/dmabuf_import_helper",
)
APERTURES = "/dev/aperture_devices"
# Volumes: the node's folder, and where the daemon and the engine see it, None for not at all.
TCPXO_VOLUMES: Mapping[str, tuple[str, str | None, str | None]] = MappingProxyType(
    {
        "nvidia": ("/home/kubernetes/bin/nvidia/lib64", LIBRARIES, LIBRARIES),
        "sys": ("/sys", "/hostsysfs", None),
        "proc-sys": ("/proc/sys", "/hostprocsysfs", None),
        "aperture-devices": (APERTURES, None, APERTURES),
    }
)
# CUDA_VISIBLE_DEVICES of the same list is left to the device plugin.
TCPXO_ENV: Mapping[str, str] = MappingProxyType(
    {
        "NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY": APERTURES,
        "NCCL_FASTRAK_CTRL_DEV": "eth0",
        "NCCL_FASTRAK_IFNAME": "eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8",
        "NCCL_SOCKET_IFNAME": "eth0",
        "NCCL_CROSS_NIC": "0",
        "NCCL_PROTO": "Simple,LL128",
        "NCCL_MIN_NCHANNELS": "4",
        "NCCL_TUNER_PLUGIN": "libnccl-tuner.so",
        "NCCL_TUNER_CONFIG_PATH": f"{LIBRARIES}/a3plus_tuner_config.textproto",
        "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE": f"{LIBRARIES}/a3plus_guest_config.textproto",
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
RDMA_VOLUMES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "library-dir-host": ("/home/kubernetes/bin/nvidia", "/usr/local/nvidia"),
        "gib": ("/home/kubernetes/bin/gib", "/usr/local/gib"),
    }
)
# The settings of NCCL for RDMA are published as this script alone, which chooses them by the machine.
RDMA_SCRIPT = "/usr/local/gib/scripts/set_nccl_env.sh"
