"""Networks that somebody else keeps: whether they have what clusters and pools that are to come need.

How many of their addresses others have taken Google does not say, so sizes are compared as if none were.

https://docs.cloud.google.com/compute/docs/reference/rest/v1/subnetworks/get
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from inferfleet.cloud.gke.described import DescribedCluster, DescribedPool, Interface, described_clusters
from inferfleet.cloud.gke.facts.sources import GKE_FIREWALLS, PRIVATE_ACCESS, RDMA_ZONE, SUBNETS, TOOLKIT
from inferfleet.cloud.gke.firewalls import Machines, denied, ruling
from inferfleet.cloud.gke.settings.addresses import Nodes, in_words, nodes_of, pods_shortage
from inferfleet.cloud.values import CloudCluster
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.gke import ExistingNetwork
from inferfleet.documents.problems import Problem, Severity
from inferfleet.documents.wording import listing
from inferfleet.tables.gke import HEALTH_CHECKS

_PATH = "spec.cluster.gke.network.existing"
# The first two and the last two of a primary range (SUBNETS).
_RESERVED = 4
# Bytes of a frame in networks for which nobody said another number.
_USUAL_MTU = 1460


@dataclass(frozen=True)
class SubnetworkNeed:
    """A cluster that is to come into a subnetwork of somebody else, in `project` and its region."""

    cluster: str
    project: str
    region: str
    existing: ExistingNetwork
    private_nodes: bool
    fixed: Nodes
    """The nodes that each has at least."""
    most: Nodes
    """All pools at their maxima, the system pool among them."""
    chosen: Machines
    """What firewall rules choose its nodes by."""


def subnetwork_needs(documents: Documents, clusters: Iterable[CloudCluster]) -> tuple[SubnetworkNeed, ...]:
    """Return what those of the clusters need that are to come into existing networks."""
    described = described_clusters(documents)
    needs = []
    for cloud in clusters:
        cluster = described[cloud.cluster]
        if existing := cluster.gke.network.existing:
            system = cloud.resource(cloud.system_key).inputs["autoscaling"]["totalMaxNodeCount"]
            project, private = existing.project or cloud.project, cluster.gke.private_nodes
            fixed, most = nodes_of(cluster, system)
            chosen = _machines(cluster)
            needs.append(
                SubnetworkNeed(cloud.cluster, project, cloud.region, existing, private, fixed, most, chosen)
            )
    return tuple(needs)


def subnetwork_problems(need: SubnetworkNeed, answer: Mapping[str, Any] | None) -> Iterator[Problem]:
    """Yield what Google's answer about the subnetwork lacks; None is one that is not there."""
    existing = need.existing
    if answer is None:
        yield _problem(
            need,
            f"there is no subnetwork {existing.subnetwork} in {need.region} of project {need.project}, which "
            f"cluster {need.cluster} is to be in",
            f"Look with `gcloud compute networks subnets list --project {need.project} --regions "
            f"{need.region}`, and write one of them",
            "subnetwork",
        )
        return
    ranges = {
        str(secondary.get("rangeName")): str(secondary.get("ipCidrRange"))
        for secondary in answer.get("secondaryIpRanges") or ()
    }
    for field, name in (("podsRange", existing.pods_range), ("servicesRange", existing.services_range)):
        if name not in ranges:
            there = listing(sorted(ranges)) or "none"
            what = f"subnetwork {existing.subnetwork} has no secondary range {name}; it has {there}"
            yield _problem(need, what, "Write one of these, or have somebody add it", field)
    yield from _size_problems(need, ranges.get(existing.pods_range), answer.get("ipCidrRange"))
    if need.private_nodes and not answer.get("privateIpGoogleAccess"):
        yield _problem(
            need,
            f"subnetwork {existing.subnetwork} has no Private Google Access, by which nodes without public "
            f"addresses reach Google's registry and APIs ({PRIVATE_ACCESS})",
            f"Have somebody run `gcloud compute networks subnets update {existing.subnetwork} --project "
            f"{need.project} --region {need.region} --enable-private-ip-google-access`",
            "subnetwork",
            severity="warning",
        )


