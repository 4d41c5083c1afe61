"""Clusters: what GKE fills in and refuses. It knows of the API server behind a cluster only the address."""

from ipaddress import IPv4Network
from typing import Any

from sandbox.gcp.rules import regions
from sandbox.gcp.rules.errors import bad_request
from sandbox.gcp.rules.maintenance import check_maintenance, check_support
from sandbox.gcp.rules.names import BETA, network_id, numeric_id, short_name, subnetwork_id
from sandbox.gcp.rules.networking import check_subnetwork_in, named_ranges
from sandbox.gcp.rules.pool_rules import check_name
from sandbox.gcp.rules.versions import numbers, version_of
from sandbox.gcp.store import Record, Records

Values = dict[str, Any]
# The first version that brings the CRD of InferencePool in v1. https://llm-d.ai/docs/resources/gateway/gke
_POOLS_SINCE = (1, 34, 0, 1_626_000)
# And the first with v1 of ProvisioningRequests for flex-start nodes.
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest, 2026-04-08
_REQUESTS_SINCE = (1, 32, 2, 1_652_000)
# And the first with DeviceClasses of network cards.
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra, 2026-11-24
_CARDS_SINCE = (1, 34, 1, 1_829_001)
# https://datatracker.ietf.org/doc/html/rfc1918, and addresses that providers share among customers.
_RESERVED = tuple(
    IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
)
LABELS = {"goog-pulumi-provisioned": "true"}


def fill_cluster(state: Values, resource_id: str) -> Values:
    """Return the cluster's state without the address and certificate of its API server."""
    project, location = state["project"], state["location"]
    region = regions.region_of(location)
    labels = {**(state.get("resourceLabels") or {}), **LABELS}
    allocation_policy = dict(state.get("ipAllocationPolicy") or {})
    allocation_policy.setdefault("stackType", "IPV4")
    defaults: Values = {
        "datapathProvider": "LEGACY_DATAPATH",
        "networkingMode": "VPC_NATIVE",
        "defaultMaxPodsPerNode": 110,
        "releaseChannel": {"channel": "REGULAR"},
        "loggingService": "logging.googleapis.com/kubernetes",
        "monitoringService": "monitoring.googleapis.com/kubernetes",
        "databaseEncryption": {"state": "DECRYPTED", "keyName": ""},
        "securityPostureConfig": {"mode": "BASIC", "vulnerabilityMode": "VULNERABILITY_MODE_UNSPECIFIED"},
        "serviceExternalIpsConfig": {"enabled": False},
        "notificationConfig": {"pubsub": {"enabled": False, "topic": ""}},
        "enableL4IlbSubsetting": False,
        "enableIntranodeVisibility": False,
        "nodeLocations": [zone for zone in regions.default_zones(location) if zone != location],
        "nodeVersion": version_of(state),
    }
    return {
        **defaults,
        **state,
        "network": network_id(project, state.get("network", "default")),
        "subnetwork": subnetwork_id(project, region, state.get("subnetwork", "default")),
        "ipAllocationPolicy": allocation_policy,
        "selfLink": f"{BETA}{resource_id}",
        "masterVersion": version_of(state),
        "labelFingerprint": numeric_id(str(sorted(labels.items())))[:8],
        "effectiveLabels": labels,
        "pulumiLabels": labels,
        "operation": None,
        "tpuIpv4CidrBlock": "",
    }


def has_inference_pools(state: Values) -> bool:
    """Return whether GKE brings the CRD of InferencePool along in the cluster's version."""
    return numbers(state["masterVersion"]) >= _POOLS_SINCE


def has_provisioning_requests(state: Values) -> bool:
    """Return whether GKE serves v1 of ProvisioningRequests in the cluster's version."""
    return numbers(state["masterVersion"]) >= _REQUESTS_SINCE


def offers_network_cards(state: Values) -> bool:
    """Return whether GKE's driver DRANET offers network cards to claims in the cluster's version."""
    new_enough = numbers(state["masterVersion"]) >= _CARDS_SINCE
    return new_enough and state.get("datapathProvider") == "ADVANCED_DATAPATH"


