"""Makes autoscaled pools grow and shrink: one watcher for every cluster that has such pools."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from sandbox.cluster.kwok import KwokCluster
from sandbox.cluster.watching import Api, Copies, follow
from sandbox.gcp import faults
from sandbox.gcp.kubernetes_engine import KubernetesEngine
from sandbox.gcp.nodes.kwok_kubernetes import kwok_name
from sandbox.gcp.nodes.pool_nodes import POOL_LABEL
from sandbox.gcp.nodes.scaling import Pool, autoscaled, empty, growth, shrunk, waits
from sandbox.gcp.rules.errors import OperationError
from sandbox.gcp.store import Record, Store, clusters, pools_of
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem

Object = dict[str, Any]
LOOK_SECONDS = 1.0


@dataclass
class Clock:
    """Since when something has been so, by key; what is no more so is forgotten."""

    since: dict[str, float] = field(default_factory=dict)

    def longer_than(self, seconds: float, keys: set[str]) -> set[str]:
        """Those of the keys that have been here for so long."""
        now = time.monotonic()
        self.since = {key: self.since.get(key, now) for key in keys}
        return {key for key, start in self.since.items() if now - start >= seconds}


@dataclass
class Watcher:
    """One cluster: its pods and nodes, and since when pods wait and nodes are empty."""

    container: KubernetesEngine
    store: Store
    cluster: str
    pods: Copies = field(default_factory=lambda: Copies("/api/v1/pods"))
    nodes: Copies = field(default_factory=lambda: Copies("/api/v1/nodes"))
    waiting: Clock = field(default_factory=Clock)
    idle: Clock = field(default_factory=Clock)

    async def look(self) -> None:
        """Grows, or else shrinks, what has been due for long enough."""
        if not (self.pods.complete and self.nodes.complete):
            return
        pace = faults.read(self.store.folder)
        running = [one for one in pools_of(self.store.read(), self.cluster) if one.status == "RUNNING"]
        pools = autoscaled(running)
        pods, nodes = list(self.pods.objects.values()), list(self.nodes.objects.values())
        due = self.waiting.longer_than(pace.grow_after, {_uid(one) for one in pods if waits(one)})
        old = [one for one in pods if not waits(one) or _uid(one) in due]
        more = growth(pools, nodes, old)
        for pool in pools:
            if pool.record.id in more:
                await asyncio.to_thread(self.grow, pool, more[pool.record.id])
        gone = self.idle.longer_than(pace.idle_for, set(empty(pools, nodes, pods)))
        for pool in pools:
            mine = [one for one in nodes if _name(one) in gone and _of(one, pool)]
            if mine and pool.record.id not in more:
                await asyncio.to_thread(self._shrink, pool, mine)

    def grow(self, pool: Pool, more: int) -> None:
        """As many nodes as are to be had, and the reason in the pool's message when they are too few."""
        counts, why = dict(pool.zones), ""
        for _ in range(more):
            for zone in pool.may_grow(counts):
                why = self.container.lacking(pool.record.but(zones=counts), zone, more=1)
                if not why:
                    counts[zone] += 1
                    break
        if counts != dict(pool.zones):
            self._resize(pool.record, counts)
        if why != pool.record.message:
            self.store.change(pool.record.id, message=why)

    def _shrink(self, pool: Pool, nodes: list[Object]) -> None:
        counts, leaving = shrunk(pool, nodes)
        if leaving:
            self._resize(pool.record, counts, leaving)

    def _resize(self, pool: Record, counts: dict[str, int], leaving: tuple[str, ...] = ()) -> None:
        try:
            self.container.resize(pool.id, counts, leaving=leaving)
        except (SandboxProblem, OperationError) as problem:
            # The cluster may go away, or stop, at any time; the next look sees it.
            print(f"{pool.id}: {problem}", flush=True)


async def autoscale(places: StackPlaces, container: KubernetesEngine, store: Store) -> None:
    """Watches every cluster of the cloud that runs, for ever."""
    tasks: dict[str, asyncio.Task[None]] = {}
    while True:
        wanted = {
            one.id
            for one in clusters(store.read())
            if one.status != "STOPPING" and autoscaled(pools_of(store.read(), one.id))
            if KwokCluster(places, kwok_name(one.id)).condition() == "running"
        }
        for gone in tasks.keys() - wanted:
            tasks.pop(gone).cancel()
        for cluster in wanted - tasks.keys():
            tasks[cluster] = asyncio.create_task(_watch(places, Watcher(container, store, cluster)))
        await asyncio.sleep(2 * LOOK_SECONDS)


async def _watch(places: StackPlaces, watcher: Watcher) -> None:
    kwok = KwokCluster(places, kwok_name(watcher.cluster))
    async with Api(kwok.server, kwok.folder / "pki") as api, asyncio.TaskGroup() as group:
        for copies in (watcher.pods, watcher.nodes):
            group.create_task(follow(api, copies, lambda key: None))
        while True:
            await watcher.look()
            await asyncio.sleep(LOOK_SECONDS)


def _uid(one: Object) -> str:
    return str(one["metadata"]["uid"])


def _name(one: Object) -> str:
    return str(one["metadata"]["name"])


def _of(node: Object, pool: Pool) -> bool:
    return bool(node["metadata"]["labels"].get(POOL_LABEL) == pool.record.name)
