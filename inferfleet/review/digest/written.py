"""What is written otherwise and shows nowhere else in a digest: a connection, a rule, a setting.

Documents of both sides are compared field by field, and settings key by key. A field that shapes objects is
left out where the digest tells what becomes of them. What decides about an update and is in no object is told
always: a kubeconfig, a policy, a priority.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.documents.kinds.base import StrictModel
from inferfleet.review.digest.locks import lock_fields
from inferfleet.review.digest.settings import setting_fields
from inferfleet.review.digest.texts import field_of, fields
from inferfleet.review.digest.update import Update
from inferfleet.review.digest.values.models import Coming
from inferfleet.review.digest.values.stack import Stack
from inferfleet.review.digest.values.written import Field, Kind, Waiver, Written

# Fields of deployments that decide where replicas go: told by moves, where there are any.
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


def written(update: Update, told: Stack, *, is_new: bool) -> tuple[Written, ...]:
    """Return what differs in documents and settings and is not `told`: settings first, then
    the lock and policies.

    Of a stack that `is_new` nothing is told that is of all stacks: others have it already, or tell it.
    """
    base, head = update.base.documents, update.head.documents
    every: tuple[tuple[Kind, Mapping[str, StrictModel], Mapping[str, StrictModel]], ...] = (
        ("Policy", base.policies, head.policies),
        ("Quota", base.quotas, head.quotas),
        ("InferenceCluster", base.clusters, head.clusters),
        ("InferenceClass", base.classes, head.classes),
        ("ModelDeployment", base.deployments, head.deployments),
        ("ModelService", base.services, head.services),
    )
    settings = setting_fields(update.base.config, update.head.config)
    locked = lock_fields(update)
    mentioned = _Told(update, told, is_new=is_new)
    return (
        *([Written("Settings", told.stack, "changed", settings)] if settings else ()),
        *([Written("Lock", told.stack, "changed", locked)] if locked else ()),
        *(made for kind, old, new in every for made in _of_kind(kind, old, new, mentioned)),
    )


def waivers(update: Update) -> tuple[Waiver, ...]:
    """Return the waivers that come, go or say something else."""
    old, new = update.base.documents.waivers, update.head.documents.waivers
    made = []
    for name in sorted({*old, *new}):
        if old.get(name) == new.get(name):
            continue
        spec = (new.get(name) or old[name]).spec
        where = update.head.documents.where("Waiver", name)
        file, line = (where.file, where.line) if where else ("", 0)
        change = _coming(name in old, name in new)
        made.append(Waiver(name, change, spec.policy, spec.of or "", spec.until, spec.reason, file, line))
    return tuple(made)


def _coming(before: bool, after: bool) -> Coming:
    if before and after:
        return "changed"
    return "added" if after else "removed"


def _of_kind(
    kind: Kind, old: Mapping[str, StrictModel], new: Mapping[str, StrictModel], told: "_Told"
) -> Iterator[Written]:
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        change, folders = _coming(name in old, name in new), told.folders(kind, name)
        if (before == after and not folders) or told.wholly(kind, name, change):
            continue
        differing = (*folders, *fields(_plain(before), _plain(after)))
        if left := tuple(field for field in differing if not told.field(kind, name, field.path)):
            yield Written(kind, name, change, left)


def _plain(document: StrictModel | None) -> dict[str, Any]:
    """Return a document as data, one that is not there with the blocks that all documents have."""
    if document is None:
        return {"metadata": {}, "spec": {}}
    made = document.model_dump(by_alias=True, mode="json")
    labels = {name: value for name, value in made["metadata"].items() if name not in _NAMES and value}
    return {
        "metadata": labels,
        "spec": {name: value for name, value in made["spec"].items() if value is not None},
    }


class _Told:
    """What the rest of a digest tells of documents."""

    def __init__(self, update: Update, told: Stack, *, is_new: bool) -> None:
        self._pools_of: dict[str, set[tuple[str, str]]] = {}
        for side in (update.base, update.head):
            for name, cluster in side.documents.clusters.items():
                for pool in cluster.spec.node_pools:
                    self._pools_of.setdefault(pool.class_name, set()).add((name, pool.name))
        self._is_new = is_new
        sides = (update.base.documents, update.head.documents)
        self._of_all_stacks = tuple(documents.of_all_stacks for documents in sides)
        self._positions = tuple(documents.positions for documents in sides)
        self._priced = {use.name for use in told.uses}
        self._services = {route.service for route in told.services}
        self._pools = {(pool.cluster, pool.pool) for pool in told.pools}
        self._clusters = {cluster.cluster for cluster in told.clusters if cluster.fields != ("spec.state",)}
        self._moved = {model.deployment for model in told.models if model.places}
        self._counted = {model.deployment for model in told.models if model.before != model.after}
        self._counted |= {missing.deployment for missing in told.missing}
        documents = {*update.base.documents.deployments, *update.head.documents.deployments}
        places = [made.resource.partition(" ")[2].partition("/") for made in told.resources]
        self._on = {cluster for cluster, _, _ in places}
        self._shaped = {
            model.deployment for model in told.models if model.restarts or model.pickers or model.rolls
        }
        self._shaped |= {owner for _, _, name in places if (owner := _owner(name, documents))}

    def folders(self, kind: Kind, name: str) -> tuple[Field, ...]:
        """Return the folder of a document that is of all stacks on one side, and of one stack on the other:
        another folder has other owners, and what is in a stack's is let off there.
        """
        before, after = ((kind, name) in shared for shared in self._of_all_stacks)
        if before == after or not all((kind, name) in positions for positions in self._positions):
            return ()
        return (field_of("folder", *(_FOLDERS[shared] for shared in (before, after))),)

    def wholly(self, kind: Kind, name: str, change: Coming) -> bool:
        """Return whether the digest tells all of it: a cluster or deployment that comes or goes, a class that
        no pool has, a service whose routes it lists, and what all stacks have.
        """
        if self._is_new and any((kind, name) in shared for shared in self._of_all_stacks):
            return True
        if kind == "InferenceClass":
            return name not in self._pools_of or change != "changed"
        if kind == "ModelService":
            return name in self._services
        return kind in ("InferenceCluster", "ModelDeployment") and change != "changed"

    def field(self, kind: Kind, name: str, path: str) -> bool:
        """Return whether the digest tells what becomes of a field."""
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
            return name in self._on
        return path == "spec.state"

    def _of_deployment(self, name: str, path: str) -> bool:
        if any(_below(path, always) for always in _ALWAYS):
            return False
        if _below(path, "spec.replicas"):
            return name in self._counted
        if any(_below(path, f"spec.{where}") for where in _WHERE):
            return name in self._moved
        return name in self._shaped


def _below(path: str, parent: str) -> bool:
    return path == parent or path.startswith((f"{parent}.", f"{parent}["))


def _owner(name: str, deployments: set[str]) -> str:
    """Return the deployment whose name an object's begins with: `ml/qwen-large` before `ml/qwen`."""
    while name and name not in deployments:
        name = name.rpartition("-")[0]
    return name
