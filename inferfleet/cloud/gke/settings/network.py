"""The networks of one GKE cluster: its own with subnetworks and NAT, and those between GPUs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.cloud.gke import names as cloud_names
from inferfleet.cloud.gke.described import DescribedCluster, ExtraNetwork
from inferfleet.cloud.gke.facts.schema import FIREWALL, NETWORK, ROUTER, ROUTER_NAT, SUBNETWORK
from inferfleet.cloud.gke.settings.addresses import Ranges
from inferfleet.cloud.gke.settings.passed import merged
from inferfleet.cloud.values import CloudComponent, CloudResource

# Names of the secondary ranges in the nodes' subnetwork.
PODS, SERVICES = "pods", "services"
_MAIN, _NODES, _PROXIES, _NAT = "network", "nodes", "proxies", "nat"


def network(
    cluster: DescribedCluster, *, ranges: Ranges | None, extras: tuple[ExtraNetwork, ...]
) -> CloudComponent | None:
    """Return the networks that the stack creates for a cluster.

    None for a cluster in an existing network without GPUDirect, and `ranges` is None only for such a one.
    """
    maker = _Maker(cluster)
    resources: list[CloudResource] = []
    if ranges and cluster.gke.network.existing is None:
        resources += _own(maker, ranges)
    if ranges:
        resources += [resource for extra in extras for resource in _between_gpus(maker, ranges, extra)]
    return CloudComponent("GkeNetwork", cluster.name, tuple(resources)) if resources else None


def network_settings(cluster: DescribedCluster) -> dict[str, Any]:
    """Return the settings of a Cluster about its network: subnetwork, and ranges of pods and services."""
    gke, existing = cluster.gke, cluster.gke.network.existing
    if existing:
        project, network_name, subnetwork = (
            existing.project or gke.project,
            existing.name,
            existing.subnetwork,
        )
        pods, services = existing.pods_range, existing.services_range
    else:
        project, network_name = gke.project, cloud_names.gke_part(cluster.cloud_name, _MAIN)
        subnetwork, pods, services = cloud_names.gke_part(cluster.cloud_name, _NODES), PODS, SERVICES
    return {
        "network": f"projects/{project}/global/networks/{network_name}",
        "subnetwork": f"projects/{project}/regions/{gke.region}/subnetworks/{subnetwork}",
        "networkingMode": "VPC_NATIVE",
        "ipAllocationPolicy": {"clusterSecondaryRangeName": pods, "servicesSecondaryRangeName": services},
    }


def made_with(settings: Mapping[str, Any], path: str) -> str | None:
    """Return the value of a field of `gke` when the cluster was created, by its settings in the lock."""
    network = str(settings.get("network", ""))
    ranges = "ipAllocationPolicy"
    settings_by_path = {
        "project": settings.get("project"),
        "network.existing.name": network.rpartition("/")[2],
        "network.existing.project": network.removeprefix("projects/").partition("/")[0],
        "network.existing.subnetwork": str(settings.get("subnetwork", "")).rpartition("/")[2],
        "network.existing.podsRange": settings.get(f"{ranges}.clusterSecondaryRangeName"),
        "network.existing.servicesRange": settings.get(f"{ranges}.servicesSecondaryRangeName"),
    }
    return settings_by_path.get(path) or None


@dataclass(frozen=True)
class _Maker:
    """Makes resources of one cluster: `part` names them in Pulumi and, after the cluster, in Google Cloud."""

    cluster: DescribedCluster

    def resource(self, token: str, part: str, inputs: dict[str, Any], *after: CloudResource) -> CloudResource:
        regional = {} if token in (NETWORK, FIREWALL) else {"region": self.cluster.gke.region}
        return CloudResource(
            token,
            cloud_names.cloud_resource(self.cluster.name, part),
            {
                "name": cloud_names.gke_part(self.cluster.cloud_name, part),
                "project": self.cluster.gke.project,
                **regional,
                **inputs,
            },
            after=tuple(resource.key for resource in after),
        )

    def path(self, part: str) -> str:
        name = cloud_names.gke_part(self.cluster.cloud_name, part)
        return f"projects/{self.cluster.gke.project}/global/networks/{name}"


def _own(maker: _Maker, ranges: Ranges) -> Iterator[CloudResource]:
    """Yield the cluster's own network, its subnetworks, and the NAT by which nodes reach the internet."""
    main = maker.resource(NETWORK, _MAIN, {"autoCreateSubnetworks": False, "routingMode": "REGIONAL"})
    yield main
    within = {"network": maker.path(_MAIN)}
    secondary = [
        {"rangeName": PODS, "ipCidrRange": ranges.pods},
        {"rangeName": SERVICES, "ipCidrRange": ranges.services},
    ]
    nodes = {"ipCidrRange": ranges.nodes, "privateIpGoogleAccess": True, "secondaryIpRanges": secondary}
    passed = maker.cluster.gke.provider.subnetwork
    yield maker.resource(SUBNETWORK, _NODES, merged(within | nodes, passed), main)
    # For the Envoys of regional load balancers; gateways of class gke-l7-rilb never get ready without it.
    proxies = {"ipCidrRange": ranges.proxies, "purpose": "REGIONAL_MANAGED_PROXY", "role": "ACTIVE"}
    yield maker.resource(SUBNETWORK, _PROXIES, within | proxies, main)
    # Also where nodes have public addresses, which do not use it: pools that were created before
    # privateNodes was turned off keep nodes that reach the internet no other way.
    router = maker.resource(ROUTER, _NAT, within, main)
    yield router
    nat = {
        "router": cloud_names.gke_part(maker.cluster.cloud_name, _NAT),
        "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
        # A node that loads a model opens more connections than the 64 ports it would have.
        "enableDynamicPortAllocation": True,
        "enableEndpointIndependentMapping": False,
    }
    yield maker.resource(ROUTER_NAT, _NAT, nat, router)


def _between_gpus(maker: _Maker, ranges: Ranges, extra: ExtraNetwork) -> Iterator[CloudResource]:
    """Yield a network between GPUs, its subnetworks, and the rule that lets its nodes talk to each other."""
    shape: dict[str, Any] = {"autoCreateSubnetworks": False}
    if extra.mtu:
        shape["mtu"] = extra.mtu
    if extra.zone:
        profile = f"global/networkProfiles/{extra.zone}-vpc-roce"
        shape["networkProfile"] = f"projects/{maker.cluster.gke.project}/{profile}"
    between = maker.resource(NETWORK, extra.part, shape)
    yield between
    within = {"network": maker.path(extra.part)}
    for part, slot in extra.subnets:
        subnet = {"ipCidrRange": ranges.between_gpus(slot)}
        yield maker.resource(SUBNETWORK, part, within | subnet, between)
    # Networks of RDMA let everything in by themselves and take no rules of this kind:
    # https://docs.cloud.google.com/vpc/docs/rdma-network-profiles
    if not extra.zone:
        among = {
            "direction": "INGRESS",
            "sourceRanges": [ranges.between_gpus(slot) for _, slot in extra.subnets],
            "allows": [
                {"protocol": "icmp"},
                {"protocol": "tcp", "ports": ["0-65535"]},
                {"protocol": "udp", "ports": ["0-65535"]},
            ],
        }
        yield maker.resource(FIREWALL, extra.part, within | among, between)
