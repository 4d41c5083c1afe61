"""Networks and installers of GPUDirect against what Google publishes, field by field.

Networks: GoogleCloudPlatform/cluster-toolkit at commit 10470803 (2026-06-25), in
`modules/scheduler/gke-cluster/templates/gke-network-paramset.yaml.tftpl`, `network-object.yaml.tftpl` and
`main.tf` line 663 for the mode. Installers: GoogleCloudPlatform/container-engine-accelerators at commit
992db812 (2026-06-11), the file that each row names, with the tags of 2026-11-28.
"""

from typing import Any

import pytest
from small_clouds import clouds, cluster, made, pool

from inferfleet.cloud.gke.facts.installers import INSTALLERS, PAUSE, installers_for
from inferfleet.cloud.gke.gpu_direct import installer

OURS = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}


def pair(name: str, vpc: str, subnetwork: str, mode: str) -> list[dict[str, Any]]:
    """What the toolkit's two templates give for one network."""
    head = {"apiVersion": "networking.gke.io/v1", "metadata": {"name": name, "labels": OURS}}
    refers = {"group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": name}
    parameters = {"vpc": vpc, "vpcSubnet": subnetwork, "deviceMode": mode}
    return [
        {**head, "kind": "GKENetworkParamSet", "spec": parameters},
        {**head, "kind": "Network", "spec": {"type": "Device", "parametersRef": refers}},
    ]


def rendered(class_name: str, **spec: Any) -> tuple[str, list[dict[str, Any]]]:
    """The name of the cluster in Google Cloud, and the objects of its networks."""
    wired = pool("wired", class_name, zones=["us-east5-a"], **spec)
    cloud = made(clouds(cluster("east", wired, network={"gpuDirect": "Stack"})))
    return cloud.cloud_name, [each for each in cloud.objects if each["kind"] != "DaemonSet"]


def test_each_network_of_tcpxo_is_a_net_device() -> None:
    east, objects = rendered("mega")
    ours = [(f"tcpxo-{number}", f"{east}-tcpxo-{number}") for number in range(8)]
    assert objects == [each for name, of in ours for each in pair(name, of, of, "NetDevice")]


def test_of_rdma_the_gvnic_is_a_net_device_and_the_rails_share_a_network() -> None:
    east, objects = rendered("h200")
    rails = [f"rdma-a-{number}" for number in range(8)]
    assert objects == [
        *pair("gvnic", f"{east}-gvnic", f"{east}-gvnic", "NetDevice"),
        *(each for rail in rails for each in pair(rail, f"{east}-rdma-a", f"{east}-{rail}", "RDMA")),
    ]


def test_networks_of_somebody_else_are_named_by_their_subnetworks() -> None:
    second = {"network": "fabric-nic", "subnetwork": "fabric-nic-us-east5"}
    rails = [{"network": "fabric", "subnetwork": f"fabric-{number}"} for number in range(8)]
    _, objects = rendered("h200", additionalNodeNetworkConfigs=[second, *rails])
    assert objects == [
        *(each for rail in rails for each in pair(rail["subnetwork"], *rail.values(), "RDMA")),
        *pair("fabric-nic-us-east5", *second.values(), "NetDevice"),
    ]


