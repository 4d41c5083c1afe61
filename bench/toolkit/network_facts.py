"""What Cluster Toolkit sets of networks: the cluster's own, and those of further interfaces of nodes."""

from bench.toolkit.cases import ZONE
from bench.toolkit.fact import (
    A3_HIGH,
    A3_MEGA,
    A3_ULTRA,
    A4,
    A4X,
    FLEX,
    MULTIVPC_DEFAULTS,
    OF_A2,
    OF_A3_HIGH,
    OF_A3_MEGA,
    OF_A3_ULTRA,
    OF_A4,
    OF_A4X,
    OF_CPU,
    OF_G4,
    OF_GATEWAY,
    OF_L4,
    RDMA,
    RDMA_VPC,
    RDMA_VPC_DEFAULTS,
    TCP,
    VPC,
    VPC_DEFAULTS,
    WAITED,
    Fact,
)

_GVNIC, _RDMA, _TCP = "gVNIC", "RDMA", "TCPX or TCPXO"
_ALL = ["icmp", "tcp", "udp"]
# Blueprints that name their subnetwork, and thereby leave out what the module sets for one of its own. It is
# false then: https://github.com/terraform-google-modules/terraform-google-network, modules/subnets, v13.0.0.
_NAMED_SUBNETWORKS = (
    (A3_HIGH, OF_A3_HIGH),
    (A3_ULTRA, OF_A3_ULTRA),
    (A4, OF_A4),
    (A4X, OF_A4X),
    (("G4",), OF_G4),
)

_OWN = (
    Fact("Network.autoCreateSubnetworks", False, VPC),
    Fact("Network.routingMode", "GLOBAL", VPC_DEFAULTS),
    Fact("Network.mtu", 8244, OF_A3_HIGH, A3_HIGH),
    Fact("Network.mtu", 8244, OF_A3_MEGA, A3_MEGA),
    Fact("Network.mtu", 8244, OF_A2, ("A2",)),
    Fact("Network.mtu", 8896, VPC_DEFAULTS),
    *(
        Fact("Subnetwork, nodes.privateIpGoogleAccess", False, file, recipes)
        for recipes, file in _NAMED_SUBNETWORKS
    ),
    Fact("Subnetwork, nodes.privateIpGoogleAccess", True, VPC_DEFAULTS),
    Fact("Subnetwork, nodes.secondaryIpRanges[0].rangeName", "pods", OF_CPU),
    Fact("Subnetwork, nodes.secondaryIpRanges[1].rangeName", "services", OF_L4),
    Fact("Subnetwork, proxies.purpose", "REGIONAL_MANAGED_PROXY", OF_GATEWAY, A3_HIGH, ("OnDemand",)),
    Fact("Subnetwork, proxies.role", "ACTIVE", OF_GATEWAY, A3_HIGH, ("OnDemand",)),
    Fact("Subnetwork, proxies.*", None, VPC),
    Fact("Firewall, own network.allows", _ALL, VPC),
    Fact("Firewall, own network from Identity-Aware Proxy.allows", ["tcp 22"], VPC),
    Fact("RouterNat.natIps (number)", 2, FLEX, A3_ULTRA, WAITED),
    *(
        Fact("RouterNat.natIps (number)", 6, file, recipes)
        for recipes, file in (
            (A3_HIGH, OF_A3_HIGH),
            (A3_MEGA, OF_A3_MEGA),
            (A3_ULTRA, OF_A3_ULTRA),
            (A4, OF_A4),
            (A4X, OF_A4X),
        )
    ),
    Fact("RouterNat.natIps (number)", 2, VPC_DEFAULTS),
    # What follows of an address that is given, and what is left out:
    # https://github.com/terraform-google-modules/terraform-google-cloud-router, nat.tf, v7.3.0.
    Fact("RouterNat.natIpAllocateOption", "MANUAL_ONLY", VPC),
    Fact("RouterNat.sourceSubnetworkIpRangesToNat", "ALL_SUBNETWORKS_ALL_IP_RANGES", VPC),
    Fact("RouterNat.logConfig.enable", True, VPC),
    Fact("RouterNat.enableDynamicPortAllocation", None, VPC),
    Fact("RouterNat.enableEndpointIndependentMapping", None, VPC),
)