def _size_problems(need: SubnetworkNeed, pods: str | None, primary: str | None) -> Iterator[Problem]:
    """Yield ranges that are too small: an error where nodes of fixed number alone do not fit."""
    existing = need.existing
    if pods and (short := pods_shortage(pods, need.fixed, need.most)):
        yield _problem(
            need,
            f"range {existing.pods_range} of subnetwork {existing.subnetwork} has {pods} for pods of cluster "
            f"{need.cluster}, {short.words}",
            "Write fewer nodes, node.pods: 64 or less in the class and systemPool.maxPodsPerNode: 32, or a "
            "larger range",
            "podsRange",
            severity=short.severity,
        )
    space = IPv4Network(primary).num_addresses - _RESERVED if primary else None
    counts: tuple[tuple[Nodes, Severity, str], ...] = (
        (need.fixed, "error", "it has at least"),
        (need.most, "warning", "its pools at their maxima are"),
    )
    for nodes, severity, which in counts:
        if space is not None and sum(count for count, _ in nodes.values()) > space:
            yield _problem(
                need,
                f"subnetwork {existing.subnetwork} has {primary} for nodes of cluster {need.cluster}, which "
                f"is {space} of them ({SUBNETS}); {which} {in_words(nodes)}",
                "Write fewer nodes, or a subnetwork with a larger primary range",
                "subnetwork",
                severity=severity,
            )
            return


def closed_problems(
    need: SubnetworkNeed,
    subnetwork: Mapping[str, Any] | None,
    network: Mapping[str, Any],
    effective: Mapping[str, Any],
) -> Iterator[Problem]:
    """Yield a warning where the network keeps out what Google's own rules for the cluster would let in."""
    sources = dict.fromkeys(HEALTH_CHECKS, "which Google's health checks come from")
    ranges = (subnetwork or {}).get("secondaryIpRanges") or ()
    sources |= {
        str(each["ipCidrRange"]): "which its pods have"
        for each in ranges
        if each.get("rangeName") == need.existing.pods_range
    }
    for source, found in denied(network, effective, sources, need.chosen):
        yield _problem(
            need,
            f"{found.rule} of network {need.existing.name} of project {need.project} keeps out {source}, "
            f"{sources[source]}, before GKE's own rules for cluster {need.cluster} let it in, and nothing "
            f"says so ({GKE_FIREWALLS})",
            f"Have somebody let it in by a rule that comes before, to all nodes: tcp from {source}",
            "name",
            severity="warning",
        )


def _problem(
    need: SubnetworkNeed, what: str, next_step: str, field: str, *, severity: Severity = "error"
) -> Problem:
    return Problem(
        what, next_step, f"{_PATH}.{field}", kind="InferenceCluster", key=need.cluster, severity=severity
    )


@dataclass(frozen=True)
class InterfaceNeed:
    """A pool that is to come, whose nodes have interfaces in networks of somebody else, in `project`."""

    pool: DescribedPool
    project: str
    chosen: Machines


def interface_needs(
    documents: Documents, clusters: Iterable[CloudCluster], existing: Mapping[str, Container[str]]
) -> tuple[InterfaceNeed, ...]:
    """Return the pools of the clusters that name networks between GPUs. `existing` has the names of those
    that Google Cloud has already, by cluster.
    """
    described = described_clusters(documents)
    return tuple(
        InterfaceNeed(pool, _host(cluster), _machines(cluster))
        for cloud in clusters
        for cluster in [described[cloud.cluster]]
        for pool in cluster.pools
        if pool.document.additional_node_network_configs
        and cloud.pools[pool.name].name not in existing[cloud.cluster]
    )


def _host(cluster: DescribedCluster) -> str:
    existing = cluster.gke.network.existing
    return (existing.project if existing else None) or cluster.gke.project


def _machines(cluster: DescribedCluster) -> Machines:
    return Machines(cluster.gke.network_tags, cluster.account)


def interface_problems(
    need: InterfaceNeed,
    subnetworks: Mapping[str, Mapping[str, Any] | None],
    networks: Mapping[str, Mapping[str, Any] | None],
    firewalls: Mapping[str, Mapping[str, Any]],
) -> Iterator[Problem]:
    """Yield what the networks of a pool's interfaces lack, by Google's answers about each that was read."""
    for place, interface in enumerate(need.pool.interfaces):
        path = f"additionalNodeNetworkConfigs[{place}]"
        subnetwork = subnetworks.get(interface.subnetwork)
        if interface.subnetwork in subnetworks:
            yield from _subnetwork_problems(need, interface, subnetwork, f"{path}.subnetwork")
        if interface.network in networks:
            yield from _network_problems(need, interface, networks[interface.network], f"{path}.network")
        network, effective = networks.get(interface.network), firewalls.get(interface.network)
        if subnetwork and network and effective is not None and not interface.rdma:
            yield from _closed_problems(need, interface, subnetwork, network, effective, f"{path}.network")


