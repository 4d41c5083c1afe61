"""What TCPXO and RDMA have in common: a node's interfaces in a pod, its libraries, and all of its GPUs."""

import json
from collections.abc import Mapping
from typing import Any

from inferfleet.plugins.api import PluginError, PodTemplate, Request, accelerator, gke, put_env, put_field
from inferfleet.plugins.builtin.network_fabric import gpudirect

_PATH = "LD_LIBRARY_PATH"


def whole_node(request: Request, fabric: str) -> None:
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


def attach(template: PodTemplate, names: tuple[str, ...], *, first: int) -> None:
    """Give the pod the interfaces of these networks, from the interface number `first` on."""
    interfaces = [(gpudirect.FIRST_INTERFACE, gke.FIRST_NETWORK)]
    interfaces += [(f"eth{first + number}", name) for number, name in enumerate(names)]
    written = json.dumps([{"interfaceName": name, "network": network} for name, network in interfaces])
    for key, value in (
        (gke.DEFAULT_INTERFACE, gpudirect.FIRST_INTERFACE),
        (gke.INTERFACES, written),
    ):
        put_field(template, "metadata", "annotations", key, value=value)


def network_names(
    known: tuple[str, ...], networks: tuple[str, ...], *, count: int, fabric: str
) -> tuple[str, ...]:
    """Return the names of the pod's networks: those of the config, or those that are known.

    Raises PluginError unless there is one per GPU of a node.
    """
    names = networks or known
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


def add_libraries(container: dict[str, Any], before: tuple[str, ...]) -> None:
    """Let the container find the node's libraries, after the folders `before` and what it has in its path.

    Raises PluginError where the path comes from elsewhere, such as a ConfigMap.
    """
    old = next((entry for entry in container.get("env", []) if entry["name"] == _PATH), None)
    if old is not None and "valueFrom" in old:
        raise PluginError(f"{_PATH} has valueFrom, and cannot be added to; write it as value")
    folders = [folder for folder in (old or {}).get("value", "").split(":") if folder]
    new = [folder for folder in (*before, gpudirect.LIBRARIES) if folder not in folders]
    put_env(container, {"name": _PATH, "value": ":".join([*folders, *new])})


def put_missing_env(container: dict[str, Any], wanted: Mapping[str, str]) -> None:
    """Set variables that the container does not have: what a deployment sets itself is meant."""
    present = {entry["name"] for entry in container.get("env", [])}
    put_env(
        container, *({"name": name, "value": value} for name, value in wanted.items() if name not in present)
    )
