"""The settings of a GKE cluster itself: a regional control plane without pools, the account of its nodes, and
when GKE may upgrade it.
"""

from typing import Any

from inferfleet.cloud.gke import names as cloud_names
from inferfleet.cloud.gke.described import DescribedCluster
from inferfleet.cloud.gke.facts.schema import ACCOUNT, CLUSTER, MEMBER
from inferfleet.cloud.gke.settings.network import network_settings
from inferfleet.cloud.gke.settings.passed import merged, with_passed
from inferfleet.cloud.gke.settings.pools import of_all_nodes
from inferfleet.cloud.values import CloudResource
from inferfleet.documents.kinds.gke import (
    Gke,
    MaintenancePolicy,
)
from inferfleet.tables.gke import GATEWAY_CHANNEL, METRICS, NODE_ROLES

# Settings of the default pool, which is removed at creation.
_OF_FIRST_POOL = ("initialNodeCount", "nodeConfig", "defaultMaxPodsPerNode")
# Space for the operating system and GKE's own pods, for the minutes that the pool exists.
_FIRST_DISK_GB = 30
# It can be set at any time (https://github.com/GoogleCloudPlatform/magic-modules/pull/14000). It stays set
# when the last pool that needs it is deleted: the cluster is changed first, and Google refuses to unset it
# while the pool exists.
_MULTI_NETWORKING = "enableMultiNetworking"
# Google gives other zones of a cluster to all of its pools, also to those that have zones of their own:
# https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/ClusterUpdate (desiredLocations). Every
# pool of a cluster with zones has its own here and changes by itself, so the cluster's stay as they began.
_ZONES = "nodeLocations"


def control_plane(
    cluster: DescribedCluster, *, exists: bool, multi_networking: bool, after: tuple[str, ...]
) -> CloudResource:
    """Return the Cluster resource. With `multi_networking` nodes of its pools may have extra interfaces.

    `exists` says that it exists, in its region. Its zones are what it is made with only; a replacement in
    another region would keep those of the old one.

    `after` should hold all networks, also those that one pool alone uses: Pulumi does not delete the pools
    of a cluster that is deleted, so nothing else keeps their networks until the last node is gone.
    """
    gke = cluster.gke
    return CloudResource(
        CLUSTER,
        cluster.name,
        merged(_inputs(cluster, multi_networking=multi_networking), gke.provider.cluster),
        after=after,
        ignore=(
            *_OF_FIRST_POOL,
            *(() if multi_networking else (_MULTI_NETWORKING,)),
            *((_ZONES,) if exists else ()),
        ),
        protect=gke.deletion_protection,
    )


def _inputs(cluster: DescribedCluster, *, multi_networking: bool) -> dict[str, Any]:
    gke = cluster.gke
    return {
        "name": cluster.cloud_name,
        "project": gke.project,
        "location": gke.region,
        **({"nodeLocations": sorted(gke.zones)} if gke.zones else {}),
        **network_settings(cluster),
        "datapathProvider": "ADVANCED_DATAPATH",
        **({_MULTI_NETWORKING: True} if multi_networking else {}),
        **_endpoints(gke),
        **_versions(gke),
        **maintenance(gke.maintenance_policy),
        **_first_pool(cluster),
        **_encryption(gke),
        "workloadIdentityConfig": {"workloadPool": f"{gke.project}.svc.id.goog"},
        "gatewayApiConfig": {"channel": GATEWAY_CHANNEL},
        "addonsConfig": {
            # Gateways are load balancers: without this addon none is ever made.
            "httpLoadBalancing": {"disabled": False},
            "gcePersistentDiskCsiDriverConfig": {"enabled": True},
            "gcsFuseCsiDriverConfig": {"enabled": True},
        },
        "monitoringConfig": {
            "enableComponents": list(METRICS),
            "managedPrometheus": {"enabled": True},
        },
        "costManagementConfig": {"enabled": True},
        "resourceLabels": cluster.labels,
        "deletionProtection": gke.deletion_protection,
    }


def _encryption(gke: Gke) -> dict[str, Any]:
    """Return by which keys Google encrypts the database, and whether it does so with memory in use."""
    encryption: dict[str, Any] = {}
    if gke.database_encryption:
        encryption["databaseEncryption"] = {"state": "ENCRYPTED", "keyName": gke.database_encryption}
    if gke.confidential_nodes:
        encryption["confidentialNodes"] = {"enabled": True}
    return encryption


def endpoint(gke: Gke) -> str:
    """Return by which of its endpoints the API server is reached: `DNS`, `IP` or `private IP`."""
    return "private IP" if gke.control_plane_access == "Private" else gke.control_plane_endpoint


