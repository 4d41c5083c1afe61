"""Networks, subnetworks, routers, NATs, firewalls, placement policies: what Google fills in and refuses."""

import hashlib
import re
from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any

from sandbox.gcp.rules import regions
from sandbox.gcp.rules.errors import bad, in_use, missing
from sandbox.gcp.rules.names import COMPUTE, last, network_id, relative, subnetwork_id
from sandbox.gcp.store import CLUSTER, POOL, Record, Records

Values = dict[str, Any]
SUBNETWORK, NETWORK = "gcp:compute/subnetwork:Subnetwork", "gcp:compute/network:Network"
ROUTER, FIREWALL = "gcp:compute/router:Router", "gcp:compute/firewall:Firewall"
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
# Of networks that make their subnetworks themselves. cloud.google.com/vpc/docs/subnets#ip-ranges
_AUTO = IPv4Network("10.128.0.0/9")


def number(text: str) -> str:
    """A numeric ID that stays the same for the same thing."""
    return str(int(hashlib.sha256(text.encode()).hexdigest()[:15], 16))


def fill(state: Values, own: str) -> Values:
    """What every compute resource gets."""
    made = {"selfLink": f"{COMPUTE}{own}", "creationTimestamp": "2026-01-01T00:00:00.000-07:00"}
    if "network" in state:
        made["network"] = COMPUTE + network_id(state["project"], state["network"])
    return {**state, **made}


def fill_network(state: Values, own: str) -> Values:
    return {
        "routingMode": "REGIONAL",
        "mtu": 1460,
        "bgpBestPathSelectionMode": "LEGACY",
        "numericId": number(own),
        "networkId": number(own),
        **fill(state, own),
    }


def fill_subnetwork(state: Values, own: str) -> Values:
    gateway = IPv4Network(state["ipCidrRange"])[1]
    return {
        "purpose": "PRIVATE",
        "privateIpGoogleAccess": False,
        "privateIpv6GoogleAccess": "DISABLE_GOOGLE_ACCESS",
        "stackType": "IPV4_ONLY",
        "secondaryIpRanges": [],
        **fill(state, own),
        "gatewayAddress": str(gateway),
        "subnetworkId": int(number(own)) % 2**31,
        "state": "READY",
    }


def fill_nat(state: Values, own: str) -> Values:
    return {
        "minPortsPerVm": 64,
        "enableDynamicPortAllocation": False,
        "enableEndpointIndependentMapping": False,
        "endpointTypes": ["ENDPOINT_TYPE_VM"],
        "autoNetworkTier": "PREMIUM",
        **state,
    }


def check_name(state: Values) -> None:
    if not _NAME.fullmatch(state["name"]):
        raise bad(
            f"Invalid value for field 'resource.name': '{state['name']}'. Must be a match of regex "
            f"'(?:{_NAME.pattern})'"
        )


def check_network(state: Values, records: Records, own: str) -> None:
    """Networks for RDMA belong to a zone, which their profile names."""
    check_name(state)
    profile = last(state.get("networkProfile", ""))
    zone, _, kind = profile.partition("-vpc-")
    known = regions.exists(zone) and zone not in regions.ZONES and kind in ("roce", "roce-metal", "falcon")
    if profile and not known:
        raise missing(f"projects/{state['project']}/global/networkProfiles/{profile}")


def check_in_network(state: Values, records: Records, own: str) -> None:
    check_name(state)
    check_region(state)
    if "network" in state:
        network = network_id(state["project"], state["network"])
        if network not in records:
            raise missing(network)


def check_region(state: Values) -> None:
    if "region" in state and state["region"] not in regions.ZONES:
        raise bad(f"Invalid value for field 'region': '{state['region']}'. Unknown region")


def check_subnetwork(state: Values, records: Records, own: str) -> None:
    check_in_network(state, records, own)
    if "ipCidrRange" not in state:
        raise bad("Invalid value for field 'resource.ipCidrRange': ''. Must be a valid IPv4 range")
    network = network_id(state["project"], state["network"])
    mine = ranges(state)
    taken = [
        (name, one)
        for other in records.values()
        if other.token == SUBNETWORK and other.id != own
        if network_id(other.state["project"], other.state["network"]) == network
        for name, one in ranges(other.state)
    ]
    if records[network].state.get("autoCreateSubnetworks", True):
        taken.append(("the automatic subnetworks", _AUTO))
    for place, (name, one) in enumerate(mine):
        for other_name, other_range in [*taken, *mine[:place]]:
            if one.overlaps(other_range):
                raise bad(
                    f"Invalid IPCidrRange: {one} of {name} conflicts with existing subnetwork range "
                    f"{other_range} of {other_name} in network '{last(network)}'"
                )
    if state.get("purpose") == "REGIONAL_MANAGED_PROXY" and state.get("role") not in ("ACTIVE", "BACKUP"):
        raise bad("A subnetwork of purpose REGIONAL_MANAGED_PROXY needs role ACTIVE or BACKUP")


def ranges(state: Values) -> list[tuple[str, IPv4Network]]:
    """The primary range under the subnetwork's name, and the secondary ones under theirs."""
    named = [(state["name"], state["ipCidrRange"])]
    named += [(one["rangeName"], one["ipCidrRange"]) for one in state.get("secondaryIpRanges") or []]
    try:
        return [(name, IPv4Network(text)) for name, text in named]
    except ValueError as wrong:
        raise bad(f"Invalid value for field 'resource.ipCidrRange': {wrong}") from wrong


def check_nat(state: Values, records: Records, own: str) -> None:
    check_name(state)
    check_region(state)
    router = f"projects/{state['project']}/regions/{state['region']}/routers/{last(state['router'])}"
    if router not in records:
        raise missing(router)


def leave_network(record: Record, records: Records) -> None:
    """A network goes last: after its subnetworks, routers and firewalls."""
    for other in records.values():
        link = other.state.get("network")
        if other.token in (SUBNETWORK, ROUTER, FIREWALL) and link and relative(link) == record.id:
            raise in_use(record.id, other.id)


def leave_subnetwork(record: Record, records: Records) -> None:
    """A subnetwork goes after the clusters and pools whose nodes have addresses of it."""
    for other in records.values():
        if other.token == CLUSTER and relative(other.state.get("subnetwork", "")) == record.id:
            raise in_use(record.id, other.id)
        if other.token == POOL:
            extra = (other.state.get("networkConfig") or {}).get("additionalNodeNetworkConfigs") or []
            names = {
                subnetwork_id(record.state["project"], record.state["region"], one.get("subnetwork", ""))
                for one in extra
            }
            if record.id in names:
                raise in_use(record.id, other.id)


def leave_policy(record: Record, records: Records) -> None:
    """A placement policy goes after the pools that are placed by it."""
    for other in records.values():
        placement = other.state.get("placementPolicy") or {}
        if other.token == POOL and placement.get("policyName") == record.name:
            raise in_use(record.id, other.id)


def grows(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """True when a subnetwork's new range holds the old one, so that it changes in place."""
    return IPv4Network(old["ipCidrRange"]).subnet_of(IPv4Network(new["ipCidrRange"]))
