"""Networks, subnetworks, routers, NATs, firewalls, placement policies: what Google fills in and refuses."""

import re
from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any

from sandbox.gcp.rules import regions
from sandbox.gcp.rules.errors import bad_request, in_use, not_found
from sandbox.gcp.rules.names import COMPUTE, network_id, numeric_id, relative, short_name, subnetwork_id
from sandbox.gcp.store import CLUSTER, POOL, Record, Records

Values = dict[str, Any]
SUBNETWORK, NETWORK = "gcp:compute/subnetwork:Subnetwork", "gcp:compute/network:Network"
ROUTER, FIREWALL = "gcp:compute/router:Router", "gcp:compute/firewall:Firewall"
NAT = "gcp:compute/routerNat:RouterNat"
PROXIES = "REGIONAL_MANAGED_PROXY"
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
# The range of networks that make their own subnetworks. cloud.google.com/vpc/docs/subnets#ip-ranges
_AUTO_RANGE = IPv4Network("10.128.0.0/9")


def fill_compute(state: Values, resource_id: str) -> Values:
    """Return the state with what the Compute API fills into every resource."""
    filled = {"selfLink": f"{COMPUTE}{resource_id}", "creationTimestamp": "2026-01-01T00:00:00.000-07:00"}
    if "network" in state:
        filled["network"] = COMPUTE + network_id(state["project"], state["network"])
    return {**state, **filled}


def fill_network(state: Values, resource_id: str) -> Values:
    """Return the state of a network as the API answers it."""
    return {
        "routingMode": "REGIONAL",
        "mtu": 1460,
        "bgpBestPathSelectionMode": "LEGACY",
        "numericId": numeric_id(resource_id),
        "networkId": numeric_id(resource_id),
        **fill_compute(state, resource_id),
    }


def fill_subnetwork(state: Values, resource_id: str) -> Values:
    """Return the state of a subnetwork as the API answers it."""
    gateway = IPv4Network(state["ipCidrRange"])[1]
    return {
        "purpose": "PRIVATE",
        "privateIpGoogleAccess": False,
        "privateIpv6GoogleAccess": "DISABLE_GOOGLE_ACCESS",
        "stackType": "IPV4_ONLY",
        "secondaryIpRanges": [],
        **fill_compute(state, resource_id),
        "gatewayAddress": str(gateway),
        "subnetworkId": int(numeric_id(resource_id)) % 2**31,
        "state": "READY",
    }


def fill_nat(state: Values, resource_id: str) -> Values:
    """Return the state of a router's NAT as the API answers it."""
    return {
        "minPortsPerVm": 64,
        "enableDynamicPortAllocation": False,
        "enableEndpointIndependentMapping": False,
        "endpointTypes": ["ENDPOINT_TYPE_VM"],
        "autoNetworkTier": "PREMIUM",
        **state,
    }


def fill_firewall(state: Values, resource_id: str) -> Values:
    """Return the state of a firewall rule as the API answers it."""
    return {"direction": "INGRESS", "priority": 1000, **fill_compute(state, resource_id)}


def check_network(state: Values, records: Records, resource_id: str) -> None:
    """Raise ApiError for a network that Google refuses. A profile for RDMA names the zone of its network."""
    _check_name(state)
    profile = short_name(state.get("networkProfile", ""))
    zone, _, fabric = profile.partition("-vpc-")
    is_zone = regions.exists(zone) and zone not in regions.ZONES
    if profile and not (is_zone and fabric in ("roce", "roce-metal", "falcon")):
        raise not_found(f"projects/{state['project']}/global/networkProfiles/{profile}")


def check_in_network(state: Values, records: Records, resource_id: str) -> None:
    """Raise ApiError for a bad name, an unknown region or a network that does not exist."""
    _check_name(state)
    _check_region(state)
    if "network" in state:
        network = network_id(state["project"], state["network"])
        if network not in records:
            raise not_found(network)


def check_subnetwork(state: Values, records: Records, resource_id: str) -> None:
    """Raise ApiError for a subnetwork that Google refuses: its ranges may overlap with no other ones."""
    check_in_network(state, records, resource_id)
    if "ipCidrRange" not in state:
        raise bad_request("Invalid value for field 'resource.ipCidrRange': ''. Must be a valid IPv4 range")
    network = network_id(state["project"], state["network"])
    own_ranges = named_ranges(state)
    taken = [
        named_range
        for record in records.values()
        if record.token == SUBNETWORK and record.id != resource_id
        if network_id(record.state["project"], record.state["network"]) == network
        for named_range in named_ranges(record.state)
    ]
    if records[network].state.get("autoCreateSubnetworks", True):
        taken.append(("the automatic subnetworks", _AUTO_RANGE))
    for number, (name, ip_range) in enumerate(own_ranges):
        for other_name, other_range in [*taken, *own_ranges[:number]]:
            if ip_range.overlaps(other_range):
                raise bad_request(
                    f"Invalid IPCidrRange: {ip_range} of {name} conflicts with existing subnetwork range "
                    f"{other_range} of {other_name} in network '{short_name(network)}'"
                )
    if state.get("purpose") == PROXIES and state.get("role") not in ("ACTIVE", "BACKUP"):
        raise bad_request("A subnetwork of purpose REGIONAL_MANAGED_PROXY needs role ACTIVE or BACKUP")


