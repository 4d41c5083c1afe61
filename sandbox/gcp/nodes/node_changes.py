"""Which nodes of a pool stay, are made, removed or relabelled so that they are as the pool's record says."""

import hashlib
import json
from typing import Any

from sandbox.gcp.nodes.pool_nodes import ZONE, capacity_of, labels_of, pool_node, taints_of
from sandbox.gcp.store import Record

# An annotation with a digest of what cannot be changed while the node runs.
HARDWARE = "sandbox.inferfleet.dev/hardware"
# An annotation with the labels and taints that the node was given last.
LABELS = "sandbox.inferfleet.dev/labels"
# What GKE makes machines anew for, beside what nodes have of it: the calls of nodePoolNodeConfigUpdate in
# node_config.go of terraform-provider-google-beta at 93c65b2d60, 2026-08-21, but for labels, taints and tags;
# of resourceLabels https://cloud.google.com/sdk/gcloud/reference/container/node-pools says so (--labels).
_OF_MACHINES = (
    *("bootDisk", "diskSizeGb", "diskType", "gcfsConfig", "gvnic", "imageType", "linuxNodeConfig"),
    *("machineType", "resourceLabels", "workloadMetadataConfig"),
)
Node = dict[str, Any]


def kept_and_new(
    existing: list[Node], pool: Record, leaving: tuple[str, ...]
) -> tuple[list[Node], list[Node]]:
    """Return the nodes that stay and those to be made; existing ones that do not stay must be removed.

    Each zone gets as many nodes of the pool's hardware as the record says. Of nodes that are too many, those
    named in `leaving` go first and then the youngest.
    """
    usable = [node for node in existing if fits_hardware(node, pool)]
    usable.sort(
        key=lambda node: (name_of(node) in leaving, node["metadata"]["creationTimestamp"], name_of(node))
    )
    kept: list[Node] = []
    new: list[Node] = []
    for zone, count in pool.zones.items():
        kept_here = [node for node in usable if node["metadata"]["labels"].get(ZONE) == zone][:count]
        kept += kept_here
        new += [annotated(pool_node(pool, zone), pool, zone) for _ in range(count - len(kept_here))]
    return kept, new


def relabelled(nodes: list[Node], pool: Record) -> list[tuple[list[str], dict[str, Any]]]:
    """Return merge patches with the names of the nodes that need them.

    Labels and taints change on nodes that run; a label that the pool has no longer is removed.
    """
    patches = []
    for zone in sorted({zone_of(node) for node in nodes}):
        labels, annotation = labels_of(pool, zone), _labels_annotation(pool, zone)
        outdated = [
            node for node in nodes if zone_of(node) == zone and _annotation(node, LABELS) != annotation
        ]
        if not outdated:
            continue
        old_keys = {key for node in outdated for key in json.loads(_annotation(node, LABELS))[0]}
        patch = {
            "metadata": {
                "labels": {**dict.fromkeys(sorted(old_keys - labels.keys())), **labels},
                "annotations": {LABELS: annotation},
            },
            "spec": {"taints": taints_of(pool)},
        }
        patches.append(([name_of(node) for node in outdated], patch))
    return patches


def fits_hardware(node: Node, pool: Record) -> bool:
    """Return True when the node is a machine like the pool's new ones."""
    return _annotation(node, HARDWARE) == _hardware_digest(pool)


def annotated(node: Node, pool: Record, zone: str) -> Node:
    """Return the node with annotations of what it was made from, by which later changes are seen."""
    made_from = {HARDWARE: _hardware_digest(pool), LABELS: _labels_annotation(pool, zone)}
    metadata = node["metadata"]
    return {**node, "metadata": {**metadata, "annotations": {**metadata["annotations"], **made_from}}}


def name_of(node: Node) -> str:
    """Return the node's name."""
    return str(node["metadata"]["name"])


def zone_of(node: Node) -> str:
    """Return the node's zone, which its label names."""
    return str(node["metadata"]["labels"][ZONE])


def _labels_annotation(pool: Record, zone: str) -> str:
    return json.dumps([labels_of(pool, zone), taints_of(pool)], sort_keys=True)


def _hardware_digest(pool: Record) -> str:
    config = pool.state["nodeConfig"]
    parts = [{name: config.get(name) for name in _OF_MACHINES}, capacity_of(pool)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def _annotation(node: Node, key: str) -> str:
    return str(node["metadata"].get("annotations", {}).get(key, ""))
