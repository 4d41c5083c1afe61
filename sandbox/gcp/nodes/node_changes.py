"""What must happen to the nodes of a pool so that they are as its record says."""

import hashlib
import json
from typing import Any

from sandbox.gcp.nodes.pool_nodes import ZONE, capacity_of, labels_of, pool_node, taints_of
from sandbox.gcp.store import Record

# Of the node's hardware: what cannot be changed while it runs.
HARDWARE = "sandbox.inferfleet.dev/hardware"
# The labels and taints it was given last.
LABELS = "sandbox.inferfleet.dev/labels"
Node = dict[str, Any]


def kept_and_new(
    existing: list[Node], pool: Record, leaving: tuple[str, ...]
) -> tuple[list[Node], list[Node]]:
    """The nodes that stay, and those to be made: of the pool's hardware, as many in each zone as it says."""
    fitting = [one for one in existing if fits_hardware(one, pool)]
    fitting.sort(
        key=lambda one: (name_of(one) in leaving, one["metadata"]["creationTimestamp"], name_of(one))
    )
    keep: list[Node] = []
    new: list[Node] = []
    for zone, count in pool.zones.items():
        here = [one for one in fitting if one["metadata"]["labels"].get(ZONE) == zone][:count]
        keep += here
        new += [with_notes(pool_node(pool, zone), pool, zone) for _ in range(count - len(here))]
    return keep, new


def relabelled(nodes: list[Node], pool: Record) -> list[tuple[list[str], dict[str, Any]]]:
    """Names of nodes, and the merge patch they need: labels and taints change on nodes that run."""
    patches = []
    for zone in sorted({one["metadata"]["labels"][ZONE] for one in nodes}):
        wanted, notes = labels_of(pool, zone), _notes(pool, zone)
        here = [one for one in nodes if one["metadata"]["labels"][ZONE] == zone]
        others = [one for one in here if _annotation(one, LABELS) != notes]
        if not others:
            continue
        old = {key for one in others for key in json.loads(_annotation(one, LABELS))[0]}
        patch = {
            "metadata": {
                "labels": {**dict.fromkeys(sorted(old - wanted.keys())), **wanted},
                "annotations": {LABELS: notes},
            },
            "spec": {"taints": taints_of(pool)},
        }
        patches.append(([name_of(one) for one in others], patch))
    return patches


def fits_hardware(node: Node, pool: Record) -> bool:
    """True when the node is a machine as the pool's new ones are."""
    return _annotation(node, HARDWARE) == _hardware(pool)


def with_notes(node: Node, pool: Record, zone: str) -> Node:
    """With what it was made from, to see later what has changed."""
    noted = {HARDWARE: _hardware(pool), LABELS: _notes(pool, zone)}
    metadata = node["metadata"]
    return {**node, "metadata": {**metadata, "annotations": {**metadata["annotations"], **noted}}}


def _notes(pool: Record, zone: str) -> str:
    return json.dumps([labels_of(pool, zone), taints_of(pool)], sort_keys=True)


def _hardware(pool: Record) -> str:
    config = pool.state["nodeConfig"]
    parts = [config["machineType"], config["imageType"], config["diskType"], capacity_of(pool)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def _annotation(node: Node, name: str) -> str:
    return str(node["metadata"].get("annotations", {}).get(name, ""))


def name_of(node: Node) -> str:
    return str(node["metadata"]["name"])
