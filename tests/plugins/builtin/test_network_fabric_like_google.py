"""network-fabric against the manifests that Google publishes, field by field.

Each row is a fact of GoogleCloudPlatform/container-engine-accelerators at commit 992db812 (2026-06-11), with
the line that it comes from; the tag of the daemon is that of 2026-11-28. What differs is listed with its
reason in the guide, and here as not being there.
"""

import copy
import json
from typing import Any

import pytest
from gke_pods import RDMA, TCPXO

from inferfleet.plugins.builtin.network_fabric import Config, edit
from inferfleet.plugins.contract import Request

# Path in our pod, value, line. `[x]` is the entry of a list with this name, or with this mountPath.
_DAEMON = "spec.initContainers[tcpxo-daemon]"
_ENGINE = "spec.containers[engine]"
_XO, _BEST, _README = "nccl-test-latest.yaml", "best-practice.md", "README.md"
TCPXO_FIELDS: tuple[tuple[str, Any, str], ...] = (
    *(
        (f"devices[{number}]", device, f"{_XO}:{42 + number}")
        for number, device in enumerate(
            [
                *(f"/dev/nvidia{gpu}" for gpu in range(8)),
                "/dev/nvidiactl",
                "/dev/nvidia-uvm",
                "/dev/dmabuf_import_helper",
            ]
        )
    ),
    ("metadata.annotations[networking.gke.io/default-interface]", "eth0", f"{_XO}:53"),
    *((f"interfaces[{number}]", f"eth{number}", f"{_XO}:{56 + number}") for number in range(9)),
    (
        f"{_DAEMON}.image",
        "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.23",
        f"{_XO}:83",
    ),
    (f"{_DAEMON}.command", ["/bin/sh", "-c"], f"{_XO}:85"),
    (
        f"{_DAEMON}.args",
        [
            "set -ex\nchmod 755 /fts/entrypoint_rxdm_container.sh\n"
            "/fts/entrypoint_rxdm_container.sh --num_hops=2\n"
        ],
        f"{_XO}:86",
    ),
    (f"{_DAEMON}.securityContext.capabilities.add", ["NET_ADMIN", "NET_BIND_SERVICE"], f"{_XO}:95"),
    (f"{_DAEMON}.volumeMounts[/usr/local/nvidia/lib64].name", "nvidia", f"{_XO}:98"),
    (f"{_DAEMON}.volumeMounts[/hostsysfs].name", "sys", f"{_XO}:100"),
    (f"{_DAEMON}.volumeMounts[/hostprocsysfs].name", "proc-sys", f"{_XO}:102"),
    (f"{_DAEMON}.env[LD_LIBRARY_PATH].value", "/usr/local/nvidia/lib64", f"{_XO}:105"),
    (f"{_ENGINE}.env[LD_LIBRARY_PATH].value", "/usr/local/nvidia/lib64", f"{_XO}:130"),
    (f"{_ENGINE}.env[NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY].value", "/dev/aperture_devices", f"{_XO}:132"),
    (f"{_ENGINE}.volumeMounts[/usr/local/nvidia/lib64].name", "nvidia", f"{_XO}:135"),
    (f"{_ENGINE}.volumeMounts[/dev/aperture_devices].name", "aperture-devices", f"{_XO}:139"),
    ("spec.volumes[nvidia].hostPath.path", "/home/kubernetes/bin/nvidia/lib64", f"{_XO}:147"),
    ("spec.volumes[sys].hostPath.path", "/sys", f"{_XO}:154"),
    ("spec.volumes[proc-sys].hostPath.path", "/proc/sys", f"{_XO}:157"),
    ("spec.volumes[aperture-devices].hostPath.path", "/dev/aperture_devices", f"{_XO}:160"),
    (f"{_DAEMON}.restartPolicy", "Always", f"{_BEST}:46"),
    (f"{_DAEMON}.env[HEALTH_CHECK_LOG_FILE].value", "/run/health-check", f"{_BEST}:111"),
    (f"{_DAEMON}.startupProbe.initialDelaySeconds", 1, f"{_BEST}:114"),
    (f"{_DAEMON}.startupProbe.periodSeconds", 5, f"{_BEST}:115"),
    (f"{_DAEMON}.startupProbe.timeoutSeconds", 1, f"{_BEST}:116"),
    (f"{_DAEMON}.startupProbe.exec.command", ["cat", "/run/health-check"], f"{_BEST}:122"),
    *(
        (f"{_ENGINE}.env[{name}].value", value, f"{_README}:{line}")
        for line, name, value in (
            (73, "NCCL_FASTRAK_CTRL_DEV", "eth0"),
            (74, "NCCL_FASTRAK_IFNAME", "eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8"),
            (75, "NCCL_SOCKET_IFNAME", "eth0"),
            (76, "NCCL_CROSS_NIC", "0"),
            (77, "NCCL_PROTO", "Simple,LL128"),
            (79, "NCCL_MIN_NCHANNELS", "4"),
            (80, "NCCL_TUNER_PLUGIN", "libnccl-tuner.so"),
            # With the folder of the libraries in the container, as lines 82 and 85 say.
            (81, "NCCL_TUNER_CONFIG_PATH", "/usr/local/nvidia/lib64/a3plus_tuner_config.textproto"),
            (
                84,
                "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE",
                "/usr/local/nvidia/lib64/a3plus_guest_config.textproto",
            ),
            (88, "NCCL_NVLSTREE_MAX_CHUNKSIZE", "131072"),
            (89, "NCCL_P2P_NET_CHUNKSIZE", "524288"),
            (90, "NCCL_P2P_PCI_CHUNKSIZE", "524288"),
            (91, "NCCL_P2P_NVL_CHUNKSIZE", "1048576"),
            (92, "NCCL_FASTRAK_NUM_FLOWS", "2"),
            (93, "NCCL_FASTRAK_USE_SNAP", "1"),
            (94, "NCCL_FASTRAK_PLUGIN_ACCEPT_TIMEOUT_MS", "600000"),
            (95, "NCCL_FASTRAK_ENABLE_CONTROL_CHANNEL", "0"),
            (96, "NCCL_BUFFSIZE", "8388608"),
            (97, "NCCL_NET_GDR_LEVEL", "PIX"),
            (98, "NCCL_FASTRAK_ENABLE_HOTPATH_LOGGING", "0"),
            (99, "NCCL_FASTRAK_USE_LLCM", "1"),
            (100, "NCCL_NVLS_ENABLE", "1"),
            (101, "NCCL_DEBUG", "WARN"),
            (102, "NCCL_DEBUG_SUBSYS", "INIT,NET,ENV,COLL,GRAPH"),
        )
    ),
)
_IB = "nccl-test.yaml"
RDMA_FIELDS: tuple[tuple[str, Any, str], ...] = (
    ("metadata.annotations[networking.gke.io/default-interface]", "eth0", f"{_IB}:40"),
    ("interfaces[0]", "eth0", f"{_IB}:43"),
    *((f"interfaces[{number}]", f"eth{number + 1}", f"{_IB}:{43 + number}") for number in range(1, 9)),
    ("spec.volumes[library-dir-host].hostPath.path", "/home/kubernetes/bin/nvidia", f"{_IB}:57"),
    ("spec.volumes[gib].hostPath.path", "/home/kubernetes/bin/gib", f"{_IB}:60"),
    (f"{_ENGINE}.volumeMounts[/usr/local/nvidia].name", "library-dir-host", f"{_IB}:72"),
    (f"{_ENGINE}.volumeMounts[/usr/local/gib].name", "gib", f"{_IB}:74"),
    (f"{_ENGINE}.env[LD_LIBRARY_PATH].value", "/usr/local/nvidia/lib64", f"{_IB}:79"),
    ("script", "source /usr/local/gib/scripts/set_nccl_env.sh", f"{_IB}:88"),
    (f"{_ENGINE}.securityContext.capabilities.add", ["IPC_LOCK"], "nccl-test-a4x-max.yaml:81"),
)
# Of Google's pods and not of ours.
NOT_THERE = (
    f"{_DAEMON}.imagePullPolicy",  # :84
    "spec.affinity",  # :67
    "spec.hostname",  # :77
    "spec.subdomain",  # :78
    f"{_ENGINE}.env[CUDA_VISIBLE_DEVICES]",  # README.md:87
)