def check_cluster(state: Values, records: Records, resource_id: str) -> None:
    """Raise ApiError for the first rule of GKE's that the cluster breaks."""
    check_name("cluster", state["name"])
    project, location = state["project"], state["location"]
    if not regions.exists(location):
        raise bad_request(f"Location {location!r} does not exist")
    region = regions.region_of(location)
    _check_zones(state, region)
    _check_networks(state, records, region)
    version = numbers(version_of(state))
    policy = state.get("maintenancePolicy") or {}
    check_maintenance(policy)
    if "masterVersion" not in state:
        check_support(policy, version, (state.get("releaseChannel") or {}).get("channel") or "REGULAR")
    workload_pool = (state.get("workloadIdentityConfig") or {}).get("workloadPool")
    if workload_pool not in (None, "", f"{project}.svc.id.goog"):
        raise bad_request(f"The only supported workload identity pool is '{project}.svc.id.goog'")
    if state.get("enableMultiNetworking") and state.get("datapathProvider") != "ADVANCED_DATAPATH":
        raise bad_request("Multi-networking needs datapathProvider ADVANCED_DATAPATH")
    private = (state.get("privateClusterConfig") or {}).get("enablePrivateEndpoint")
    networks = state.get("masterAuthorizedNetworksConfig")
    if private and networks is None:
        raise bad_request("Master authorized networks must be enabled if private endpoint is enabled.")
    for block in (networks or {}).get("cidrBlocks") or () if private else ():
        if not any(IPv4Network(block["cidrBlock"]).subnet_of(reserved) for reserved in _RESERVED):
            raise bad_request(
                f'Invalid master authorized networks: network "{block["cidrBlock"]}" is not a reserved '
                "network, which is required for private endpoints"
            )
    if state.get("enableAutopilot"):
        raise bad_request("The simulated cloud has no Autopilot clusters")
    if not state.get("removeDefaultNodePool") and not state.get("initialNodeCount"):
        raise bad_request("Cluster.initial_node_count must be greater than zero")


def _check_zones(state: Values, region: str) -> None:
    for zone in state.get("nodeLocations") or []:
        if zone not in regions.ZONES[region]:
            raise bad_request(f"Zone {zone!r} of nodeLocations is not in region {region!r}")


def _check_networks(state: Values, records: Records, region: str) -> None:
    network = network_id(state["project"], state.get("network", "default"))
    subnetwork = subnetwork_id(state["project"], region, state.get("subnetwork", "default"))
    check_subnetwork_in(network, subnetwork, records)
    secondary = {name for name, _ in named_ranges(records[subnetwork].state)[1:]}
    policy = state.get("ipAllocationPolicy") or {}
    for field in ("clusterSecondaryRangeName", "servicesSecondaryRangeName"):
        if policy.get(field) and policy[field] not in secondary:
            names = ", ".join(sorted(secondary)) or "none"
            raise bad_request(
                f"Secondary range {policy[field]!r} does not exist in subnetwork {short_name(subnetwork)!r}; "
                f"it has: {names}"
            )


def check_cluster_deletion(record: Record, records: Records) -> None:
    """Raise ApiError for a protected cluster. The real provider refuses it before it asks the API."""
    if record.state.get("deletionProtection", True):
        raise bad_request(
            "Cannot destroy cluster because deletionProtection is set to true. Set it to false and update "
            "before the cluster is deleted"
        )


def with_api_server(state: Values, *, endpoint: str, certificate: str) -> Values:
    """Return the cluster's state with the address of its API server and its CA certificate in base64.

    `endpoint` is host:port. Real endpoints have no port; on one machine many API servers share an address,
    and the DNS name is one that every machine resolves.
    """
    asked = state.get("controlPlaneEndpointsConfig") or {}
    dns = {"allowExternalTraffic": False, **(asked.get("dnsEndpointConfig") or {})}
    dns["endpoint"] = f"localhost:{endpoint.rpartition(':')[2]}"
    private = {**(state.get("privateClusterConfig") or {})}
    private.update(privateEndpoint=endpoint, publicEndpoint=endpoint, peeringName="")
    return {
        **state,
        "endpoint": endpoint,
        "masterAuth": {
            "clientCertificateConfig": {"issueClientCertificate": False},
            **(state.get("masterAuth") or {}),
            "clientCertificate": "",
            "clientKey": "",
            "clusterCaCertificate": certificate,
        },
        "controlPlaneEndpointsConfig": {
            "ipEndpointsConfig": {"enabled": True},
            **asked,
            "dnsEndpointConfig": dns,
        },
        "privateClusterConfig": private,
    }