def _endpoints(gke: Gke) -> dict[str, Any]:
    """Return the settings of exactly one endpoint.

    The DNS endpoint is guarded by IAM, the IP endpoint can be limited to networks.
    """
    by_dns, private = gke.control_plane_endpoint == "DNS", gke.control_plane_access == "Private"
    without_public_address = {"enablePrivateEndpoint": True} if private else {}
    endpoints = {
        "privateClusterConfig": {"enablePrivateNodes": gke.private_nodes, **without_public_address},
        "controlPlaneEndpointsConfig": {
            "dnsEndpointConfig": {"allowExternalTraffic": by_dns},
            "ipEndpointsConfig": {"enabled": not by_dns},
        },
    }
    # Google takes no private endpoint without them, of which there need be none:
    # https://github.com/rancher/rancher/issues/32251, https://github.com/GoogleCloudPlatform/magic-modules/pull/8338
    if not gke.authorized_networks and not without_public_address:
        return endpoints
    blocks = [{"cidrBlock": block} for block in sorted(set(gke.authorized_networks))]
    return endpoints | {"masterAuthorizedNetworksConfig": {"cidrBlocks": blocks} if blocks else {}}


def _versions(gke: Gke) -> dict[str, Any]:
    """Return a channel and at most a minimum: a pinned version conflicts with the channel's own upgrades."""
    channel = {"releaseChannel": {"channel": gke.release_channel}}
    return channel | ({"minMasterVersion": gke.min_version} if gke.min_version else {})


def maintenance(policy: MaintenancePolicy | None) -> dict[str, Any]:
    """Return the maintenance policy of a Cluster; nothing where the document has none.

    Google has an exclusion of single pools besides (NodePool.maintenancePolicy). The provider sends it with a
    new pool and never again (nodePoolUpdate in resource_container_node_pool.go at 93c65b2d60, 2026-08-21), so
    one that is written or removed later would do nothing.
    """
    if policy is None:
        return {}
    settings: dict[str, Any] = {}
    if policy.daily_maintenance_window:
        settings["dailyMaintenanceWindow"] = {"startTime": policy.daily_maintenance_window.start_time}
    if window := policy.recurring_window:
        settings["recurringWindow"] = {
            "startTime": window.start_time,
            "endTime": window.end_time,
            "recurrence": window.recurrence,
        }
    if policy.maintenance_exclusions:
        settings["maintenanceExclusions"] = [
            {
                "exclusionName": exclusion.name,
                "startTime": exclusion.start_time,
                **({"endTime": exclusion.end_time} if exclusion.end_time else {}),
                "exclusionOptions": {
                    "scope": exclusion.scope,
                    **({"endTimeBehavior": behavior} if (behavior := exclusion.end_time_behavior) else {}),
                },
            }
            for exclusion in sorted(policy.maintenance_exclusions, key=lambda exclusion: exclusion.name)
        ]
    return {"maintenancePolicy": settings}


def _first_pool(cluster: DescribedCluster) -> dict[str, Any]:
    """Return the settings of the pool that GKE creates with a cluster and removes some minutes later.

    GKE creates no cluster without a pool. It has one node per zone, and policies of an organisation ask of
    its nodes what they ask of all: so they are those of the system pool, with the account, keys, tags and
    labels of the cluster. Their disks are small and standard ones: Google's default of 100 GB each, balanced,
    is 300 GB in a region, where a new project's quota SSD_TOTAL_GB may be 250 (https://github.com/
    terraform-google-modules/terraform-google-kubernetes-engine/issues/1795, 2023-11-07). Of a small machine
    of Google's choice, but for Confidential VMs, which few machine types can be. Provider 8.9 announces that
    this argument will go; until it offers another way, this is what every version takes.
    """
    machine_type = cluster.gke.system_pool.machine_type if cluster.gke.confidential_nodes else None
    own = {
        **({"machineType": machine_type} if machine_type else {}),
        "bootDisk": {"sizeGb": _FIRST_DISK_GB, "diskType": "pd-standard"},
        "resourceLabels": cluster.labels,
        **of_all_nodes(cluster, secure_boot=True),
    }
    passed = {"nodeConfig": cluster.gke.system_pool.provider.get("nodeConfig", {})}
    most_pods = cluster.gke.system_pool.max_pods_per_node
    return {
        "removeDefaultNodePool": True,
        "initialNodeCount": 1,
        **({"defaultMaxPodsPerNode": most_pods} if most_pods else {}),
        **with_passed({"nodeConfig": own}, passed),
    }


def accounts(cluster: DescribedCluster) -> tuple[CloudResource, ...]:
    """Return the service account, then its roles on the project; none for an account that exists."""
    if cluster.gke.service_account:
        return ()
    account = CloudResource(
        ACCOUNT,
        cloud_names.cloud_resource(cluster.name, "nodes"),
        {
            "accountId": cloud_names.node_account(cluster.name, stack=cluster.stack),
            "displayName": f"Nodes of {cluster.name} ({cluster.stack})"[:100],
            "project": cluster.gke.project,
        },
    )
    roles = (
        CloudResource(
            MEMBER,
            cloud_names.cloud_resource(cluster.name, f"nodes/{role.rpartition('/')[2]}"),
            {
                "member": f"serviceAccount:{cluster.account}",
                "project": cluster.gke.project,
                "role": role,
            },
            after=(account.key,),
        )
        for role in (NODE_ROLES if cluster.gke.iam == "Stack" else ())
    )
    return (account, *roles)