def has_proxies(cluster: Values, records: Records) -> bool:
    """Return whether the cluster's network has an active proxy-only subnetwork in its region.

    docs.cloud.google.com/load-balancing/docs/proxy-only-subnets
    """
    network = network_id(cluster["project"], relative(cluster["network"]))
    region = regions.region_of(cluster["location"])
    return any(
        record.token == SUBNETWORK
        and record.state.get("purpose") == PROXIES
        and record.state.get("role") == "ACTIVE"
        and record.state["region"] == region
        and network_id(record.state["project"], relative(record.state["network"])) == network
        for record in records.values()
    )


def named_ranges(state: Values) -> list[tuple[str, IPv4Network]]:
    """Return a subnetwork's ranges: the primary one under the subnetwork's name, then the secondary ones."""
    texts = [(state["name"], state["ipCidrRange"])]
    texts += [
        (secondary["rangeName"], secondary["ipCidrRange"])
        for secondary in state.get("secondaryIpRanges") or []
    ]
    try:
        return [(name, IPv4Network(text)) for name, text in texts]
    except ValueError as error:
        raise bad_request(f"Invalid value for field 'resource.ipCidrRange': {error}") from error


def check_subnetwork_in(network: str, subnetwork: str, records: Records) -> None:
    """Raise ApiError unless both IDs exist and the subnetwork belongs to the network."""
    for resource_id in (network, subnetwork):
        if resource_id not in records:
            raise not_found(resource_id)
    state = records[subnetwork].state
    if network_id(state["project"], state["network"]) != network:
        raise bad_request(f"Subnetwork {subnetwork} is not in network {network}")


def check_nat(state: Values, records: Records, resource_id: str) -> None:
    """Raise ApiError for a NAT that Google refuses, for example one without its router."""
    _check_name(state)
    _check_region(state)
    router = f"projects/{state['project']}/regions/{state['region']}/routers/{short_name(state['router'])}"
    if router not in records:
        raise not_found(router)


def check_network_deletion(record: Record, records: Records) -> None:
    """Raise ApiError while the network has subnetworks, routers or firewall rules."""
    for other in records.values():
        link = other.state.get("network")
        if other.token in (SUBNETWORK, ROUTER, FIREWALL) and link and relative(link) == record.id:
            raise in_use(record.id, by=other.id)


def check_subnetwork_deletion(record: Record, records: Records) -> None:
    """Raise ApiError while nodes of a cluster or pool have addresses in the subnetwork."""
    project, region = record.state["project"], record.state["region"]
    for other in records.values():
        if other.token == CLUSTER and relative(other.state.get("subnetwork", "")) == record.id:
            raise in_use(record.id, by=other.id)
        if other.token == POOL:
            additional = (other.state.get("networkConfig") or {}).get("additionalNodeNetworkConfigs") or []
            links = (config.get("subnetwork", "") for config in additional)
            if record.id in {subnetwork_id(project, region, link) for link in links}:
                raise in_use(record.id, by=other.id)


def check_policy_deletion(record: Record, records: Records) -> None:
    """Raise ApiError while a pool is placed by the resource policy."""
    for other in records.values():
        placement = other.state.get("placementPolicy") or {}
        if other.token == POOL and placement.get("policyName") == record.name:
            raise in_use(record.id, by=other.id)


def is_widened(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return True when a subnetwork's new range holds the old one, so that it changes in place."""
    return IPv4Network(old["ipCidrRange"]).subnet_of(IPv4Network(new["ipCidrRange"]))


def _check_name(state: Values) -> None:
    if not _NAME.fullmatch(state["name"]):
        raise bad_request(
            f"Invalid value for field 'resource.name': '{state['name']}'. Must be a match of regex "
            f"'(?:{_NAME.pattern})'"
        )


def _check_region(state: Values) -> None:
    if "region" in state and state["region"] not in regions.ZONES:
        raise bad_request(f"Invalid value for field 'region': '{state['region']}'. Unknown region")
