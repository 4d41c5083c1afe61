"""Plugin entry-address-file: the address of the entry pod in a file (volcano-sh/kthena, issue 563).

An init container writes it, because volumes of the downward API cannot hold `status.podIP`, which is for
variables alone: https://kubernetes.io/docs/concepts/workloads/pods/downward-api/ (Kubernetes 1.36). It meets
level `restricted` of https://kubernetes.io/docs/concepts/security/pod-security-standards/.

A worker of one pod has the pod's own IP; pods of a LeaderWorkerSet have LWS_LEADER_ADDRESS from its
controller (kubernetes-sigs/lws, pkg/utils/pod/pod_utils.go, commit 1b17603c), in init containers too.
"""

from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from inferfleet.plugins import api
from inferfleet.plugins.api import (
    Plugin,
    PodTemplate,
    Request,
    engine,
    mistaken,
    put_init_container,
    put_mount,
    put_volume,
)

_NAME = "entry-address"
# An init container counts only where it asks for more than what runs later, which this never does.
_RESOURCES = {"cpu": "100m", "memory": "64Mi"}


# What is mounted there hides programs and libraries of the image, or what the kernel shows.
_OF_IMAGE = ("bin", "boot", "dev", "lib", "lib32", "lib64", "proc", "sbin", "sys", "usr")


def _check_file(path: str) -> str:
    """Return the path. Raises Mistaken unless it is an absolute one, in no folder of the image or kernel."""
    parts = path.split("/")
    if parts[0] or len(parts) < 2 or not all(parts[1:]) or {".", ".."} & {*parts} or ":" in path:
        raise mistaken(
            f"path {path} must be the absolute path of a file",
            "Write it like /etc/entry/address",
        )
    if parts[1] in _OF_IMAGE:
        raise mistaken(
            f"path {path} is in /{parts[1]}, where the image or the kernel has files that it may hide",
            "Write it like /etc/entry/address",
        )
    # /etc and /var/lib are folders of most images, /etc/passwd is a file; in /tmp they have nothing.
    if len(parts) < 4 and parts[1:-1] != ["tmp"]:
        raise mistaken(
            f"path {path} may be that of a folder or file of the image, which it would hide",
            "Put it into a folder of its own, like /etc/entry/address",
        )
    return path


class Config(api.Config):
    """Which file it is, and who writes it."""

    path: Annotated[str, AfterValidator(_check_file), Field(max_length=1024)] = "/etc/entry/address"
    """The file in the engine's container, which holds the address alone, without a line break. It is in a
    folder of its own, or in `/tmp`."""
    image: Annotated[str, Field(min_length=1)] | None = None
    """Image of the init container, which must have `sh`. Default: that of the engine, so that nothing else
    has to be pulled."""


def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    """Write the address of the entry pod into a file that the engine can read."""
    container = engine(template)
    file = PurePosixPath(config.path)
    put_volume(template, {"name": _NAME, "emptyDir": {"sizeLimit": "1Mi"}})
    # The file alone is mounted, so that its folder keeps what the image has there.
    put_mount(container, {"name": _NAME, "mountPath": str(file), "subPath": file.name, "readOnly": True})
    writer: dict[str, Any] = {
        "name": _NAME,
        "image": config.image or container["image"],
        "command": ["sh", "-c", 'printf %s "$ENTRY_ADDRESS" > "/entry/$0"', file.name],
        "env": [_address(request)],
        "resources": {"limits": dict(_RESOURCES), "requests": dict(_RESOURCES)},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            # Images of engines often run as root, which runAsNonRoot alone would refuse.
            "runAsUser": 65534,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [{"name": _NAME, "mountPath": "/entry"}],
    }
    if config.image is None and "imagePullPolicy" in container:
        writer["imagePullPolicy"] = container["imagePullPolicy"]
    # It has the engine's image of its time also if a later plugin gives the engine another one.
    put_init_container(template, writer, same=("command", "image") if config.image else ("command",))
    return template


def _address(request: Request) -> dict[str, Any]:
    if request.group_size > 1:
        return {"name": "ENTRY_ADDRESS", "value": "$(LWS_LEADER_ADDRESS)"}
    return {"name": "ENTRY_ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


PLUGIN = Plugin("entry-address-file", Config, edit, version="1.0.0")
