"""Which InferenceObjectives and InferenceModelRewrites on a cluster its endpoint pickers will pass over.

Pickers of GIE read them in one API group, those of llm-d-router in the first of two that has the kind, and
only their log says that objects of the other are ignored (populateWithDiscovery in
pkg/epp/server/controller_config.go of llm-d-router v0.9.0 and v0.10.0, read 2026-11-24). Kinds are looked for
in one version, which is the same in both groups.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.clusters.connections.api import Api, RefusedError
from inferfleet.clusters.connections.resources import ApiResource, known, lists
from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.problems import Problem, cluster_problem
from inferfleet.documents.wording import listing
from inferfleet.serving.picker import objective_groups, pool_of

_VERSION = "v1alpha2"
_KINDS = ("InferenceModelRewrite", "InferenceObjective")
# Namespace, and group and name of an InferencePool.
_Pool = tuple[str, str, str]
_NAMED = 5


def passed_over(api: Api, cluster: DesiredCluster) -> Iterator[Problem]:
    """Yield a warning for objects of a group that pickers do not read where the cluster knows a kind in two.

    Objects of the same name in the group that is read stand for them. It asks nothing for pickers that read
    one group, and who may not list the objects is told nothing.
    """
    readers: dict[tuple[str, str], set[_Pool]] = {}
    for made in cluster.objects:
        groups = objective_groups(made.manifest) if made.kind == "Role" else ()
        if len(groups) == 2 and (pool := pool_of(made.manifest)):
            readers.setdefault((groups[0], groups[1]), set()).add((made.namespace or "", *pool))
    for (read, ignored), pools in sorted(readers.items()):
        yield from _of_groups(api, cluster.connection.cluster, f"{read}/{_VERSION}", ignored, pools)


def _of_groups(api: Api, cluster: str, read: str, ignored: str, pools: set[_Pool]) -> Iterator[Problem]:
    preferred = known(api, [(read, kind) for kind in _KINDS])
    others = known(api, [(f"{ignored}/{_VERSION}", kind) for _, kind in preferred]) if preferred else {}
    namespaces = {namespace for namespace, _, _ in pools}
    for (_, kind), resource in sorted(others.items()):
        objects = {_name(item) for item in _items(api, resource, namespaces) if _pool(item) in pools}
        if objects:
            objects -= {_name(item) for item in _items(api, preferred[read, kind], namespaces)}
        if objects:
            yield cluster_problem(
                cluster,
                f"cluster {cluster!r} knows {kind} in two groups, and its endpoint pickers of llm-d-router "
                f"read {read} alone: they ignore {listing(sorted(objects), _NAMED)} of {ignored}",
                f"Write them again there with apiVersion: {read}",
                "spec.serving.profile",
                severity="warning",
            )


def _items(api: Api, resource: ApiResource, namespaces: set[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in these namespaces, none where the credentials may not list them."""
    for path in lists(resource, namespaces):
        try:
            yield from api.items(path)
        except RefusedError as refused:
            if refused.status not in (403, 404):
                raise


def _name(item: Mapping[str, Any]) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


def _pool(item: Mapping[str, Any]) -> _Pool:
    """Return the pool that an object is for, which is in its namespace; the group has a default."""
    of = (item.get("spec") or {}).get("poolRef") or {}
    return item["metadata"]["namespace"], of.get("group") or "inference.networking.k8s.io", of.get("name", "")
