"""The autoscaler at work: it watches every cluster with autoscaled pools and grows and shrinks these."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from sandbox.cluster.kwok import KwokCluster
from sandbox.cluster.objects import key, oldest_first
from sandbox.cluster.watching import UNREACHABLE, Api, ApiError, Copies, follow
from sandbox.gcp import faults
from sandbox.gcp.kubernetes_engine import KubernetesEngine
from sandbox.gcp.nodes.kwok_kubernetes import kwok_name
from sandbox.gcp.nodes.node_changes import name_of
from sandbox.gcp.nodes.pool_nodes import POOL_LABEL
from sandbox.gcp.nodes.requests import COLLECTION, answer, consumes, is_open, is_queued, path_of
from sandbox.gcp.nodes.scaling import (
    AutoscaledPool,
    autoscaled,
    empty_nodes,
    growth,
    is_waiting,
    without_nodes,
)
from sandbox.gcp.rules.errors import OperationError
from sandbox.gcp.store import Record, Store, clusters, pools_of
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem

Object = dict[str, Any]
LOOK_SECONDS = 1.0


@dataclass
class Stopwatch:
    """Since when keys have been given to it without a gap; a key that is left out is forgotten."""

    since: dict[str, float] = field(default_factory=dict)

    def longer_than(self, seconds: float, keys: set[str]) -> set[str]:
        """Return those of the keys that have been given for at least this long."""
        now = time.monotonic()
        self.since = {key: self.since.get(key, now) for key in keys}
        return {key for key, start in self.since.items() if now - start >= seconds}


@dataclass
class Watcher:
    """One cluster: its pods, nodes and requests for nodes, since when pods and requests wait, and since when
    nodes are empty.
    """

    engine: KubernetesEngine
    cluster: str
    pods: Copies = field(default_factory=lambda: Copies("/api/v1/pods"))
    nodes: Copies = field(default_factory=lambda: Copies("/api/v1/nodes"))
    requests: Copies = field(default_factory=lambda: Copies(COLLECTION))
    templates: Copies = field(default_factory=lambda: Copies("/api/v1/podtemplates"))
    waiting: Stopwatch = field(default_factory=Stopwatch)
    asking: Stopwatch = field(default_factory=Stopwatch)
    idle: Stopwatch = field(default_factory=Stopwatch)

    @property
    def store(self) -> Store:
        return self.engine.store

    async def look(self) -> None:
        """Grow the pools for pods that waited long enough, and shrink the others by nodes long empty."""
        if not (self.pods.complete and self.nodes.complete):
            return
        pace = faults.read(self.store.folder)
        records = pools_of(self.store.read(), self.cluster)
        pools = autoscaled(record for record in records if record.status == "RUNNING")
        pods, nodes = list(self.pods.objects.values()), list(self.nodes.objects.values())
        due = self.waiting.longer_than(pace.grow_after, {_uid(pod) for pod in pods if is_waiting(pod)})
        counted_pods = [
            pod for pod in pods if not is_waiting(pod) or (_uid(pod) in due and not consumes(pod))
        ]
        more = growth([pool for pool in pools if not is_queued(pool)], nodes, counted_pods)
        for pool in pools:
            if pool.record.id in more:
                await asyncio.to_thread(self.grow, pool, more[pool.record.id])
        idle = self.idle.longer_than(pace.idle_for, set(empty_nodes(pools, nodes, pods)))
        for pool in pools:
            idle_here = [node for node in nodes if name_of(node) in idle and _belongs_to(node, pool)]
            if idle_here and pool.record.id not in more:
                await asyncio.to_thread(self._shrink, pool, idle_here)

    async def answer(self, api: Api) -> None:
        """Give nodes to the requests that waited long enough, and say at each what became of it."""
        pace = faults.read(self.store.folder)
        asked = {key(request): request for request in self.requests.objects.values() if is_open(request)}
        due = self.asking.longer_than(pace.grow_after, set(asked))
        for request in oldest_first(asked[name] for name in due):
            records = pools_of(self.store.read(), self.cluster)
            pools = autoscaled(record for record in records if record.status == "RUNNING")
            answered = answer(request, self.templates.objects, pools, self._shortage)
            if answered.pool:
                counts = dict(answered.pool.zones)
                counts[answered.zone] += answered.more
                await asyncio.to_thread(self._resize, answered.pool.record, counts)
            try:
                await api.patch(path_of(request), {"status": {"conditions": list(answered.conditions)}})
            except (ApiError, *UNREACHABLE) as error:
                # It may have been deleted meanwhile; the next look sees it.
                print(f"{key(request)}: {error}", flush=True)

    def _shortage(self, pool: Record, zone: str, more: int) -> str:
        return self.engine.shortage(pool, zone, more=more)

    def grow(self, pool: AutoscaledPool, more: int) -> None:
        """Add as many nodes as can be had; if there are too few, the pool's message says why."""
        counts, reason = dict(pool.zones), ""
        for _ in range(more):
            for zone in pool.zones_with_room(counts):
                reason = self.engine.shortage(pool.record.but(zones=counts), zone, more=1)
                if not reason:
                    counts[zone] += 1
                    break
        if counts != dict(pool.zones):
            self._resize(pool.record, counts)
        if reason != pool.record.message:
            self.store.change(pool.record.id, message=reason)

    def _shrink(self, pool: AutoscaledPool, nodes: list[Object]) -> None:
        counts, leaving = without_nodes(pool, nodes)
        if leaving:
            self._resize(pool.record, counts, leaving)

    def _resize(self, pool: Record, counts: dict[str, int], leaving: tuple[str, ...] = ()) -> None:
        try:
            self.engine.resize(pool.id, counts, leaving=leaving)
        except (SandboxProblem, OperationError) as error:
            # The cluster may be deleted or stopped at any time; the next look sees it.
            print(f"{pool.id}: {error}", flush=True)


async def autoscale(places: StackPlaces, engine: KubernetesEngine) -> None:
    """Watch every cluster that runs and has autoscaled pools, until the task is cancelled."""
    store = engine.store
    tasks: dict[str, asyncio.Task[None]] = {}
    while True:
        wanted = {
            cluster.id
            for cluster in clusters(store.read())
            if cluster.status != "STOPPING" and autoscaled(pools_of(store.read(), cluster.id))
            if KwokCluster(places, kwok_name(cluster.id)).condition() == "running"
        }
        for unwanted in tasks.keys() - wanted:
            tasks.pop(unwanted).cancel()
        for cluster_id in wanted - tasks.keys():
            tasks[cluster_id] = asyncio.create_task(_watch(places, Watcher(engine, cluster_id)))
        await asyncio.sleep(2 * LOOK_SECONDS)


async def _watch(places: StackPlaces, watcher: Watcher) -> None:
    kwok = KwokCluster(places, kwok_name(watcher.cluster))
    async with Api(kwok.server, kwok.folder / "pki") as api, asyncio.TaskGroup() as group:
        for copies in (watcher.pods, watcher.nodes, watcher.requests, watcher.templates):
            group.create_task(follow(api, copies, lambda key: None))
        while True:
            await watcher.look()
            await watcher.answer(api)
            await asyncio.sleep(LOOK_SECONDS)


def _uid(pod: Object) -> str:
    return str(pod["metadata"]["uid"])


def _belongs_to(node: Object, pool: AutoscaledPool) -> bool:
    return bool(node["metadata"]["labels"].get(POOL_LABEL) == pool.record.name)