def template_of(generated: dict[str, Any], request: Request) -> dict[str, Any]:
    engine = generated["spec"]["containers"][1]
    engine["command"] = ["vllm", "serve"]
    return edit(generated, request, Config())


def at(template: dict[str, Any], path: str) -> Any:
    annotations = template["metadata"]["annotations"]
    if path.startswith("interfaces["):
        listed = json.loads(annotations["networking.gke.io/interfaces"])
        return listed[int(path[11:-1])]["interfaceName"]
    if path.startswith("devices["):
        devices = annotations["devices.gke.io/container.tcpxo-daemon"].splitlines()
        return devices[int(path[8:-1])].removeprefix("- path: ")
    if path == "script":
        return template["spec"]["containers"][1]["command"][2].splitlines()[1]
    if path.startswith("metadata.annotations["):
        return annotations[path[21:-1]]
    here: Any = template
    for step in path.replace("[", ".[").split("."):
        if step.startswith("["):
            name = step[1:-1]
            here = next((entry for entry in here if name in (entry.get("mountPath"), entry["name"])), None)
        else:
            here = here.get(step)
        if here is None:
            return None
    return here


@pytest.mark.parametrize(("path", "value", "line"), TCPXO_FIELDS, ids=lambda value: str(value)[:60])
def test_tcpxo_is_as_google_has_it(generated: dict[str, Any], path: str, value: Any, line: str) -> None:
    assert at(template_of(generated, TCPXO), path) == value, line


@pytest.mark.parametrize(("path", "value", "line"), RDMA_FIELDS, ids=lambda value: str(value)[:60])
def test_rdma_is_as_google_has_it(generated: dict[str, Any], path: str, value: Any, line: str) -> None:
    assert at(template_of(generated, RDMA), path) == value, line


@pytest.mark.parametrize("path", NOT_THERE)
def test_what_google_has_and_we_have_a_reason_against_is_not_there(
    generated: dict[str, Any], path: str
) -> None:
    assert at(template_of(generated, TCPXO), path) is None


def test_nothing_is_added_that_google_does_not_have(generated: dict[str, Any]) -> None:
    before = copy.deepcopy(generated)
    after = template_of(generated, TCPXO)
    old, new = before["spec"]["containers"][1], after["spec"]["containers"][1]
    added = [variable["name"] for variable in new["env"] if variable not in old["env"]]
    known = [path for path, _, _ in TCPXO_FIELDS]
    assert [name for name in added if f"{_ENGINE}.env[{name}].value" not in known] == []
    assert [
        mount
        for mount in new["volumeMounts"]
        if f"{_ENGINE}.volumeMounts[{mount['mountPath']}].name" not in known
    ] == []
