"""The settings of a GKE cluster itself: a regional control plane without pools."""

from typing import Any

from inferfleet.api.kinds.gke_cluster import Gke
from inferfleet.fleet import names
from inferfleet.gke.facts.schema import CLUSTER
from inferfleet.gke.pool import GkeCluster
from inferfleet.gke.settings.network import network_settings
from inferfleet.gke.values import CloudResource
from inferfleet.profiles.gke import GATEWAY_CHANNEL, LOGS, METRICS, SCOPES

# An hour: a regional control plane takes ten minutes, and updates of it wait for each other.
_SECONDS = 3600
# Settings of a pool that is gone.
_OF_FIRST_POOL = ("initialNodeCount", "nodeConfig")
# Can be set at any time (https://github.com/GoogleCloudPlatform/magic-modules/pull/14000). It stays when the
# last pool that needs it goes: the cluster is changed first, and Google refuses while that pool stands.
_MULTI_NETWORKING = "enableMultiNetworking"


def control_plane(cluster: GkeCluster, *, multi_networking: bool, after: tuple[str, ...]) -> CloudResource:
    """The Cluster resource; `multi_networking` lets nodes of its pools have extra interfaces.

    `after` should hold all networks, also those of single pools: the engine does not delete pools of a
    cluster that goes, so nothing else keeps their networks until the last node is gone.
    """
    gke = cluster.gke
    return CloudResource(
        CLUSTER,
        names.cluster_component(cluster.name),
        {
            "name": cluster.cloud_name,
            "project": gke.project,
            "location": gke.region,
            **({"nodeLocations": sorted(gke.zones)} if gke.zones else {}),
            **network_settings(cluster),
            "datapathProvider": "ADVANCED_DATAPATH",
            **({_MULTI_NETWORKING: True} if multi_networking else {}),
            "privateClusterConfig": {"enablePrivateNodes": gke.private_nodes},
            **_endpoints(gke),
            **_versions(gke),
            **_first_pool(cluster.account),
            "workloadIdentityConfig": {"workloadPool": f"{gke.project}.svc.id.goog"},
            "gatewayApiConfig": {"channel": GATEWAY_CHANNEL},
            "addonsConfig": {
                # Gateways are load balancers: without this addon none is ever made.
                "httpLoadBalancing": {"disabled": False},
                "gcePersistentDiskCsiDriverConfig": {"enabled": True},
                "gcsFuseCsiDriverConfig": {"enabled": True},
            },
            "loggingConfig": {"enableComponents": list(LOGS)},
            "monitoringConfig": {
                "enableComponents": list(METRICS),
                "managedPrometheus": {"enabled": True},
            },
            "costManagementConfig": {"enabled": True},
            "resourceLabels": cluster.labels,
            "deletionProtection": gke.deletion_protection,
        },
        after=after,
        ignore=(*_OF_FIRST_POOL, *(() if multi_networking else (_MULTI_NETWORKING,))),
        protect=gke.deletion_protection,
        timeout=_SECONDS,
    )


def _endpoints(gke: Gke) -> dict[str, Any]:
    """One way to the API server: the DNS endpoint asks IAM, the IP endpoint can be limited to networks."""
    by_dns = gke.control_plane_endpoint == "DNS"
    endpoints = {
        "controlPlaneEndpointsConfig": {
            "dnsEndpointConfig": {"allowExternalTraffic": by_dns},
            "ipEndpointsConfig": {"enabled": not by_dns},
        }
    }
    if not gke.authorized_networks:
        return endpoints
    blocks = [{"cidrBlock": block} for block in sorted(set(gke.authorized_networks))]
    return endpoints | {"masterAuthorizedNetworksConfig": {"cidrBlocks": blocks}}


def _versions(gke: Gke) -> dict[str, Any]:
    """A channel, and at most a floor: a version that is pinned fights with the channel's own upgrades."""
    channel = {"releaseChannel": {"channel": gke.release_channel}}
    return channel | ({"minMasterVersion": gke.min_version} if gke.min_version else {})


def _first_pool(account: str) -> dict[str, Any]:
    """GKE makes no cluster without a pool, so there is one for some minutes, of one node per zone.

    Its nodes act as ours do: the project's default account may have been taken away. Provider 8.9 announces
    the end of this way; until it offers another one, this is what every version takes.
    """
    return {
        "removeDefaultNodePool": True,
        "initialNodeCount": 1,
        "nodeConfig": {"serviceAccount": account, "oauthScopes": list(SCOPES)},
    }
