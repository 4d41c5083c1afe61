"""Fields of documents, settings and the lock that differ and show nowhere else in a digest.

Documents of both sides are compared field by field, and settings key by key. A field that shapes objects is
left out where the digest has what becomes of them. What decides about an update and is in no object is never
left out: a kubeconfig, a policy, a priority.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from inferfleet.documents.kinds.base import StrictModel
from inferfleet.documents.loading.settings import KEYS, NAMESPACE, is_encrypted
from inferfleet.fleet.lock.lock import Lock
from inferfleet.review.digest.texts import field_change, field_changes
from inferfleet.review.digest.update import Update
from inferfleet.review.digest.values import (
    DocumentChange,
    DocumentKind,
    FieldChange,
    Presence,
    StackDigest,
    WaiverChange,
)

# Fields of deployments that decide where replicas go: left out where replicas move.
_WHERE = (
    "accelerator",
    "capacityModels",
    "clusterSelector",
    "nodeSelector",
    "onDemandReplicas",
    "poolSelector",
    "prefer",
    "spread",
    "tolerations",
)
# Those that no object has, and that decide about updates to come.
_ALWAYS = ("metadata", "spec.priority", "spec.unplaced")
_NAMES = ("name", "namespace")
_FOLDERS = {True: "policies", False: "that of the stack"}


def document_changes(update: Update, digest: StackDigest, *, is_new: bool) -> tuple[DocumentChange, ...]:
    """Return what differs in documents and settings and is not in the rest of the digest: settings first,
    then the lock and policies.

    Of a stack that `is_new` what is of all stacks is left out: other stacks have it already, or show it.
    """
    base, head = update.base.documents, update.head.documents
    every: tuple[tuple[DocumentKind, Mapping[str, StrictModel], Mapping[str, StrictModel]], ...] = (
        ("Policy", base.policies, head.policies),
        ("Quota", base.quotas, head.quotas),
        ("InferenceCluster", base.clusters, head.clusters),
        ("InferenceClass", base.classes, head.classes),
        ("InferenceGateway", base.gateways, head.gateways),
        ("ModelDeployment", base.deployments, head.deployments),
        ("ModelService", base.services, head.services),
        ("ModelCache", base.caches, head.caches),
    )
    settings = setting_fields(update.base.config, update.head.config)
    lock = _lock_fields(update)
    shown = _Shown(update, digest, is_new=is_new)
    return (
        *([DocumentChange("Settings", digest.stack, "changed", settings)] if settings else ()),
        *([DocumentChange("Lock", digest.stack, "changed", lock)] if lock else ()),
        *(change for kind, old, new in every for change in _of_kind(kind, old, new, shown)),
    )


def waiver_changes(update: Update) -> tuple[WaiverChange, ...]:
    """Return the waivers that come, go or say something else."""
    old, new = update.base.documents.waivers, update.head.documents.waivers
    waivers = []
    for name in sorted({*old, *new}):
        if old.get(name) == new.get(name):
            continue
        spec = (new.get(name) or old[name]).spec
        where = update.head.documents.where("Waiver", name)
        waivers.append(
            WaiverChange(
                name,
                _presence(name in old, name in new),
                spec.policy,
                spec.of or "",
                spec.until,
                spec.reason,
                file=where.file if where else "",
                line=where.line if where else 0,
            )
        )
    return tuple(waivers)


def _presence(before: bool, after: bool) -> Presence:
    if before and after:
        return "changed"
    return "added" if after else "removed"


def _of_kind(
    kind: DocumentKind, old: Mapping[str, StrictModel], new: Mapping[str, StrictModel], shown: "_Shown"
) -> Iterator[DocumentChange]:
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        presence, folder = _presence(name in old, name in new), shown.folder(kind, name)
        if (before == after and not folder) or shown.whole_document(kind, name, presence):
            continue
        differing = (*folder, *field_changes(_plain(before), _plain(after)))
        if unshown := tuple(field for field in differing if not shown.field(kind, name, field.path)):
            yield DocumentChange(kind, name, presence, unshown)


def _plain(document: StrictModel | None) -> dict[str, Any]:
    """Return a document as data, one that is not there with the blocks that all documents have."""
    if document is None:
        return {"metadata": {}, "spec": {}}
    plain = document.model_dump(by_alias=True, mode="json")
    return {
        "metadata": {
            name: value for name, value in plain["metadata"].items() if name not in _NAMES and value
        },
        "spec": {name: value for name, value in plain["spec"].items() if value is not None},
    }


class _Shown:
    """What the rest of a digest shows of documents."""

    def __init__(self, update: Update, digest: StackDigest, *, is_new: bool) -> None:
        self._pools_of: dict[str, set[tuple[str, str]]] = {}
        for side in (update.base, update.head):
            for name, cluster in side.documents.clusters.items():
                for pool in cluster.spec.node_pools:
                    self._pools_of.setdefault(pool.class_name, set()).add((name, pool.name))
        self._is_new = is_new
        sides = (update.base.documents, update.head.documents)
        self._of_all_stacks = tuple(documents.of_all_stacks for documents in sides)
        self._positions = tuple(documents.positions for documents in sides)
        self._priced = {use.name for use in digest.uses}
        self._services = {route.service for route in digest.services}
        self._pools = {(pool.cluster, pool.pool) for pool in digest.pools}
        self._clusters = {cluster.cluster for cluster in digest.clusters if cluster.fields != ("spec.state",)}
        self._moved = {model.deployment for model in digest.models if model.places}
        self._counted = {model.deployment for model in digest.models if model.before != model.after}
        self._counted |= {missing.deployment for missing in digest.missing}
        documents = {*update.base.documents.deployments, *update.head.documents.deployments}
        resources = [change.resource.partition(" ")[2].partition("/") for change in digest.resources]
        self._touched = {cluster for cluster, _, _ in resources}
        self._shaped = {
            model.deployment for model in digest.models if model.restarts or model.pickers or model.rolls
        }
        self._shaped |= {owner for _, _, name in resources if (owner := _owner(name, documents))}

    def folder(self, kind: DocumentKind, name: str) -> tuple[FieldChange, ...]:
        """Return the folder of a document that is of all stacks on one side, and of one stack on the other:
        another folder has other owners, and waivers for what is in a stack's are there too.
        """
        before, after = ((kind, name) in shared for shared in self._of_all_stacks)
        if before == after or not all((kind, name) in positions for positions in self._positions):
            return ()
        return (field_change("folder", *(_FOLDERS[shared] for shared in (before, after))),)

    def whole_document(self, kind: DocumentKind, name: str, presence: Presence) -> bool:
        """Return whether the digest shows all of it: a cluster or deployment that comes or goes, a class that
        no pool has, a service whose routes it lists, and what all stacks have.
        """
        if self._is_new and any((kind, name) in shared for shared in self._of_all_stacks):
            return True
        if kind == "InferenceClass":
            return name not in self._pools_of or presence != "changed"
        if kind == "ModelService":
            return name in self._services
        return kind in ("InferenceCluster", "ModelDeployment") and presence != "changed"

    def field(self, kind: DocumentKind, name: str, path: str) -> bool:
        """Return whether the digest shows what becomes of a field."""
        if kind == "InferenceCluster":
            return self._of_cluster(name, path)
        if kind == "InferenceClass":
            return self._of_class(name, path)
        return kind == "ModelDeployment" and self._of_deployment(name, path)

    def _of_class(self, name: str, path: str) -> bool:
        if _below(path, "spec.price"):
            return name in self._priced
        # Prose, by which nothing is decided.
        return path == "spec.description" or bool(self._pools_of[name] & self._pools)

    def _of_cluster(self, name: str, path: str) -> bool:
        # The order of pools and of their zones means nothing, and a list as a whole differs by order alone.
        if path == "spec.nodePools" or path.endswith(".zones"):
            return True
        if _below(path, "spec.nodePools"):
            pool = path.removeprefix("spec.nodePools[").partition("]")[0]
            return (name, pool) in self._pools or name in self._clusters
        if _below(path, "spec.cluster.gke"):
            return name in self._clusters and not _below(path, "spec.cluster.gke.replace")
        if _below(path, "spec.serving") or _below(path, "spec.plugins"):
            return name in self._touched
        return path == "spec.state"

    def _of_deployment(self, name: str, path: str) -> bool:
        if any(_below(path, parent) for parent in _ALWAYS):
            return False
        if _below(path, "spec.replicas"):
            return name in self._counted
        if any(_below(path, f"spec.{name}") for name in _WHERE):
            return name in self._moved
        return name in self._shaped


def _below(path: str, parent: str) -> bool:
    return path == parent or path.startswith((f"{parent}.", f"{parent}["))


def _owner(name: str, deployments: set[str]) -> str:
    """Return the deployment whose name an object's begins with: `ml/qwen-large` before `ml/qwen`."""
    while name and name not in deployments:
        name = name.rpartition("-")[0]
    return name