# The rack's blueprint leaves its networks to GKE.
_NONE = tuple(
    Fact(f"{kind}, {purpose}.*", None, OF_A4X, A4X)
    for kind, purpose in (
        ("Networks", _GVNIC),
        ("Networks", _RDMA),
        ("Subnetworks", _GVNIC),
        ("Subnetworks", _RDMA),
        ("Firewalls", _GVNIC),
    )
)
_BETWEEN_GPUS = (
    *_NONE,
    Fact(f"Networks, {_GVNIC}.number", 1, OF_G4, ("G4",)),
    Fact(f"Networks, {_GVNIC}.number", 4, OF_A2, ("A2",)),
    Fact(f"Networks, {_GVNIC}.number", 1, OF_A3_ULTRA, A3_ULTRA),
    Fact(f"Networks, {_GVNIC}.number", 1, OF_A4, A4),
    Fact(f"Networks, {_GVNIC}.autoCreateSubnetworks", False, VPC, RDMA),
    Fact(f"Networks, {_GVNIC}.mtu", 8896, VPC_DEFAULTS, RDMA),
    Fact(f"Networks, {_GVNIC}.routingMode", "GLOBAL", VPC_DEFAULTS, RDMA),
    Fact(f"Subnetworks, {_GVNIC}.number", 1, OF_A3_ULTRA, ("A3 Ultra RDMA",)),
    Fact(f"Subnetworks, {_GVNIC}.number", 1, OF_A4, ("A4 RDMA",)),
    Fact(f"Firewalls, {_GVNIC}.number", 3, VPC, RDMA),
    Fact(f"Firewalls, {_GVNIC}.direction", "INGRESS", VPC, RDMA),
    Fact(f"Firewalls, {_GVNIC}.allows", _ALL, VPC, RDMA),
    Fact(f"RouterNats, {_GVNIC}.number", 1, VPC_DEFAULTS, RDMA),
    Fact(f"Networks, {_RDMA}.number", 1, OF_A3_ULTRA, A3_ULTRA),
    Fact(f"Networks, {_RDMA}.number", 1, OF_A4, A4),
    Fact(f"Networks, {_RDMA}.autoCreateSubnetworks", False, RDMA_VPC, RDMA),
    Fact(f"Networks, {_RDMA}.networkProfile", f"{ZONE}-vpc-roce", OF_A3_ULTRA, ("A3 Ultra RDMA",)),
    Fact(f"Networks, {_RDMA}.networkProfile", f"{ZONE}-vpc-roce", OF_A4, ("A4 RDMA",)),
    Fact(f"Networks, {_RDMA}.mtu", 8896, RDMA_VPC_DEFAULTS, RDMA),
    Fact(f"Networks, {_RDMA}.routingMode", "REGIONAL", RDMA_VPC_DEFAULTS, RDMA),
    Fact(f"Subnetworks, {_RDMA}.number", 8, OF_A3_ULTRA, ("A3 Ultra RDMA",)),
    Fact(f"Subnetworks, {_RDMA}.number", 8, OF_A4, ("A4 RDMA",)),
    Fact(f"Networks, {_TCP}.number", 4, OF_A3_HIGH, A3_HIGH),
    Fact(f"Networks, {_TCP}.number", 8, OF_A3_MEGA, A3_MEGA),
    Fact(f"Networks, {_TCP}.autoCreateSubnetworks", False, VPC, TCP),
    Fact(f"Networks, {_TCP}.mtu", 8244, OF_A3_HIGH, ("A3 High TCPX",)),
    Fact(f"Networks, {_TCP}.mtu", 8244, OF_A3_MEGA, ("A3 Mega TCPXO",)),
    Fact(f"Networks, {_TCP}.routingMode", "REGIONAL", MULTIVPC_DEFAULTS, TCP),
    Fact(f"Subnetworks, {_TCP}.number", 4, OF_A3_HIGH, ("A3 High TCPX",)),
    Fact(f"Subnetworks, {_TCP}.number", 8, OF_A3_MEGA, ("A3 Mega TCPXO",)),
    Fact(f"Subnetworks, {_TCP}.privateIpGoogleAccess", True, MULTIVPC_DEFAULTS, TCP),
    # For what comes from the network itself, and for SSH by way of Identity-Aware Proxy.
    Fact(f"Firewalls, {_TCP}.number", 8, MULTIVPC_DEFAULTS, ("A3 High TCPX",)),
    Fact(f"Firewalls, {_TCP}.number", 16, MULTIVPC_DEFAULTS, ("A3 Mega TCPXO",)),
    Fact(f"Firewalls, {_TCP}.direction", "INGRESS", VPC, TCP),
    Fact(f"Firewalls, {_TCP}.allows", _ALL, VPC, TCP),
    Fact(f"RouterNats, {_TCP}.number", 4, MULTIVPC_DEFAULTS, ("A3 High TCPX",)),
    Fact(f"RouterNats, {_TCP}.number", 8, MULTIVPC_DEFAULTS, ("A3 Mega TCPXO",)),
)

FACTS = (*_OWN, *_BETWEEN_GPUS)