def _missing_problem(need: InterfaceNeed, thing: str, path: str) -> Problem:
    what = f"there is no {thing}, which {_interface_of(need)} is to be in"
    return _of_pool(need, what, "Write one that is there, or have somebody make it", path)


def _subnetwork_problems(
    need: InterfaceNeed, interface: Interface, answer: Mapping[str, Any] | None, path: str
) -> Iterator[Problem]:
    thing = f"subnetwork {interface.subnetwork} in {need.pool.gke.region} of project {need.project}"
    if answer is None:
        yield _missing_problem(need, thing, path)
        return
    if not str(answer.get("network")).endswith(f"/{need.project}/global/networks/{interface.network}"):
        network = str(answer.get("network")).rpartition("/")[2]
        what = f"{thing} is in network {network}, not in {interface.network}"
        yield _of_pool(need, what, f"Write network: {network}, or another subnetwork", path)
    space = IPv4Network(answer["ipCidrRange"]).num_addresses - _RESERVED
    size, fixed = need.pool.document.size, need.pool.fixed_size or 0
    if size > space:
        what = f"{thing} has {answer['ipCidrRange']}, which is {space} nodes ({SUBNETS}), and pool "
        what += f"{need.pool.name} of cluster {need.pool.cluster} may have {size}"
        step = "Write fewer nodes, or a larger subnetwork"
        yield _of_pool(need, what, step, path, severity="error" if fixed > space else "warning")


def _network_problems(
    need: InterfaceNeed, interface: Interface, answer: Mapping[str, Any] | None, path: str
) -> Iterator[Problem]:
    thing = f"network {interface.network} of project {need.project}"
    if answer is None:
        yield _missing_problem(need, thing, path)
        return
    fabric, zones = need.pool.gke_class.fabric, need.pool.zones
    profile = str(answer.get("networkProfile") or "").rpartition("/")[2]
    wanted = f"{zones[0]}-vpc-roce" if interface.rdma and zones else ""
    if profile != wanted:
        what = f"{thing} has {profile or 'no'} network profile, and "
        what += f"an interface of RDMA in {zones[0]} needs {wanted}" if wanted else "a gVNIC needs none"
        yield _of_pool(need, f"{what} ({RDMA_ZONE})", "Write another network", path)
    mtu = int(answer.get("mtu") or _USUAL_MTU)
    if fabric and fabric.mtu and mtu < fabric.mtu:
        what = f"{thing} has frames of {mtu} bytes, and {fabric.kind} is made for {fabric.mtu} ({TOOLKIT}): "
        what += "it would be slow, or not come up, and nothing says so"
        step = f"Have somebody run `gcloud compute networks update {interface.network} --project "
        step += f"{need.project} --mtu {fabric.mtu}`"
        yield _of_pool(need, what, step, path, severity="warning")


def _closed_problems(
    need: InterfaceNeed,
    interface: Interface,
    subnetwork: Mapping[str, Any],
    network: Mapping[str, Any],
    effective: Mapping[str, Any],
    path: str,
) -> Iterator[Problem]:
    """Yield a network in which nodes do not hear each other: only between engines that wait it would show."""
    source = subnetwork["ipCidrRange"]
    found = ruling(network, effective, source, need.chosen)
    fabric = need.pool.gke_class.fabric
    # The second gVNIC of machines with RDMA carries nothing between engines.
    if fabric is None or fabric.kind == "RDMA" or (found and found.allows):
        return
    why = f"{found.rule} keeps out" if found else "no firewall rule lets in"
    yield _of_pool(
        need,
        f"{why} what comes from {source} in network {interface.network} of project {need.project}: nodes of "
        f"pool {need.pool.name} of cluster {need.pool.cluster} would not hear each other, and engines wait "
        "without a word",
        f"Have somebody run `gcloud compute firewall-rules create {interface.network}-between-gpus --project "
        f"{need.project} --network {interface.network} --allow tcp,udp,icmp --source-ranges {source}`",
        path,
        severity="warning",
    )


def _interface_of(need: InterfaceNeed) -> str:
    return f"an interface of nodes of pool {need.pool.name} of cluster {need.pool.cluster}"


def _of_pool(
    need: InterfaceNeed, what: str, next_step: str, path: str, *, severity: Severity = "error"
) -> Problem:
    return Problem(
        what,
        next_step,
        need.pool.path(path),
        kind="InferenceCluster",
        key=need.pool.cluster,
        severity=severity,
    )
