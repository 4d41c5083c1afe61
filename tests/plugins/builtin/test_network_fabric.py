"""network-fabric shown on whole pods, and where a pool has no such network."""

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from gke_pods import RDMA, TCPXO, on_gke
from one_request import GPU, NIC, REQUEST

from inferfleet.plugins.builtin.network_fabric import RDMA_SCRIPT, TCPXO_ENV, Config, edit
from inferfleet.plugins.contract import DeviceFacts, Edited, PluginError, Request

ELSEWHERE = replace(REQUEST, gpus=8)
LIBRARIES = {"name": "LD_LIBRARY_PATH", "value": "/usr/local/nvidia/lib64"}


def interfaces(*named: tuple[str, str]) -> dict[str, str]:
    listed = [{"interfaceName": name, "network": network} for name, network in named]
    return {
        "networking.gke.io/default-interface": "eth0",
        "networking.gke.io/interfaces": json.dumps(listed),
    }


def engine_of(template: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = template["spec"]["containers"][1]
    return container


def test_tcpxo_adds_a_daemon_its_devices_and_the_settings_of_nccl(generated: dict[str, Any]) -> None:
    expected = copy.deepcopy(generated)
    devices = [*(f"/dev/nvidia{number}" for number in range(8)), "/dev/nvidiactl", "/dev/nvidia-uvm"]
    expected["metadata"]["annotations"] = {
        **interfaces(("eth0", "default"), *((f"eth{n + 1}", f"tcpxo-{n}") for n in range(8))),
        "devices.gke.io/container.tcpxo-daemon": "".join(
            f"- path: {device}\n" for device in [*devices, "/dev/dmabuf_import_helper"]
        ),
    }
    expected["spec"]["volumes"] = [
        {"name": "nvidia", "hostPath": {"path": "/home/kubernetes/bin/nvidia/lib64"}},
        {"name": "sys", "hostPath": {"path": "/sys"}},
        {"name": "proc-sys", "hostPath": {"path": "/proc/sys"}},
        {"name": "aperture-devices", "hostPath": {"path": "/dev/aperture_devices"}},
    ]
    expected["spec"]["initContainers"].append(
        {
            "name": "tcpxo-daemon",
            "image": "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.23",
            "restartPolicy": "Always",
            "command": ["/bin/sh", "-c"],
            "args": [
                "set -ex\nchmod 755 /fts/entrypoint_rxdm_container.sh\n"
                "/fts/entrypoint_rxdm_container.sh --num_hops=2\n"
            ],
            "env": [LIBRARIES, {"name": "HEALTH_CHECK_LOG_FILE", "value": "/run/health-check"}],
            "securityContext": {"capabilities": {"add": ["NET_ADMIN", "NET_BIND_SERVICE"]}},
            "startupProbe": {
                "exec": {"command": ["cat", "/run/health-check"]},
                "initialDelaySeconds": 1,
                "periodSeconds": 5,
                "timeoutSeconds": 1,
                "failureThreshold": 24,
            },
            "volumeMounts": [
                {"name": "nvidia", "mountPath": "/usr/local/nvidia/lib64"},
                {"name": "sys", "mountPath": "/hostsysfs"},
                {"name": "proc-sys", "mountPath": "/hostprocsysfs"},
            ],
        }
    )
    engine = engine_of(expected)
    engine["volumeMounts"] = [
        {"name": "nvidia", "mountPath": "/usr/local/nvidia/lib64"},
        {"name": "aperture-devices", "mountPath": "/dev/aperture_devices"},
    ]
    settings = [{"name": name, "value": value} for name, value in TCPXO_ENV.items()]
    engine["env"] += [LIBRARIES, *settings]
    assert edit(generated, TCPXO, Config()) == expected


def test_rdma_adds_interfaces_and_a_script_that_runs_before_the_engine(generated: dict[str, Any]) -> None:
    engine_of(generated).update(command=["vllm", "serve"], args=["--model=qwen"])
    expected = copy.deepcopy(generated)
    rails = ((f"eth{number + 2}", f"rdma-a-{number}") for number in range(8))
    expected["metadata"]["annotations"] = interfaces(("eth0", "default"), *rails)
    expected["spec"]["volumes"] = [
        {"name": "library-dir-host", "hostPath": {"path": "/home/kubernetes/bin/nvidia"}},
        {"name": "gib", "hostPath": {"path": "/home/kubernetes/bin/gib"}},
    ]
    engine = engine_of(expected)
    engine["command"] = [
        "/bin/bash",
        "-c",
        f'[ -r {RDMA_SCRIPT} ] || {{ echo "{RDMA_SCRIPT} is missing: is the installer of gIB on this node?" '
        f'>&2; exit 1; }}\nsource {RDMA_SCRIPT}\nexec "$0" "$@"\n',
    ]
    engine["args"] = ["vllm", "serve", "--model=qwen"]
    engine["env"].append(LIBRARIES)
    engine["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    engine["volumeMounts"] = [
        {"name": "library-dir-host", "mountPath": "/usr/local/nvidia"},
        {"name": "gib", "mountPath": "/usr/local/gib"},
    ]
    assert edit(generated, RDMA, Config(fabric="RDMA")) == expected


def test_infiniband_asks_for_one_of_the_resource_and_locked_memory(
    generated: dict[str, Any], pod_request: Request
) -> None:
    expected = copy.deepcopy(generated)
    engine = engine_of(expected)
    engine["resources"] = {part: {"nvidia.com/gpu": "2", "rdma/ib": "1"} for part in ("limits", "requests")}
    engine["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    assert edit(generated, pod_request, Config(fabric="InfiniBand")) == expected


@pytest.mark.parametrize("fabric", ["InfiniBand", "TCPXO", "RDMA"])
def test_pods_without_an_accelerator_stay_as_they_are(generated: dict[str, Any], fabric: str) -> None:
    pod = replace(REQUEST, accelerator=None, gpus=0)
    remark = "these pods have no accelerator, so they need no such network"
    expected = Edited(copy.deepcopy(generated), remarks=(remark,))
    assert edit(generated, pod, Config.model_validate({"fabric": fabric})) == expected


@pytest.mark.parametrize(
    "nic",
    [
        replace(NIC, attributes={}),
        replace(NIC, driver="dra.net", attributes={}),
        replace(NIC, driver="acme.example", attributes={"acme.example/linkType": "roce"}),
    ],
)
def test_a_class_has_infiniband_by_the_resource_or_a_network(
    generated: dict[str, Any], nic: DeviceFacts
) -> None:
    described = replace(REQUEST.node_class, devices=(GPU, nic))
    edited = edit(generated, replace(REQUEST, node_class=described), Config(fabric="InfiniBand"))
    assert engine_of(edited)["resources"]["limits"] == {"nvidia.com/gpu": "2", "rdma/ib": "1"}


def test_resource_and_devices_of_infiniband_are_the_configs(
    generated: dict[str, Any], pod_request: Request
) -> None:
    config = Config(
        fabric="InfiniBand",
        ib_resource="openshift.io/ib",
        ib_count=8,
        nccl_ib_hca="=mlx5_0,mlx5_1",
        ucx_net_devices="mlx5_0:1",
    )
    engine = engine_of(edit(generated, pod_request, config))
    assert engine["resources"]["limits"] == {"nvidia.com/gpu": "2", "openshift.io/ib": "8"}
    assert engine["env"][2:] == [
        {"name": "NCCL_IB_HCA", "value": "=mlx5_0,mlx5_1"},
        {"name": "UCX_NET_DEVICES", "value": "mlx5_0:1"},
    ]


def test_a_node_of_four_gpus_has_four_interfaces(generated: dict[str, Any]) -> None:
    request = on_gke("nvidia-gb200", "RDMA", "gvnic", *(f"rdma-b-{rail}" for rail in range(4)), count=4)
    edited = edit(generated, request, Config(entry_point=("vllm", "serve"), fabric="RDMA"))
    assert [network["network"] for network in _networks(edited)] == [
        "default",
        *(f"rdma-b-{rail}" for rail in range(4)),
    ]
    assert engine_of(edited)["args"] == ["vllm", "serve"]


def test_where_the_stack_does_not_create_nodes_networks_are_the_configs(generated: dict[str, Any]) -> None:
    names = tuple(f"vpc{number}" for number in range(1, 9))
    edited = edit(generated, ELSEWHERE, Config(fabric="TCPXO", networks=names))
    assert [network["network"] for network in _networks(edited)] == ["default", *names]


def _networks(template: dict[str, Any]) -> list[dict[str, str]]:
    listed: list[dict[str, str]] = json.loads(
        template["metadata"]["annotations"]["networking.gke.io/interfaces"]
    )
    return listed


def test_what_the_deployment_sets_itself_stays(generated: dict[str, Any]) -> None:
    own = [{"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "LD_LIBRARY_PATH", "value": "/opt/lib"}]
    engine_of(generated)["env"] += own
    env = engine_of(edit(generated, TCPXO, Config(library_path=("/opt/nccl",))))["env"]
    values = {variable["name"]: variable["value"] for variable in env}
    assert values["NCCL_DEBUG"] == "INFO"
    assert values["LD_LIBRARY_PATH"] == "/opt/lib:/opt/nccl:/usr/local/nvidia/lib64"


EIGHT = tuple(f"n{number}" for number in range(8))


@pytest.mark.parametrize(
    ("request_", "config", "said"),
    [
        (
            on_gke("nvidia-h100-80gb"),
            {"fabric": "TCPXO"},
            "pool h100 of cluster east has no network between GPUs, so pods cannot use TCPXO; use scope",
        ),
        (on_gke("nvidia-h100-80gb"), {}, "pods cannot use a network between GPUs"),
        (TCPXO, {"fabric": "RDMA"}, "fabric RDMA contradicts pool h100 of cluster east, which has TCPXO"),
        (TCPXO, {"fabric": "InfiniBand"}, "fabric InfiniBand contradicts pool h100"),
        (on_gke("nvidia-h100-80gb", "TCPX"), {}, "has TCPX, for which this plugin has nothing"),
        (ELSEWHERE, {}, "what network pool h100 of cluster east has is not known; set fabric"),
        (
            replace(REQUEST, node_class=replace(REQUEST.node_class, devices=(GPU,))),
            {"fabric": "InfiniBand"},
            "class h100-8x has no network between its nodes, so pods cannot ask for rdma/ib; describe the "
            "adapters in the class by a Synthetic device of driver rdma/ib, or use scope",
        ),
        (ELSEWHERE, {"fabric": "RDMA"}, "the Network objects for GPUDirect RDMA are not known; set networks"),
        (
            TCPXO,
            {"networks": ["a", "b"]},
            "networks has 2 names, but nodes have 8 interfaces for GPUDirect-TCPXO",
        ),
        (replace(TCPXO, gpus=4), {}, "a pod with 4 of 8 GPUs cannot use TCPXO, whose interfaces belong to"),
        (RDMA, {}, r"the engine has no command, .*; set entryPoint to that of the image vllm:1, such as"),
    ],
)
def test_a_pod_that_cannot_use_it_is_refused(
    generated: dict[str, Any], request_: Request, config: dict[str, Any], said: str
) -> None:
    with pytest.raises(PluginError, match=said):
        edit(generated, request_, Config.model_validate(config))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"env": [{"name": "LD_LIBRARY_PATH", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}]},
            "LD_LIBRARY_PATH has valueFrom, and cannot be added to",
        ),
        (
            {"volumeMounts": [{"name": "x", "mountPath": "/usr/local/nvidia/lib64"}]},
            "/usr/local/nvidia/lib64",
        ),
    ],
)
def test_what_the_template_has_in_its_place_is_refused(
    generated: dict[str, Any], changed: dict[str, Any], said: str
) -> None:
    engine_of(generated).update(changed)
    with pytest.raises(PluginError, match=said):
        edit(generated, TCPXO, Config())


