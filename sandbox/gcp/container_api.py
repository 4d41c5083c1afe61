"""The Container API: the login, `getServerConfig`, and `clusters.get`, answered from what is in the cloud.

docs.cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters
"""

from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from sandbox.gcp.compute_api import add_compute, error_response
from sandbox.gcp.inventory_api import Outlasting, add_inventory, nothing
from sandbox.gcp.project_api import add_projects
from sandbox.gcp.rules import regions
from sandbox.gcp.rules.maintenance import maintenance_window
from sandbox.gcp.rules.names import short_name
from sandbox.gcp.rules.networking import named_ranges
from sandbox.gcp.rules.versions import server_config
from sandbox.gcp.store import Record, Records, Store, pools_of

Values = dict[str, Any]
TOKEN = "simulated"
# Fields of a pool's nodeConfig that the API has under other names, or with other values.
_RENAMED = ("bootDisk", "diskSizeGb", "diskType", "effectiveTaints", "guestAccelerators", "taints")


def application(store: Store, made: Outlasting = nothing) -> web.Application:
    """Return the server of all simulated APIs.

    `POST /token` is the login, `GET /v1/projects/*/locations/*/clusters/*` answers a cluster,
    `GET /v1/projects/*/locations/*/serverConfig` the versions that there are, and the rest is compute_api's,
    inventory_api's and project_api's. `made` says what a cluster has made in the cloud.
    """

    async def login(request: web.Request) -> web.Response:
        return web.json_response({"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"})

    async def get_cluster(request: web.Request) -> web.Response:
        cluster_id = "projects/{project}/locations/{location}/clusters/{cluster}".format(**request.match_info)
        records = store.read()
        if cluster_id not in records:
            return error_response(404, "NOT_FOUND", f"Not found: {cluster_id}.")
        return web.json_response(cluster_json(records[cluster_id], records))

    async def get_server_config(request: web.Request) -> web.Response:
        location = request.match_info["location"]
        if not regions.exists(location):
            return error_response(400, "INVALID_ARGUMENT", f"Location {location!r} does not exist")
        return web.json_response(server_config())

    server = web.Application(middlewares=[_require_login])
    server.router.add_post("/token", login)
    server.router.add_get("/v1/projects/{project}/locations/{location}/clusters/{cluster}", get_cluster)
    server.router.add_get("/v1/projects/{project}/locations/{location}/serverConfig", get_server_config)
    add_compute(server.router, store)
    add_inventory(server.router, store, cluster_json, made)
    add_projects(server.router, store)
    return server


@web.middleware
async def _require_login(request: web.Request, handler: Handler) -> web.StreamResponse:
    if request.path != "/token" and request.headers.get("Authorization") != f"Bearer {TOKEN}":
        message = "Request is missing required authentication credential."
        return error_response(401, "UNAUTHENTICATED", message)
    return await handler(request)


