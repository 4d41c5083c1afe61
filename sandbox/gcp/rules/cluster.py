"""Clusters: what GKE fills in and refuses. The API server behind one is kube.py's."""

from typing import Any

from sandbox.gcp.rules import regions
from sandbox.gcp.rules.errors import bad, missing
from sandbox.gcp.rules.names import BETA, last, network_id, subnetwork_id
from sandbox.gcp.rules.networking import number, ranges
from sandbox.gcp.rules.pool_rules import check_name
from sandbox.gcp.store import Record, Records
from sandbox.toolchain.parts import KUBERNETES

Values = dict[str, Any]
# As the API servers of the sandbox are.
VERSION = f"{KUBERNETES}-gke.1000000"
LABELS = {"goog-pulumi-provisioned": "true"}


def fill_cluster(state: Values, own: str) -> Values:
    """Everything but the addresses and the certificate of the API server."""
    project, location = state["project"], state["location"]
    region = regions.region_of(location)
    labels = {**(state.get("resourceLabels") or {}), **LABELS}
    ranges_of_pods = dict(state.get("ipAllocationPolicy") or {})
    ranges_of_pods.setdefault("stackType", "IPV4")
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
        "nodeLocations": [one for one in regions.default_zones(location) if one != location],
        "nodeVersion": VERSION,
    }
    return {
        **defaults,
        **state,
        "network": network_id(project, state.get("network", "default")),
        "subnetwork": subnetwork_id(project, region, state.get("subnetwork", "default")),
        "ipAllocationPolicy": ranges_of_pods,
        "selfLink": f"{BETA}{own}",
        "masterVersion": VERSION,
        "labelFingerprint": number(str(sorted(labels.items())))[:8],
        "effectiveLabels": labels,
        "pulumiLabels": labels,
        "operation": None,
        "tpuIpv4CidrBlock": "",
    }


def check_cluster(state: Values, records: Records, own: str) -> None:
    check_name("cluster", state["name"])
    project, location = state["project"], state["location"]
    if not regions.exists(location):
        raise bad(f"Location {location!r} does not exist")
    region = regions.region_of(location)
    _check_zones(state, region)
    _check_networks(state, records, region)
    _check_version(state.get("minMasterVersion"))
    pool = (state.get("workloadIdentityConfig") or {}).get("workloadPool")
    if pool not in (None, "", f"{project}.svc.id.goog"):
        raise bad(f"The only supported workload identity pool is '{project}.svc.id.goog'")
    if state.get("enableMultiNetworking") and state.get("datapathProvider") != "ADVANCED_DATAPATH":
        raise bad("Multi-networking needs datapathProvider ADVANCED_DATAPATH")
    if state.get("enableAutopilot"):
        raise bad("The simulated cloud has no Autopilot clusters")
    if not state.get("removeDefaultNodePool") and not state.get("initialNodeCount"):
        raise bad("Cluster.initial_node_count must be greater than zero")


def _check_zones(state: Values, region: str) -> None:
    for zone in state.get("nodeLocations") or []:
        if zone not in regions.ZONES[region]:
            raise bad(f"Zone {zone!r} of nodeLocations is not in region {region!r}")


def _check_networks(state: Values, records: Records, region: str) -> None:
    network = network_id(state["project"], state.get("network", "default"))
    subnetwork = subnetwork_id(state["project"], region, state.get("subnetwork", "default"))
    for found in (network, subnetwork):
        if found not in records:
            raise missing(found)
    inside = records[subnetwork]
    if network_id(inside.state["project"], inside.state["network"]) != network:
        raise bad(f"Subnetwork {subnetwork} is not in network {network}")
    secondary = {name for name, _ in ranges(inside.state)[1:]}
    policy = state.get("ipAllocationPolicy") or {}
    for field in ("clusterSecondaryRangeName", "servicesSecondaryRangeName"):
        if policy.get(field) and policy[field] not in secondary:
            have = ", ".join(sorted(secondary)) or "none"
            raise bad(
                f"Secondary range {policy[field]!r} does not exist in subnetwork {last(subnetwork)!r}; "
                f"it has: {have}"
            )


def _check_version(wanted: str | None) -> None:
    """A version such as "1.34" or "1.34.1-gke.1829001" must not be newer than what there is."""
    if wanted in (None, "", "latest", "-"):
        return
    numbers = [part for part in (wanted or "").partition("-")[0].split(".") if part.isdigit()]
    newest = [int(part) for part in KUBERNETES.split(".")]
    if not numbers or [int(part) for part in numbers] > newest:
        raise bad(f'Master version "{wanted}" is unsupported')


def leave_cluster(record: Record, records: Records) -> None:
    """The provider itself refuses, before it asks the API."""
    if record.state.get("deletionProtection", True):
        raise bad(
            "Cannot destroy cluster because deletionProtection is set to true. Set it to false and update "
            "before the cluster is deleted"
        )


def with_server(state: Values, *, endpoint: str, certificate: str) -> Values:
    """The cluster's state with where its API server is: `endpoint` is host:port, the CA in base64.

    Real endpoints are without a port; on one machine many API servers share an address. The DNS name is one
    that every machine knows.
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