_SECRETS = f"{NAMESPACE}secrets"
_OURS = frozenset(f"{NAMESPACE}{key}" for key in KEYS) - {_SECRETS}
# https://www.pulumi.com/registry/packages/gcp/installation-configuration/, and options of Pulumi itself.
_SHOWN_KEYS = re.compile(
    r"pulumi:[-a-zA-Z]+|gcp:(billingProject|project|region|zone|impersonateServiceAccount)"
)
_FLAG = re.compile(r"true|false", re.IGNORECASE)


def setting_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Return the settings that differ between two files of a stack, by their keys, sorted: also those that
    others read there, such as Pulumi and providers.

    Only values that are known to be no secret are shown: a file may hold tokens in plain text.
    """
    old, new = _flat(before), _flat(after)
    return tuple(
        field
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
        for field in _setting(key, old.get(key), new.get(key))
    )


def _flat(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return all keys of a file in one map, those of the configuration with their namespace."""
    config = file.get("config")
    settings = {
        key if ":" in key else f"{NAMESPACE}{key}": _textual(value)
        for key, value in (_textual(config) if isinstance(config, dict) else {}).items()
    }
    top_level = {str(key): _textual(value) for key, value in file.items() if key != "config"}
    return {key: value for key, value in {**top_level, **settings}.items() if value is not None}