_TCPX = "gpudirect-tcpx/nccl-tcpx-installer.yaml"
_XO = "gpudirect-tcpxo/nccl-tcpxo-installer.yaml"
_IB = "gpudirect-rdma/nccl-rdma-installer.yaml"
_ARM = "gpudirect-rdma/nccl-rdma-installer-a4x.yaml"
_REGISTRY = "us-docker.pkg.dev/gce-ai-infra"
_BIN = "/home/kubernetes/bin"
# File, name, accelerators, architecture, image of the installer, volumes, mounts.
PUBLISHED: tuple[tuple[str, str, list[str], str, str, dict[str, str], dict[str, str]], ...] = (
    (
        _TCPX,
        "nccl-tcpx-installer",
        ["nvidia-h100-80gb"],
        "",
        f"{_REGISTRY}/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:v3.1.12",
        {"var-lib": "/var/lib", "library-dir-host": _BIN},
        {"var-lib": "/var/lib", "library-dir-host": "/usr/local"},
    ),
    (
        _XO,
        "nccl-tcpxo-installer",
        ["nvidia-h100-mega-80gb"],
        "",
        f"{_REGISTRY}/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.17",
        {"var-lib": "/var/lib", "library-dir-host": _BIN},
        {"var-lib": "/var/lib", "library-dir-host": "/usr/local"},
    ),
    (
        _IB,
        "nccl-rdma-installer",
        ["nvidia-h200-141gb", "nvidia-b200"],
        "",
        f"{_REGISTRY}/gpudirect-gib/nccl-plugin-gib:v1.1.2",
        {"library-dir-host": f"{_BIN}/nvidia/lib64", "gib": f"{_BIN}/gib"},
        {"library-dir-host": f"/usr/local{_BIN}/nvidia/lib64", "gib": f"/usr/local{_BIN}/gib"},
    ),
    (
        _ARM,
        # Google's has the name of the one before, so that a cluster could not have both.
        "nccl-rdma-installer-a4x",
        ["nvidia-gb200"],
        "arm64",
        f"{_REGISTRY}/gpudirect-gib/nccl-plugin-gib-arm64:v1.1.2",
        {"library-dir-host": f"{_BIN}/nvidia/lib64", "gib": f"{_BIN}/gib"},
        {"library-dir-host": f"/usr/local{_BIN}/nvidia/lib64", "gib": f"/usr/local{_BIN}/gib"},
    ),
)
# Volumes of Google's that no container mounts: `tcpx`, `tcpxo`, and `nvidia-dir` of A4X.
COPIES = {
    "nccl-tcpx-installer": ("--install-nccl", "/var/lib/tcpx/lib64/. /usr/local/nvidia/lib64"),
    "nccl-tcpxo-installer": ("--install-nccl", "/var/lib/tcpxo/lib64/. /usr/local/nvidia/lib64"),
    "nccl-rdma-installer": ("install", f"/var/lib/gib/. /usr/local{_BIN}/gib"),
    "nccl-rdma-installer-a4x": ("install", f"/var/lib/gib/. /usr/local{_BIN}/gib"),
}


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda published: str(published[1]))
def test_an_installer_is_as_google_has_it(
    published: tuple[str, str, list[str], str, str, dict[str, str], dict[str, str]],
) -> None:
    file, name, accelerators, architecture, image, volumes, mounts = published
    [row] = [row for row in INSTALLERS if row.name == name]
    assert row.source.url.endswith(file)
    manifest = installer(row, stack="prod")
    pod = manifest["spec"]["template"]["spec"]
    steps = pod.pop("initContainers")
    wanted = [{"key": "cloud.google.com/gke-accelerator", "operator": "In", "values": accelerators}]
    if architecture:
        wanted.append({"key": "kubernetes.io/arch", "operator": "In", "values": [architecture]})
    terms = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
    made_volumes = {volume["name"]: volume["hostPath"]["path"] for volume in pod.pop("volumes")}
    assert made_volumes == volumes
    assert pod == {
        "priorityClassName": "system-node-critical",
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "tolerations": [{"operator": "Exists"}],
        "hostNetwork": True,
        "hostPID": True,
        "containers": [{"name": "pause", "image": PAUSE}],
    }
    step = steps[-1]
    script = step.pop("args")[0]
    assert step == {
        "name": name.removesuffix("-a4x"),
        "image": image,
        "resources": {"requests": {"cpu": "150m"}},
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": volume, "mountPath": path} for volume, path in mounts.items()],
        "command": ["/bin/sh", "-c"],
    }
    option, copied = COPIES[name]
    assert option in script
    assert f"cp -r {copied}" in script
    del manifest["spec"]["template"]["spec"]
    assert manifest == {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": name,
            "namespace": "kube-system",
            "labels": OURS | {"k8s-app": name},
            # Nodes may come hours later.
            "annotations": {"pulumi.com/skipAwait": "true"},
        },
        "spec": {
            "selector": {"matchLabels": {"k8s-app": name}},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {"metadata": {"labels": {"name": name, "k8s-app": name}}},
        },
    }


def test_the_apertures_of_tcpxo_are_mounted_in_the_namespaces_of_the_node() -> None:
    [row] = [row for row in INSTALLERS if row.name == "nccl-tcpxo-installer"]
    first = installer(row, stack="prod")["spec"]["template"]["spec"]["initContainers"][0]
    script = first["command"].pop()
    assert first == {
        "name": "pre-installation",
        # Google's has no tag.
        "image": "ubuntu:24.04",
        "securityContext": {"privileged": True},
        "command": ["nsenter", "-at", "1", "--", "sh", "-c"],
    }
    for part in (
        "/sbin/iptables -I INPUT -p tcp -m tcp -j ACCEPT",
        "modprobe import-helper",
        "lspci -nn -D | grep 1ae0:0084",
        "/sys/bus/pci/devices/$adapter",
        "chmod -R a+r /dev/aperture_devices",
        "chmod a+rw /dev/aperture_devices/*/resource*",
    ):
        assert part in script, part


def test_the_device_injector_runs_as_google_has_it() -> None:
    [row] = [row for row in INSTALLERS if row.name == "device-injector"]
    pod = installer(row, stack="prod")["spec"]["template"]["spec"]
    digest = "sha256:6e79483d52abdc28454bf186320b10a56b0f117a10e8d65d5c74dbb821a76970"
    assert pod["containers"] == [
        {
            "name": "device-injector",
            "image": f"gcr.io/gke-release/nri-device-injector@{digest}",
            "resources": {"requests": {"cpu": "150m"}},
            "securityContext": {"privileged": True},
            "volumeMounts": [
                {"name": "dev", "mountPath": "/dev"},
                {"name": "nri", "mountPath": "/var/run/nri"},
            ],
        }
    ]
    assert pod["volumes"] == [
        {"name": "nri", "hostPath": {"path": "/var/run/nri"}},
        {"name": "dev", "hostPath": {"path": "/dev"}},
    ]
    assert "initContainers" not in pod


@pytest.mark.parametrize(
    ("accelerator", "names"),
    [
        ("nvidia-h100-80gb", ["device-injector", "nccl-tcpx-installer"]),
        ("nvidia-h100-mega-80gb", ["device-injector", "nccl-tcpxo-installer"]),
        ("nvidia-h200-141gb", ["nccl-rdma-installer"]),
        ("nvidia-b200", ["nccl-rdma-installer"]),
        ("nvidia-gb200", ["nccl-rdma-installer-a4x"]),
        ("nvidia-l4", []),
    ],
)
def test_nodes_get_what_their_accelerator_needs(accelerator: str, names: list[str]) -> None:
    assert [row.name for row in installers_for({accelerator})] == names
    assert all(row.source.url and row.source.date for row in INSTALLERS)
