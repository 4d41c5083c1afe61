"""Lists of all that a project has: of the Container API its clusters, of the Compute API what costs money.

Nodes of pools are instances. Load balancers of Gateways, and disks of volumes, are made by controllers inside
of clusters: what a cluster has is asked of the cluster, and what it had when it was deleted is in the store.

docs.cloud.google.com/compute/docs/reference/rest/v1/forwardingRules/aggregatedList (others are alike)
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from aiohttp import web

from sandbox.gcp.rules.names import cluster_path, short_name
from sandbox.gcp.rules.networking import FIREWALL, NETWORK, ROUTER, SUBNETWORK
from sandbox.gcp.rules.outlasting import DISK, ENDPOINT_GROUP, FORWARDING_RULE, GKE_FIREWALL
from sandbox.gcp.store import CLUSTER, POOL, Record, Records, Store, clusters

Values = dict[str, Any]
# What controllers inside of a cluster have made in the cloud.
Outlasting = Callable[[Record], list[Record]]
_TOKENS = {
    "forwardingRules": FORWARDING_RULE,
    "disks": DISK,
    "networkEndpointGroups": ENDPOINT_GROUP,
    "routers": ROUTER,
    "subnetworks": SUBNETWORK,
}
# Collections that are known; addresses are none of their own here, as those of load balancers are.
_COLLECTIONS = ("addresses", "instances", *_TOKENS)


def nothing(cluster: Record) -> list[Record]:
    """Return that a cluster has made nothing: of a cloud without API servers."""
    return []


def add_inventory(
    router: web.UrlDispatcher,
    store: Store,
    cluster_json: Callable[[Record, Records], Values],
    made: Outlasting,
) -> None:
    """Add the paths of these lists to the router. `made` says what a cluster that stands has made."""

    async def listed_clusters(request: web.Request) -> web.Response:
        records = store.read()
        within = "projects/{project}/locations/".format(**request.match_info)
        found = [record for record in clusters(records) if record.id.startswith(within)]
        return web.json_response({"clusters": [cluster_json(record, records) for record in found]})

    async def networks(request: web.Request) -> web.Response:
        project = request.match_info["project"]
        found = [record for record in store.read().values() if record.token == NETWORK]
        names = [record.name for record in found if record.state["project"] == project]
        return web.json_response({"items": [{"name": name} for name in names]})

    async def firewalls(request: web.Request) -> web.Response:
        project = request.match_info["project"]
        found = [
            {"name": record.state["name"], "network": record.state["network"]}
            for record in await every(store.read())
            if record.token in (FIREWALL, GKE_FIREWALL) and record.state["project"] == project
        ]
        return web.json_response({"items": found})

    async def every(records: Records) -> list[Record]:
        found = [*records.values()]
        for cluster in clusters(records):
            found += await asyncio.to_thread(made, cluster)
        return found

    async def aggregated(request: web.Request) -> web.Response:
        project, collection = request.match_info["project"], request.match_info["collection"]
        if collection not in _COLLECTIONS:
            raise web.HTTPNotFound
        records = store.read()
        items: dict[str, dict[str, list[Values]]] = {}
        for scope, resource in _resources(project, collection, await every(records), records):
            items.setdefault(scope, {}).setdefault(collection, []).append(resource)
        return web.json_response({"kind": f"compute#{collection}AggregatedList", "items": items})

    router.add_get("/v1/projects/{project}/locations/-/clusters", listed_clusters)
    router.add_get("/compute/v1/projects/{project}/global/networks", networks)
    router.add_get("/compute/v1/projects/{project}/global/firewalls", firewalls)
    router.add_get("/compute/v1/projects/{project}/aggregated/{collection}", aggregated)


def _resources(
    project: str, collection: str, every: Iterable[Record], records: Records
) -> Iterator[tuple[str, Values]]:
    if collection == "instances":
        yield from _instances(project, records)
        return
    for record in every:
        if record.token == _TOKENS.get(collection) and record.state["project"] == project:
            place = record.state.get("zone")
            scope = f"zones/{place}" if place else f"regions/{record.state['region']}"
            shown = ("name", "network", "labels", "IPAddress", "sizeGb")
            yield scope, {name: record.state[name] for name in shown if name in record.state}


def _instances(project: str, records: Records) -> Iterator[tuple[str, Values]]:
    for pool in records.values():
        if pool.token != POOL or cluster_path(pool.id).project != project:
            continue
        cluster = records[pool.id.partition("/nodePools/")[0]]
        assert cluster.token == CLUSTER
        for zone, count in pool.zones.items():
            for number in range(count):
                yield (
                    f"zones/{zone}",
                    {
                        "name": f"gke-{cluster.name[:20]}-{pool.name[:20]}-{zone[-1]}{number:03}",
                        "labels": {"goog-k8s-cluster-name": cluster.name},
                        "networkInterfaces": [{"network": short_name(cluster.state["network"])}],
                    },
                )
