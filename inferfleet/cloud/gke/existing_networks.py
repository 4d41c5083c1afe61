"""Networks that somebody else keeps: whether their subnetworks have what a cluster that is to come needs.

How many of their addresses others have taken Google does not say, so sizes are compared as if none were.

https://docs.cloud.google.com/compute/docs/reference/rest/v1/subnetworks/get
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from inferfleet.cloud.gke.described import described_clusters
from inferfleet.cloud.gke.facts.sources import PRIVATE_ACCESS, SUBNETS
from inferfleet.cloud.gke.settings.addresses import Nodes, in_words, nodes_of, pods_shortage
from inferfleet.cloud.values import CloudCluster
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.gke import ExistingNetwork
from inferfleet.documents.problems import Problem, Severity
from inferfleet.documents.wording import listing

_PATH = "spec.cluster.gke.network.existing"
# The first two and the last two of a primary range (SUBNETS).
_RESERVED = 4


@dataclass(frozen=True)
class SubnetworkNeed:
    """A cluster that is to come into a subnetwork of somebody else, in `project` and its region."""

    cluster: str
    project: str
    region: str
    existing: ExistingNetwork
    private_nodes: bool
    fixed: Nodes
    """Pools of fixed size."""
    most: Nodes
    """All pools at their maxima, the system pool among them."""


def subnetwork_needs(documents: Documents, clusters: Iterable[CloudCluster]) -> tuple[SubnetworkNeed, ...]:
    """Return what those of the clusters need that are to come into existing networks."""
    described = described_clusters(documents)
    needs = []
    for cloud in clusters:
        cluster = described[cloud.cluster]
        if existing := cluster.gke.network.existing:
            system = cloud.resource(cloud.system_key).inputs["autoscaling"]["totalMaxNodeCount"]
            project, private = existing.project or cloud.project, cluster.gke.private_nodes
            need = SubnetworkNeed(
                cloud.cluster, project, cloud.region, existing, private, *nodes_of(cluster, system)
            )
            needs.append(need)
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
        (need.fixed, "error", "its pools of fixed size are"),
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


def _problem(
    need: SubnetworkNeed, what: str, next_step: str, field: str, *, severity: Severity = "error"
) -> Problem:
    return Problem(
        what, next_step, f"{_PATH}.{field}", kind="InferenceCluster", key=need.cluster, severity=severity
    )
