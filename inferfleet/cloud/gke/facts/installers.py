"""What puts libraries of NCCL on the nodes of GPUDirect: images and steps as Google publishes them.

All are of GoogleCloudPlatform/container-engine-accelerators, which the plugin network-fabric follows in pods:
the daemon beside an engine and the installer on its node are of one release. Steps and mounts were compared
at commit 992db812 (2026-06-11). Tags are newer: those of the branch `master`, as was reported on 2026-11-28.
That of TCPX is in its release notes of 2026-06-22. Of the others the files themselves were not seen; public
manifests of users have each of them (searched on 2026-11-28).
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from inferfleet.cloud.gke.facts.sources import Source

_BASE = "https://github.com/GoogleCloudPlatform/container-engine-accelerators/blob"
_COMPARED, _NEWEST = "992db812", "master"
# The folder of the node that has programs and libraries of its GPUs.
_BIN = "/home/kubernetes/bin"


@dataclass(frozen=True)
class Step:
    """An init container that runs as root of the node: its script, and (volume, folder there) for each mount.

    With `on_node` it has no mounts and runs the script in the namespaces of the node's first process.
    """

    name: str
    image: str
    script: str
    mounts: tuple[tuple[str, str], ...] = ()
    on_node: bool = False


# Does nothing, so that the pod stays once its init containers are done.
PAUSE = "gke.gcr.io/pause:3.8@sha256:880e63f94b145e46f1b1082bb71b85e21f16b99b180b9996407d61240ceb9830"


@dataclass(frozen=True)
class Daemon:
    """What runs once all steps are done. With mounts, (volume, folder there), it is root of the node."""

    name: str = "pause"
    image: str = PAUSE
    mounts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Installer:
    """A DaemonSet for nodes with these accelerators. `volumes` are (name, folder of the node, type or "")."""

    name: str
    accelerators: tuple[str, ...]
    volumes: tuple[tuple[str, str, str], ...]
    steps: tuple[Step, ...]
    source: Source
    architecture: Literal["arm64"] | None = None
    daemon: Daemon = Daemon()


# Google's manifest has no tag here, so each node gets what is newest. It is needed for its nsenter alone.
_SHELL = "ubuntu:24.04"
_GIB = "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib"
_TCPX_IMAGE = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:v3.1.12"
_TCPXO_IMAGE = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.17"

_COPY_GIB = """set -ex
/scripts/container_entry.sh install
cp -r /var/lib/gib/lib64/. /usr/local/home/kubernetes/bin/nvidia/lib64
cp -r /var/lib/gib/. /usr/local/home/kubernetes/bin/gib
"""
_COPY_TCPX = """set -ex
/scripts/container_entry.sh install --install-nccl
mkdir -p /usr/local/nvidia/lib64
cp -r /var/lib/tcpx/lib64/. /usr/local/nvidia/lib64
"""
_COPY_TCPXO = """set -ex
chmod 755 /scripts/container_entry.sh
/scripts/container_entry.sh install --install-nccl
mkdir -p /usr/local/nvidia/lib64
cp -r /var/lib/tcpxo/lib64/. /usr/local/nvidia/lib64
"""
# Lets TCP in, loads the module that imports buffers, and mounts adapters (1ae0:0084) where pods look.
_APERTURES = """set -e
/sbin/iptables -I INPUT -p tcp -m tcp -j ACCEPT
modprobe import-helper
mkdir -p /dev/aperture_devices
lspci -nn -D | grep 1ae0:0084 | cut -d ' ' -f 1 | while read -r adapter; do
  folder=/dev/aperture_devices/$adapter
  mkdir -p "$folder"
  umount -R "$folder" || true
  mount --bind "$(readlink -f "/sys/bus/pci/devices/$adapter")" "$folder"
done
chmod -R a+r /dev/aperture_devices
chmod a+rw /dev/aperture_devices/*/resource*
"""


def _gib(image: str) -> tuple[Step, ...]:
    mounts = (
        ("library-dir-host", "/usr/local/home/kubernetes/bin/nvidia/lib64"),
        ("gib", "/usr/local/home/kubernetes/bin/gib"),
    )
    return (Step("nccl-rdma-installer", f"{_GIB}/{image}", _COPY_GIB, mounts),)


_GIB_VOLUMES = (
    ("library-dir-host", f"{_BIN}/nvidia/lib64", "DirectoryOrCreate"),
    ("gib", f"{_BIN}/gib", ""),
)


def _source(path: str, date: str, commit: str = _NEWEST) -> Source:
    return Source("container-engine-accelerators", f"{_BASE}/{commit}/{path}", date)


_TCP_VOLUMES = (("var-lib", "/var/lib", ""), ("library-dir-host", _BIN, ""))
_TCP_MOUNTS = (("var-lib", "/var/lib"), ("library-dir-host", "/usr/local"))
_INJECTOR = "sha256:6e79483d52abdc28454bf186320b10a56b0f117a10e8d65d5c74dbb821a76970"
INSTALLERS: tuple[Installer, ...] = (
    # Gives containers the devices that annotations of their pods name. Google's is for RTX PRO 6000 too.
    Installer(
        "device-injector",
        ("nvidia-h100-80gb", "nvidia-h100-mega-80gb"),
        (("nri", "/var/run/nri", ""), ("dev", "/dev", "")),
        (),
        _source("nri_device_injector/nri-device-injector.yaml", "2026-06-11", _COMPARED),
        daemon=Daemon(
            "device-injector",
            f"gcr.io/gke-release/nri-device-injector@{_INJECTOR}",
            (("dev", "/dev"), ("nri", "/var/run/nri")),
        ),
    ),
    Installer(
        "nccl-tcpx-installer",
        ("nvidia-h100-80gb",),
        _TCP_VOLUMES,
        (Step("nccl-tcpx-installer", _TCPX_IMAGE, _COPY_TCPX, _TCP_MOUNTS),),
        _source("gpudirect-tcpx/nccl-tcpx-installer.yaml", "2026-06-22"),
    ),
    Installer(
        "nccl-tcpxo-installer",
        ("nvidia-h100-mega-80gb",),
        _TCP_VOLUMES,
        (
            Step("pre-installation", _SHELL, _APERTURES, on_node=True),
            Step("nccl-tcpxo-installer", _TCPXO_IMAGE, _COPY_TCPXO, _TCP_MOUNTS),
        ),
        _source("gpudirect-tcpxo/nccl-tcpxo-installer.yaml", "2026-11-28"),
    ),
    Installer(
        "nccl-rdma-installer",
        ("nvidia-h200-141gb", "nvidia-b200"),
        _GIB_VOLUMES,
        _gib("nccl-plugin-gib:v1.1.2"),
        _source("gpudirect-rdma/nccl-rdma-installer.yaml", "2026-11-28"),
    ),
    # Google calls this one like the other, so that a cluster can have one of both alone.
    Installer(
        "nccl-rdma-installer-a4x",
        ("nvidia-gb200",),
        _GIB_VOLUMES,
        _gib("nccl-plugin-gib-arm64:v1.1.2"),
        _source("gpudirect-rdma/nccl-rdma-installer-a4x.yaml", "2026-11-28"),
        architecture="arm64",
    ),
)


def installers_for(accelerators: Collection[str]) -> tuple[Installer, ...]:
    """Return the installers that nodes with these accelerators need, each once."""
    return tuple(row for row in INSTALLERS if not set(accelerators).isdisjoint(row.accelerators))