def cluster_json(record: Record, records: Records) -> dict[str, Any]:
    """Return the cluster as the API has it: names differ from the provider's, empty values are left out."""
    state = record.state
    endpoints = state.get("controlPlaneEndpointsConfig") or {}
    monitoring = state.get("monitoringConfig") or {}
    pools = pools_of(records, record.id)
    cluster = {
        "name": record.name,
        "location": state["location"],
        "locations": state.get("nodeLocations"),
        "network": short_name(state["network"]),
        "subnetwork": short_name(state["subnetwork"]),
        "clusterIpv4Cidr": _pods_range(state, records),
        "networkConfig": {
            "network": state["network"],
            "subnetwork": state["subnetwork"],
            "datapathProvider": state.get("datapathProvider"),
            "enableMultiNetworking": state.get("enableMultiNetworking"),
            "gatewayApiConfig": state.get("gatewayApiConfig"),
            "defaultEnablePrivateNodes": (state.get("privateClusterConfig") or {}).get("enablePrivateNodes"),
        },
        "selfLink": state["selfLink"],
        "endpoint": state.get("endpoint"),
        "masterAuth": {"clusterCaCertificate": (state.get("masterAuth") or {}).get("clusterCaCertificate")},
        "controlPlaneEndpointsConfig": {
            "dnsEndpointConfig": endpoints.get("dnsEndpointConfig"),
            "ipEndpointsConfig": {
                **(endpoints.get("ipEndpointsConfig") or {}),
                "publicEndpoint": state.get("endpoint"),
                "authorizedNetworksConfig": state.get("masterAuthorizedNetworksConfig"),
            },
        },
        "status": record.status,
        "statusMessage": record.message,
        "currentMasterVersion": state["masterVersion"],
        "currentNodeCount": sum(sum(pool.zones.values()) for pool in pools),
        "releaseChannel": state.get("releaseChannel"),
        "resourceLabels": state.get("effectiveLabels"),
        "workloadIdentityConfig": state.get("workloadIdentityConfig"),
        "privateClusterConfig": state.get("privateClusterConfig"),
        "masterAuthorizedNetworksConfig": state.get("masterAuthorizedNetworksConfig"),
        "maintenancePolicy": {"window": maintenance_window(state.get("maintenancePolicy") or {})},
        "addonsConfig": state.get("addonsConfig"),
        "loggingConfig": {"componentConfig": state.get("loggingConfig")},
        "monitoringConfig": {
            "componentConfig": {"enableComponents": monitoring.get("enableComponents")},
            "managedPrometheusConfig": monitoring.get("managedPrometheus"),
        },
        "costManagementConfig": state.get("costManagementConfig"),
        "nodePools": [pool_json(pool) for pool in pools],
    }
    return _without_empty(cluster)


def _pods_range(state: Values, records: Records) -> str | None:
    """Return the secondary range that the cluster's pods have; None in a subnetwork that nobody made."""
    subnetwork = records.get(state["subnetwork"])
    chosen = (state.get("ipAllocationPolicy") or {}).get("clusterSecondaryRangeName")
    ranges = named_ranges(subnetwork.state)[1:] if subnetwork else []
    return next((str(network) for name, network in ranges if name == chosen), None)


def pool_json(record: Record) -> dict[str, Any]:
    """Return a node pool as the API has it. Numbers of 64 bits are strings there."""
    state, config = record.state, record.state["nodeConfig"]
    scaling = state.get("autoscaling")
    accelerators = [
        {
            "acceleratorType": gpu["type"],
            "acceleratorCount": str(gpu["count"]),
            **{name: value for name, value in gpu.items() if name not in ("type", "count")},
        }
        for gpu in config["guestAccelerators"]
    ]
    disk = config.get("bootDisk") or {}
    pool = {
        "name": record.name,
        "status": record.status,
        "statusMessage": record.message,
        "initialNodeCount": state.get("initialNodeCount"),
        "locations": state["nodeLocations"],
        "version": state["version"],
        "instanceGroupUrls": state["instanceGroupUrls"],
        "autoscaling": {"enabled": True, **scaling} if scaling else None,
        "management": state.get("management"),
        "upgradeSettings": state.get("upgradeSettings"),
        "maxPodsConstraint": {"maxPodsPerNode": str(state["maxPodsPerNode"])},
        "placementPolicy": state.get("placementPolicy"),
        "queuedProvisioning": state.get("queuedProvisioning"),
        "config": {
            **{name: value for name, value in config.items() if name not in _RENAMED},
            "diskSizeGb": disk.get("sizeGb") or config["diskSizeGb"],
            "diskType": disk.get("diskType") or config["diskType"],
            "taints": config.get("effectiveTaints"),
            "accelerators": accelerators,
        },
    }
    return _without_empty(pool)


def _without_empty(values: Values) -> Values:
    return {
        name: _without_empty(value) if isinstance(value, dict) else value
        for name, value in values.items()
        if value not in (None, "", [], {})
    }
