"""A cloud with clusters and pools and nothing else, which knows of a pool how many nodes it has.

Another number is another pool: it has another name, and the old one is replaced.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from inferfleet.cloud.provider import Templates
from inferfleet.cloud.values import (
    CloudChange,
    CloudCluster,
    CloudComponent,
    CloudPool,
    CloudResource,
    Comparison,
    Difference,
    NodeRequest,
    QuotaUse,
    Setting,
)
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem
from inferfleet.fleet.lock.lock import Lock

CLUSTER, POOL = "fake:index:Cluster", "fake:index:Pool"


class FakeCloud:
    def pools(self, documents: Documents, lock: Lock) -> dict[str, dict[str, CloudPool]]:
        return {
            name: {
                pool.name: _pool(name, pool.name, pool.class_name, pool.size) for pool in one.spec.node_pools
            }
            for name, one in documents.clusters.items()
            if one.spec.cluster.source == "Fake"
        }

    def clusters(
        self, documents: Documents, lock: Lock, _: Any
    ) -> tuple[tuple[CloudCluster, ...], tuple[()]]:
        return tuple(_cluster(name, pools) for name, pools in self.pools(documents, lock).items()), ()

    def changes(
        self, _: Any, lock: Lock, clusters: tuple[CloudCluster, ...]
    ) -> tuple[tuple[CloudChange, ...], tuple[()]]:
        pools = (pool for cluster in clusters for pool in cluster.pools.values() if pool.key in lock.pools)
        sizes = ((pool, lock.pools[pool.key].settings["size"], pool.fixed_size) for pool in pools)
        return tuple(
            CloudChange(pool.cluster, pool.pool, "replaced", (Difference("size", old, new, ("nodeCount",)),))
            for pool, old, new in sizes
            if old != new
        ), ()

    def pod_problems(self, *of: Any) -> Iterator[Problem]:
        templates: Templates = of[-1]
        for spot, finished in templates.items():
            what = f"pods of {spot.deployment} ({', '.join(role for role, _ in finished)}) run in a fake"
            yield Problem(what, "Wake up", severity="warning")

    def node_request(self, manifest: dict[str, Any], *_: Any, **of: Any) -> NodeRequest:
        return NodeRequest(manifest, ({"apiVersion": "v1", "kind": "Asking", "metadata": {"name": "nodes"}},))

    def compared(self, before: CloudResource, after: CloudResource) -> Comparison | None:
        return Comparison(True, ("size",), "") if before.inputs != after.inputs else None

    def quota_uses(self, _: Any, clusters: Collection[CloudCluster], *of: Any) -> tuple[QuotaUse, ...]:
        existing: Mapping[str, Collection[str]] = of[-1]
        every = [pool for cluster in clusters for pool in cluster.pools.values()]
        new = [pool for pool in every if pool.name not in existing.get(pool.cluster, ())]
        nodes, keys = sum(pool.fixed_size or 0 for pool in new), tuple(pool.key for pool in new)
        return (QuotaUse("p", "r", "NODES", nodes, 0, keys, "spec.nodePools[0]"),) if new else ()

    def settings(self, cluster: CloudCluster, pool: str) -> tuple[Setting, ...]:
        return (Setting("size", cluster.pools[pool].fixed_size, ("nodeCount",), "replaces the pool"),)

    def drift(self, *_: Any) -> tuple[()]:
        return ()

    def bucket(self, *_: Any) -> None:
        return None

    def buckets(self, documents: Documents) -> tuple[()]:
        return ()

    def import_id(self, token: str, inputs: Mapping[str, Any]) -> str | None:
        return str(inputs["name"]) if token in (CLUSTER, POOL) else None

    def kubeconfig(self, cluster: str, *, host: str, ca: str | None, proxy: str | None = None) -> str:
        return f"{cluster} at {host}"

    def made_with(self, settings: Mapping[str, Any], path: str) -> str | None:
        return str(settings[path]) if path in settings else None

    def settings_by_answer(self, cluster: CloudCluster, *_: Any) -> Mapping[str, Any]:
        return cluster.settings

    def capacity_models(self, _: Any) -> None:
        return None


def _pool(cluster: str, pool: str, class_name: str, size: int) -> CloudPool:
    inputs = {"name": f"{pool}-{size}", "size": size}
    resource = CloudResource(POOL, f"{cluster}/{pool}", inputs, after=(f"{CLUSTER} {cluster}",))
    component = CloudComponent("FakePool", f"{cluster}/{pool}", (resource,))
    return CloudPool(
        cluster,
        pool,
        class_name,
        f"{pool}-{size}",
        component,
        {"size": size},
        {"fake": "yes"},
        fixed_size=size,
    )


def _cluster(name: str, pools: Mapping[str, CloudPool]) -> CloudCluster:
    control = CloudResource(CLUSTER, name, {"name": name})
    system = CloudResource(POOL, f"{name}/system", {"name": "system", "size": 1}, after=(control.key,))
    first = CloudComponent("FakeCluster", name, (control, system))
    return CloudCluster(
        name,
        "p",
        "r",
        name,
        "only",
        (first, *(pool.component for pool in pools.values())),
        pools,
        source="Fake",
        identifier=f"fake/{name}",
        key=control.key,
        system_key=system.key,
        settings={"colour": "blue"},
        objects=({"apiVersion": "v1", "kind": "Dream", "metadata": {"name": "deep"}},),
    )
