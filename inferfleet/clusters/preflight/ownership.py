"""Desired objects that exist already and belong to somebody else: creating them would take them over."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inferfleet.clusters.connections.api import Api, ApiKind, ApiResource, lists
from inferfleet.clusters.connections.gke import path_of
from inferfleet.desired.values import DesiredCluster, titled
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.fleet.names import MANAGED_BY, MANAGER, STACK

# An existing object of these kinds is used, and only labels are added.
EXEMPT = frozenset({"Namespace", "CustomResourceDefinition"})
# So many objects are named in one problem; the rest are counted.
_NAMED = 10


def identity(api: Api) -> str:
    """Return the UID of kube-system, which stays as long as the cluster lives and is no other cluster's."""
    return str(api.get("/api/v1/namespaces/kube-system", metadata_only=True)["metadata"]["uid"])


def cluster_identity_problems(cluster: DesiredCluster, uid: str) -> Iterator[Problem]:
    """Check that the cluster is the one that the lock remembers."""
    connection = cluster.connection
    if connection.uid and connection.uid != uid:
        # On GKE no kubeconfigs were swapped: project, region and name are the same. The state still holds
        # the objects of the old cluster.
        step = (
            "If it was deleted and created again, run `pulumi refresh`, so that the state forgets the "
            "objects of the old one, and remove the uid from its line in placement.lock"
            if connection.cloud
            else "Fix the kubeconfig if two are swapped. If the cluster was rebuilt, give the old one up "
            "(`state: abandoned`, then `pulumi up`, then remove its document) and add it again"
        )
        yield cluster_problem(
            connection.cluster,
            f"another cluster answers under the name {connection.cluster!r}: its kube-system has UID {uid}, "
            f"the lock remembers {connection.uid}",
            step,
            path_of(connection),
        )


@dataclass(frozen=True)
class ExistingObject:
    """An object on the cluster that has the name of a desired one: whole, but for Secrets and definitions of
    kinds their metadata.
    """

    kind: str
    item: Mapping[str, Any] = field(repr=False)

    @property
    def namespace(self) -> str:
        """Return the namespace, "" of an object that belongs to none."""
        return self.item["metadata"].get("namespace") or ""

    @property
    def name(self) -> str:
        return str(self.item["metadata"]["name"])

    @property
    def labels(self) -> Mapping[str, str]:
        return self.item["metadata"].get("labels") or {}

    def __str__(self) -> str:
        return titled(self.kind, self.namespace, self.name)


def existing_objects(
    api: Api, cluster: DesiredCluster, resources: Mapping[ApiKind, ApiResource]
) -> Iterator[ExistingObject]:
    """Yield the objects on the cluster that have names of desired ones. One list per kind, not one request
    per object.
    """
    desired: dict[ApiKind, set[tuple[str, str]]] = {}
    for obj in cluster.objects:
        names = desired.setdefault((obj.api_version, obj.kind), set())
        names.add((obj.namespace or "", obj.kubernetes_name))
    for kind in sorted(desired.keys() & resources.keys()):
        names = desired[kind]
        for path in lists(resources[kind], {namespace for namespace, _ in names}):
            # Definitions are large, and there are many of them.
            whole = kind[1] not in ("Secret", "CustomResourceDefinition")
            for item in api.items(path, metadata_only=not whole):
                existing = ExistingObject(kind[1], item)
                if (existing.namespace, existing.name) in names:
                    yield existing


def foreign_object_problems(cluster: str, stack: str, objects: Iterable[ExistingObject]) -> Iterator[Problem]:
    """Yield one problem per owner of objects that are not this stack's: a stack pointed at the cluster of
    another one would otherwise have a thousand.
    """
    names: dict[str, list[str]] = {}
    for existing in objects:
        if not is_ours(existing, stack):
            names.setdefault(_owner(existing.labels), []).append(str(existing))
    for owner, theirs in sorted(names.items()):
        yield cluster_problem(
            cluster,
            f"on cluster {cluster!r} the stack would take over what belongs to {owner}: "
            f"{listing(sorted(theirs), _NAMED)}",
            "One cluster belongs to one stack: remove them there or rename ours. To take them over, "
            f"kubectl label them {MANAGED_BY}={MANAGER} {STACK}={stack}",
        )


def terminating_object_problems(cluster: str, objects: Iterable[ExistingObject]) -> Iterator[Problem]:
    """Yield a warning about objects that are being deleted: a namespace takes along what is put into it."""
    going = [str(existing) for existing in objects if "deletionTimestamp" in existing.item["metadata"]]
    if going:
        what = f"on cluster {cluster!r} these are being deleted: {listing(sorted(going), _NAMED)}"
        yield cluster_problem(cluster, what, "Wait until they are gone", severity="warning")


def is_ours(existing: ExistingObject, stack: str) -> bool:
    """Return whether the stack may write the object."""
    labels = existing.labels
    ours = labels.get(MANAGED_BY) == MANAGER and labels.get(STACK) == stack
    return ours or existing.kind in EXEMPT


def _owner(labels: Mapping[str, str]) -> str:
    if labels.get(MANAGED_BY) == MANAGER and labels.get(STACK):
        return f"stack {labels[STACK]!r}"
    if labels.get(MANAGED_BY):
        return f"{labels[MANAGED_BY]!r} (label {MANAGED_BY})"
    first = ", ".join(f"{key}={value}" for key, value in sorted(labels.items())[:3])
    return f"somebody else (labels: {first})" if first else "somebody else (it has no labels)"
