"""restricted shown on a whole pod, and everything that it refuses."""

from typing import Any

import pytest

from inferfleet.plugins.api import Edited, PluginError, Request
from inferfleet.plugins.builtin.restricted import Config, edit

RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_pod_and_all_containers_are_held_to_the_level(
    generated: dict[str, Any], pod_request: Request
) -> None:
    generated["spec"]["containers"][0]["securityContext"] = {
        "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["NET_RAW"]},
        "readOnlyRootFilesystem": True,
    }
    config = Config.model_validate({"runAsUser": 1000, "runAsGroup": 0, "fsGroup": 2000})
    assert edit(generated, pod_request, config) == Edited(
        {
            "metadata": generated["metadata"],
            "spec": {
                "nodeSelector": {"inferfleet.dev/pool": "h100"},
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
                "securityContext": {
                    "runAsUser": 1000,
                    "runAsGroup": 0,
                    "fsGroup": 2000,
                    "runAsNonRoot": True,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "initContainers": [{"name": "fetch", "image": "fetch:1", "securityContext": RESTRICTED}],
                "containers": [
                    {
                        "name": "logs",
                        "image": "logs:1",
                        "env": [{"name": "LEVEL", "value": "info"}],
                        "securityContext": {
                            "allowPrivilegeEscalation": False,
                            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
                            "readOnlyRootFilesystem": True,
                        },
                    },
                    {
                        "name": "engine",
                        "image": "vllm:1",
                        "env": [
                            {"name": "HF_HOME", "value": "/models"},
                            {"name": "LAST", "value": "$(HF_HOME)"},
                        ],
                        "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
                        "resources": {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "2"}},
                        "securityContext": RESTRICTED,
                    },
                ],
            },
        }
    )


def test_without_a_user_it_says_which_images_must_not_be_of_root(
    generated: dict[str, Any], pod_request: Request
) -> None:
    generated["spec"]["containers"][0]["securityContext"] = {"runAsUser": 7}
    assert edit(generated, pod_request, Config()).remarks == (
        "the images of engine, fetch must name their user by a number other than 0, or set runAsUser",
    )


def test_a_profile_of_the_node_is_kept(generated: dict[str, Any], pod_request: Request) -> None:
    own = {"type": "Localhost", "localhostProfile": "engine.json"}
    generated["spec"]["securityContext"] = {"seccompProfile": own}
    edited = edit(generated, pod_request, Config())
    assert edited.template["spec"]["securityContext"] == {"seccompProfile": own, "runAsNonRoot": True}


CONTAINER = {
    "container {} has privileged: true": {"securityContext": {"privileged": True}},
    "allowPrivilegeEscalation: true": {"securityContext": {"allowPrivilegeEscalation": True}},
    "container {} has capabilities.add: IPC_LOCK": {
        "securityContext": {"capabilities": {"add": ["IPC_LOCK", "NET_BIND_SERVICE"]}}
    },
    "capabilities.add: CHOWN": {"securityContext": {"capabilities": {"add": ["CHOWN", "NET_BIND_SERVICE"]}}},
    "procMount: Unmasked": {"securityContext": {"procMount": "Unmasked"}},
    "runAsNonRoot: false": {"securityContext": {"runAsNonRoot": False}},
    "runAsUser: 0": {"securityContext": {"runAsUser": 0}},
    "seccompProfile.type: Unconfined": {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
    "appArmorProfile.type: Unconfined": {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}},
    "seLinuxOptions.user: 'root'": {"securityContext": {"seLinuxOptions": {"user": "root"}}},
    "windowsOptions.hostProcess: true": {"securityContext": {"windowsOptions": {"hostProcess": True}}},
    "ports.hostPort: 80": {"ports": [{"containerPort": 80, "hostPort": 80}]},
    "livenessProbe.tcpSocket.host: '10.0.0.1'": {
        "livenessProbe": {"tcpSocket": {"port": 1, "host": "10.0.0.1"}}
    },
}
POD = {
    "the pod has hostNetwork: true": {"hostNetwork": True},
    "the pod has hostIPC: true": {"hostIPC": True},
    "volume node has hostPath: a folder of the node": {
        "volumes": [{"name": "node", "hostPath": {"path": "/"}}]
    },
    "volume share has type: nfs": {"volumes": [{"name": "share", "nfs": {"server": "a", "path": "/"}}]},
    "the pod has sysctls.name: kernel.msgmax": {
        "securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}
    },
    "the pod has runAsNonRoot: false": {"securityContext": {"runAsNonRoot": False}},
}


@pytest.mark.parametrize("said", CONTAINER)
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_a_container_that_has_what_the_level_forbids_is_refused(
    generated: dict[str, Any], pod_request: Request, said: str, kind: str
) -> None:
    generated["spec"][kind][0] |= CONTAINER[said]
    with pytest.raises(PluginError) as raised:
        edit(generated, pod_request, Config())
    assert said.format(generated["spec"][kind][0]["name"]) in str(raised.value)


@pytest.mark.parametrize("said", POD)
def test_a_pod_that_has_what_the_level_forbids_is_refused(
    generated: dict[str, Any], pod_request: Request, said: str
) -> None:
    generated["spec"] |= POD[said]
    with pytest.raises(PluginError) as raised:
        edit(generated, pod_request, Config())
    assert said in str(raised.value)


def test_everything_forbidden_is_told_at_once(generated: dict[str, Any], pod_request: Request) -> None:
    generated["spec"]["hostPID"] = True
    generated["metadata"]["annotations"] = {
        "container.apparmor.security.beta.kubernetes.io/engine": "unconfined"
    }
    with pytest.raises(PluginError) as raised:
        edit(generated, pod_request, Config())
    assert str(raised.value) == (
        "level restricted of the Pod Security Standards forbids what the pod has: the pod has hostPID: true; "
        "the pod has metadata.annotations: container.apparmor.security.beta.kubernetes.io/engine; remove "
        "that, or this plugin from the chain"
    )


def test_a_user_that_the_template_contradicts_is_refused(
    generated: dict[str, Any], pod_request: Request
) -> None:
    generated["spec"]["securityContext"] = {"runAsUser": 5}
    with pytest.raises(PluginError, match="runAsUser 1000 contradicts the template, which has 5"):
        edit(generated, pod_request, Config(run_as_user=1000))