def test_another_annotation_of_interfaces_is_refused(generated: dict[str, Any]) -> None:
    generated["metadata"]["annotations"] = {"networking.gke.io/interfaces": "[]"}
    with pytest.raises(PluginError, match=r"^networking\.gke\.io/interfaces .* which has \[\]"):
        edit(generated, TCPXO, Config())


def test_another_amount_of_the_rdma_resource_is_refused(
    generated: dict[str, Any], pod_request: Request
) -> None:
    engine_of(generated)["resources"]["limits"]["rdma/ib"] = "8"
    with pytest.raises(PluginError, match="asks for 8 rdma/ib already, and not 1; remove one of the two"):
        edit(generated, pod_request, Config(fabric="InfiniBand"))


def test_other_adapters_of_the_template_are_refused(generated: dict[str, Any], pod_request: Request) -> None:
    engine_of(generated)["env"].append({"name": "NCCL_IB_HCA", "value": "mlx5_7"})
    with pytest.raises(PluginError, match="container engine has NCCL_IB_HCA already, with another value"):
        edit(generated, pod_request, Config(fabric="InfiniBand", nccl_ib_hca="mlx5_0"))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"fabric": "TCPXO", "ibCount": 1}, "ibCount has no use with fabric TCPXO"),
        ({"fabric": "RDMA", "daemonImage": "x"}, "daemonImage has no use with fabric RDMA"),
        ({"fabric": "InfiniBand", "networks": ["a"]}, "networks has no use with fabric InfiniBand"),
        ({"networks": ["a", "a"]}, "networks has one name twice"),
        ({"fabric": "TCPX"}, "fabric"),
    ],
)
def test_fields_of_another_fabric_are_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Config.model_validate(config)
