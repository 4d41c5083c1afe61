"""group-env, lws-standard-labels and entry-address-file shown on whole pods, of one and of several pods."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from inferfleet.plugins.builtin import entry_address_file, group_env, lws_standard_labels
from inferfleet.plugins.contract import Edited, PluginError, Request

OWN_IP = {"name": "ENTRY_ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
OF_ONE_POD = [{"name": "GROUP_SIZE", "value": "1"}, OWN_IP, {"name": "WORKER_INDEX", "value": "0"}]
OF_MANY = [
    {"name": "GROUP_SIZE", "value": "$(LWS_GROUP_SIZE)"},
    {"name": "ENTRY_ADDRESS", "value": "$(LWS_LEADER_ADDRESS)"},
    {"name": "WORKER_INDEX", "value": "$(LWS_WORKER_INDEX)"},
]


def of_two(request: Request) -> Request:
    return replace(request, group_size=2)


@pytest.mark.parametrize("many", [False, True])
def test_the_group_stands_before_other_variables_of_every_container(
    generated: dict[str, Any], pod_request: Request, *, many: bool
) -> None:
    group = OF_MANY if many else OF_ONE_POD
    expected = copy.deepcopy(generated)
    expected["spec"]["initContainers"][0]["env"] = group
    for container in expected["spec"]["containers"]:
        container["env"] = [*group, *container["env"]]
    generated["spec"]["containers"][1]["env"].append({"name": "GROUP_SIZE", "value": "7"})
    request = of_two(pod_request) if many else pod_request
    assert group_env.edit(generated, request, group_env.Config()) == expected


def test_labels_say_what_is_true_of_every_pod_of_a_deployment(
    generated: dict[str, Any], pod_request: Request
) -> None:
    expected = copy.deepcopy(generated)
    expected["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/worker-index"] = "0"
    remark = "group-index and group-key are not set: pods of a Deployment are alike and have no number"
    edited = lws_standard_labels.edit(copy.deepcopy(generated), pod_request, lws_standard_labels.Config())
    assert edited == Edited(expected, remarks=(remark,))
    # Only if it is asked for: the webhook of LeaderWorkerSet refuses pods of others that have it.
    expected["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/name"] = "web-decode-h100"
    config = lws_standard_labels.Config(name_label=True)
    assert lws_standard_labels.edit(generated, pod_request, config) == Edited(expected, remarks=(remark,))


def test_another_label_of_the_template_is_refused(generated: dict[str, Any], pod_request: Request) -> None:
    generated["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/worker-index"] = "1"
    with pytest.raises(PluginError, match="worker-index 0 contradicts the template, which has 1"):
        lws_standard_labels.edit(generated, pod_request, lws_standard_labels.Config())


def test_pods_of_a_leader_worker_set_keep_the_labels_that_it_gives_them(
    generated: dict[str, Any], pod_request: Request
) -> None:
    before = copy.deepcopy(generated)
    edited = lws_standard_labels.edit(generated, of_two(pod_request), lws_standard_labels.Config())
    assert edited == Edited(before, remarks=("these pods get the labels from the LeaderWorkerSet itself",))


def writer(image: str, address: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "entry-address",
        "image": image,
        "command": ["sh", "-c", 'printf %s "$ENTRY_ADDRESS" > "/entry/$0"', "address"],
        "env": [address],
        "resources": {
            "limits": {"cpu": "100m", "memory": "64Mi"},
            "requests": {"cpu": "100m", "memory": "64Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "runAsUser": 65534,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [{"name": "entry-address", "mountPath": "/entry"}],
        **more,
    }


def with_file(generated: dict[str, Any], path: str, init: dict[str, Any]) -> dict[str, Any]:
    expected = copy.deepcopy(generated)
    expected["spec"]["volumes"] = [{"name": "entry-address", "emptyDir": {"sizeLimit": "1Mi"}}]
    expected["spec"]["initContainers"].append(init)
    expected["spec"]["containers"][1]["volumeMounts"] = [
        {"name": "entry-address", "mountPath": path, "subPath": "address", "readOnly": True}
    ]
    return expected


def test_an_init_container_of_the_engines_image_writes_the_address(
    generated: dict[str, Any], pod_request: Request
) -> None:
    generated["spec"]["containers"][1]["imagePullPolicy"] = "Always"
    expected = with_file(generated, "/etc/entry/address", writer("vllm:1", OWN_IP, imagePullPolicy="Always"))
    assert entry_address_file.edit(generated, pod_request, entry_address_file.Config()) == expected


def test_file_and_image_may_be_others_and_groups_have_the_leaders_address(
    generated: dict[str, Any], pod_request: Request
) -> None:
    config = entry_address_file.Config(path="/run/kthena/address", image="busybox:1.37")
    expected = with_file(generated, "/run/kthena/address", writer("busybox:1.37", OF_MANY[1]))
    assert entry_address_file.edit(generated, of_two(pod_request), config) == expected


@pytest.mark.parametrize("path", ["address", "/", "/etc/../x", "/etc//x", "/etc/x/", "/e:c/x", ""])
def test_a_path_that_is_none_of_a_file_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="must be the absolute path of a file"):
        entry_address_file.Config(path=path)


@pytest.mark.parametrize("path", ["/etc", "/etc/passwd", "/address", "/var/lib", "/tmp", "/run/secrets"])
def test_a_path_that_may_be_one_of_the_image_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="may be that of a folder or file of the image, which it would hide"):
        entry_address_file.Config(path=path)


@pytest.mark.parametrize("path", ["/usr/bin/python3", "/dev/shm/address", "/lib/a/b", "/proc/1/x"])
def test_a_path_among_programs_of_the_image_or_files_of_the_kernel_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="where the image or the kernel has files that it may hide"):
        entry_address_file.Config(path=path)


@pytest.mark.parametrize("path", ["/tmp/address", "/etc/entry/address", "/run/a/b/c"])
def test_a_path_in_a_folder_of_its_own_is_taken(path: str) -> None:
    assert entry_address_file.Config(path=path).path == path


def test_another_volume_at_the_same_place_is_no_file_of_ours(
    generated: dict[str, Any], pod_request: Request
) -> None:
    generated["spec"]["containers"][1]["volumeMounts"] = [{"name": "own", "mountPath": "/etc/entry/address"}]
    with pytest.raises(PluginError, match="/etc/entry"):
        entry_address_file.edit(generated, pod_request, entry_address_file.Config())