def _textual(value: Any) -> Any:
    """Return the value with texts for keys, and an encrypted one as a text."""
    if is_encrypted(value):
        return f"encrypted: {value['secure']}"
    if isinstance(value, dict):
        return {str(key): _textual(inner) for key, inner in value.items()}
    return [_textual(entry) for entry in value] if isinstance(value, list) else value


def _setting(key: str, before: Any, after: Any) -> Iterator[FieldChange]:
    if key in (_SECRETS, *_OURS) and isinstance(before or after, list | dict):
        absent: Any = [] if isinstance(before or after, list) else {}
        for field in field_changes(before or absent, after or absent, below=key):
            yield field if key in _OURS else replace(field, before="", after="", shown=False)
    else:
        shown = all(value is None or _may_be_shown(key, value) for value in (before, after))
        yield field_change(key, before, after, shown=shown)


def _may_be_shown(key: str, value: Any) -> bool:
    if isinstance(value, str) and value.startswith("encrypted: "):
        return False
    if key == "environment":
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    return key in _OURS or bool(_SHOWN_KEYS.fullmatch(key) or _FLAG.fullmatch(str(value)))


# A plan keeps the UID that it finds, so none makes another; of a cluster that exists it keeps the whole line.
_KEPT = "uid"
# Of a line that is gone these are shown: what its cluster is recognized by, and what protects it.
_SHOWN_OF_LINE = ("source", _KEPT, "protected", "nodes", "name")
_Entries = Mapping[str, Mapping[str, Any]]


def _lock_fields(update: Update) -> tuple[FieldChange, ...]:
    """Return the lines of clusters and pools in placement.lock that somebody wrote otherwise, and that
    neither the base nor the plan makes so, sorted.

    They move nothing, and decide what later updates recognize and refuse. Clusters and pools that are
    created, replaced or removed are left out: the digest has them as that.
    """
    before, now, planned = map(_entries, (update.lock, update.head.lock, update.head.desired.plan.lock))
    whole = {f"clusters.{change.cluster}" for change in update.desired.cloud_changes if not change.pool}
    whole |= {f"pools.{change.cluster}/{change.pool}" for change in update.desired.cloud_changes}
    return tuple(
        field
        for line in sorted(before.keys() & planned.keys() - whole)
        for field in _line_fields(line, before[line], now.get(line), planned[line])
    )


def _line_fields(
    line: str, before: Mapping[str, Any], now: Mapping[str, Any] | None, planned: Mapping[str, Any]
) -> Iterator[FieldChange]:
    if now is None:
        yield field_change(line, {key: before[key] for key in _SHOWN_OF_LINE if before.get(key)}, None)
        return
    exists = planned.get("source") == "Existing"
    for key in sorted({*before, *now}):
        old, new = before.get(key), now.get(key)
        if old != new and (exists or key == _KEPT or new != planned.get(key)):
            yield field_change(f"{line}.{key}", old, new)


def _entries(lock: Lock) -> _Entries:
    """Return the lines of clusters and pools by section and name, without what is absent."""
    clusters = {
        f"clusters.{name}": {
            **cluster.settings,
            "source": cluster.source,
            _KEPT: cluster.uid,
            "protected": cluster.protected or None,
        }
        for name, cluster in lock.clusters.items()
    }
    pools: dict[str, dict[str, Any]] = {f"pools.{key}": {"nodes": nodes} for key, nodes in lock.nodes.items()}
    for key, pool in lock.pools.items():
        pools[f"pools.{key}"] |= {**pool.settings, "name": pool.name}
    return {**clusters, **pools}
