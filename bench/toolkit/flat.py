"""Rendered resources as fields: `NodePool.nodeConfig.machineType`, `Subnetworks, RDMA.number`."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inferfleet.cloud.values import CloudResource

# Resources of one kind that a cluster may have several of, by the part of their name.
_BETWEEN_GPUS = (
    (re.compile(r"gvnic"), "gVNIC"),
    (re.compile(r"rdma-[a-z](-[0-9]+)?"), "RDMA"),
    (re.compile(r"tcpxo?-[0-9]+"), "TCPX or TCPXO"),
)
_NAMES = {
    "NodePool system": "SystemPool",
    "NodePool gpu": "NodePool",
    "Subnetwork nodes": "Subnetwork, nodes",
    "Subnetwork proxies": "Subnetwork, proxies",
    "IAMMember": "IAMMembers",
}
# Maps and lists of plain values are one setting.
_WHOLE = ("labels", "resourceLabels", "sysctls", "metadata")
# Of networks and interfaces only the number is compared; which they are is in fields of their own.
_COUNTED = ("additionalNodeNetworkConfigs",)

Fields = dict[str, Any]


def flat(resources: Sequence[CloudResource]) -> Fields:
    """Return all inputs by field. Resources of one kind and purpose are one entry with their number."""
    by_name: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for resource in resources:
        by_name[_name(resource)].append(resource.inputs)
    fields: Fields = {}
    for name, inputs in by_name.items():
        several = _several(name)
        values: defaultdict[str, list[Any]] = defaultdict(list)
        for one in inputs:
            for path, value in _leaves(one):
                values[path].append(value)
        for path, found in values.items():
            same = len({repr(value) for value in found}) == 1
            fields[f"{name}.{path}"] = found[0] if same else sorted(found)
        if several:
            fields[f"{name}.number"] = len(inputs)
    return fields


def _name(resource: CloudResource) -> str:
    kind = resource.token.rpartition(":")[2]
    _, _, part = resource.name.partition("/")
    for pattern, purpose in _BETWEEN_GPUS:
        if pattern.fullmatch(part):
            return f"{kind}s, {purpose}"
    return _NAMES.get(f"{kind} {part}", _NAMES.get(kind, kind))


def _several(name: str) -> bool:
    return "s, " in name


def _leaves(value: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        path = f"{at}.{key}" if at else key
        if key in _COUNTED:
            yield f"{path} (number)", len(inner)
        elif key == "taints":
            if inner:
                yield path, [f"{taint['key']}={taint['value']}:{taint['effect']}" for taint in inner]
        elif isinstance(inner, Mapping) and key not in _WHOLE:
            yield from _leaves(inner, path)
        elif isinstance(inner, list) and inner and isinstance(inner[0], Mapping) and key != "allows":
            for place, item in enumerate(inner):
                yield from _leaves(item, f"{path}[{place}]")
        elif key == "allows":
            yield path, sorted(rule["protocol"] for rule in inner)
        else:
            yield path, inner
