"""The immutable settings of a cloud resource: one that changes needs a replacement of the resource.

Read from the provider's field table, corrected where that table is wrong about what happens. The names of
pools carry the digest of these settings, and placement.lock records them.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL, Field, resource, walk

# The table says "in place", or replaces the block as a whole only; the resource is another one all the same.
ALSO: Mapping[tuple[str, str], str] = {
    (
        NODE_POOL,
        "placementPolicy.type",
    ): "COMPACT is its only value, so it changes only with the block",
}
# The table says "replaces", and it is no setting of the resource that a change could be about.
NOT: Mapping[tuple[str, str], str] = {
    (NODE_POOL, "cluster"): "it is the cluster's name, which is a setting of the Cluster",
    (NODE_POOL, "location"): "it is the cluster's region, which is a setting of the Cluster",
    (NODE_POOL, "project"): "it is the cluster's project, which is a setting of the Cluster",
    # https://github.com/pulumi/pulumi-gcp/issues/412
    (NODE_POOL, "initialNodeCount"): "it counts nodes at creation alone, so later changes are ignored",
    (CLUSTER, "initialNodeCount"): "it is about the default pool, which is removed at creation",
    (CLUSTER, "defaultMaxPodsPerNode"): "it is for the default pool: later changes are ignored",
    (CLUSTER, "nodeConfig"): "it is about the default pool, which is removed at creation",
}
# Those of them that replace the pool all the same, with its cluster: another cluster has pools of its own.
OF_CLUSTER = ("cluster", "location", "project")
# They are made from documents and settings, and say nothing by themselves.
_NAMES = ("name", "namePrefix")
# In place for the provider, and GKE replaces every node of the pool for it, some at a time: `nodeConfig`,
# all but what reaches nodes that run, and the version.
# https://cloud.google.com/kubernetes-engine/docs/concepts/managing-clusters,
# https://github.com/GoogleCloudPlatform/magic-modules/pull/9575 (released in provider 5.10.0)
_NODES = ("nodeConfig", "version")
_LIVE = tuple(f"nodeConfig.{name}" for name in ("labels", "resourceManagerTags", "tags", "taints"))
# GKE deletes the nodes of removed zones (`only_adds` tells which changes touch none).
ZONES = "nodeLocations"

# As those, and placement.lock has the labels of documents alone: the others never change. Of --labels gcloud
# says that an update makes the nodes anew: https://cloud.google.com/sdk/gcloud/reference/container/node-pools
LABELS = "nodeConfig.resourceLabels"


def create_only(token: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the immutable leaves of `inputs` by path, sorted: {"nodeConfig.spot": True}.

    Nulls and names are left out. Items of lists have paths like "nodeConfig.guestAccelerators[0].count";
    lists of plain values are one leaf, sorted where the provider holds them as a set. A block that can only
    come and go as a whole, and has no immutable leaves, is `True`.
    """
    return dict(sorted(_leaves(_rules(token), _CREATE_ONLY, inputs)))


def forcing(token: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the leaves of `inputs` whose change replaces the resource, in the same form: its immutable
    settings, and of a pool what it has of its cluster.
    """
    cluster = {path: inputs[path] for path in OF_CLUSTER if inputs.get(path) is not None}
    return create_only(token, inputs) | (cluster if token == NODE_POOL else {})


def recreating(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the leaves of a node pool whose change makes GKE replace the nodes, in the same form."""
    return dict(sorted(_leaves(_rules(NODE_POOL), _RECREATES, inputs)))


def leaves(token: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return all leaves of `inputs` by path, in the same form, so that equal ones are no change."""
    return dict(_leaves(_rules(token), None, inputs))


def recreates(path: str) -> bool:
    """Return whether a change of the leaf at the path makes GKE replace the nodes, and not the pool."""
    plain = without_places(path)
    return _moves(plain) and not is_create_only(NODE_POOL, plain)


def only_adds(path: str, before: Any, after: Any) -> bool:
    """Return whether a change of a leaf that `recreates` nodes adds some, and touches none that run.

    So does a zone more: nodes of the others stay, https://cloud.google.com/kubernetes-engine/docs/reference/
    rest/v1/projects.locations.clusters.nodePools (locations). Zones that were not given are not known.
    """
    return path == ZONES and bool(before) and set(before) <= set(after or ())


def is_create_only(token: str, path: str) -> bool:
    """Return whether the field of the table is immutable, and not just named after other settings."""
    rule = _rules(token).get(path)
    return rule is not None and rule.effect == _CREATE_ONLY


def without_places(path: str) -> str:
    """Return the path as the provider's table has it: "nodeConfig.guestAccelerators.count"."""
    return _PLACE.sub("", path)


def digest(settings: Mapping[str, Any]) -> str:
    """Return six hex digits for `create_only` settings, the same for equal ones in any order."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:6]


_PLACE = re.compile(r"\[[0-9]+\]")
_CREATE_ONLY, _RECREATES = "create-only", "recreates"


@dataclass(frozen=True)
class _Rule:
    """One field of a type: what its change does, whether it has fields, whether its order means nothing."""

    effect: str
    block: bool
    unordered: bool


_UNKNOWN = _Rule("", block=False, unordered=False)


# Looked up hundreds of times for each pool, so worked out once for each type.
@cache
def _rules(token: str) -> Mapping[str, _Rule]:
    return {path: _rule(token, path, field) for path, field in walk(resource(token))}


def _rule(token: str, path: str, field: Field) -> _Rule:
    left_out = path in _NAMES or any(
        of == token and _within(path, left_out_path) for of, left_out_path in NOT
    )
    kept = not left_out and (field.force_new or (token, path) in ALSO)
    moved = token == NODE_POOL and path != LABELS and _moves(path)
    effect = _CREATE_ONLY if kept else _RECREATES if moved else ""
    return _Rule(effect, block=bool(field.fields), unordered=field.type == "Set")


def _moves(path: str) -> bool:
    live = any(_within(path, setting) for setting in _LIVE)
    return not live and any(_within(path, setting) for setting in (*_NODES, ZONES))


def _within(path: str, outer: str) -> bool:
    return f"{path}.".startswith(f"{outer}.")


def _leaves(
    rules: Mapping[str, _Rule],
    effect: str | None,
    inputs: Mapping[str, Any],
    before: str = "",
    path: str = "",
) -> Iterator[tuple[str, Any]]:
    """Yield the leaves with that effect (None: with any).

    `before` and `path` lead to `inputs`, without and with places in lists.
    """
    for name, value in inputs.items():
        plain, at = f"{before}{name}", f"{path}{name}"
        # Inputs that documents pass on may be of a newer provider than the table.
        rule = rules.get(plain, _UNKNOWN)
        if value is None:
            continue
        if not rule.block:
            if effect in (rule.effect, None):
                yield at, sorted(value) if rule.unordered else value
            continue
        items = [(at, value)]
        if not isinstance(value, Mapping):
            items = [(f"{at}[{index}]", item) for index, item in enumerate(value)]
        inside = [leaf for to, item in items for leaf in _leaves(rules, effect, item, f"{plain}.", f"{to}.")]
        yield from inside
        if items and not inside and (effect is None or effect == rule.effect == _CREATE_ONLY):
            yield at, True
