"""Policies of an organisation that would refuse something of a cluster that is to come.

What they refuse of a cluster itself Google says in the first call of an update; of pools and gateways it says
it when nodes are billed already. So all of it is looked at before. The effective policies of a project are
asked, which have those of its folders and the organisation in them:
https://cloud.google.com/resource-manager/docs/reference/orgpolicy/rest/v2/projects.policies/getEffectivePolicy
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.cloud.gke.described import DescribedCluster, described_clusters
from inferfleet.cloud.gke.facts.schema import NODE_POOL
from inferfleet.cloud.gke.facts.sources import CMEK_POLICY, CONSTRAINTS, LOAD_BALANCER_POLICY
from inferfleet.cloud.values import CloudCluster
from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem, cluster_problem

SHIELDED = "compute.requireShieldedVm"
KEYS = "gcp.restrictNonCmekServices"
LOAD_BALANCERS = "compute.restrictLoadBalancerCreationForTypes"
PUBLIC_ADDRESSES = "compute.vmExternalIpAccess"
# Types of load balancers as the policy names them, by class of gateway, and the group of types that each is
# in (LOAD_BALANCER_POLICY).
_TYPES: Mapping[str, tuple[str, str]] = {
    "gke-l7-rilb": ("INTERNAL_HTTP_HTTPS", "in:INTERNAL"),
    "gke-l7-regional-external-managed": ("EXTERNAL_MANAGED_HTTP_HTTPS", "in:EXTERNAL"),
}


@dataclass(frozen=True)
class PolicyUse:
    """Something of a cluster that a policy of its project may refuse, and the problem where it does.

    `values` are what a policy of a list may call it; none for a policy that is enforced or not, and for
    machines, whose names nobody knows before they are there.
    """

    project: str
    constraint: str
    values: tuple[str, ...]
    problem: Problem


def policy_uses(documents: Documents, clusters: Iterable[CloudCluster]) -> tuple[PolicyUse, ...]:
    """Return what policies may refuse of the clusters. Of other policies nobody needs to ask."""
    described = described_clusters(documents)
    uses = [
        use
        for cloud in clusters
        for use in (
            *_without_secure_boot(described[cloud.cluster], cloud),
            *_without_keys(cloud),
            *_load_balancer(described[cloud.cluster], cloud),
            *_public_addresses(described[cloud.cluster], cloud),
        )
    ]
    return tuple(dict.fromkeys(uses))


def policy_problems(
    uses: Iterable[PolicyUse], answers: Mapping[tuple[str, str], Mapping[str, Any]]
) -> Iterator[Problem]:
    """Yield what the effective policies refuse. `answers` are Google's, by project and constraint."""
    for use in uses:
        answer = answers.get((use.project, use.constraint)) or {}
        rules = (answer.get("spec") or {}).get("rules") or ()
        if any(_refuses(rule, use.values) for rule in rules):
            yield use.problem


def _refuses(rule: Mapping[str, Any], values: tuple[str, ...]) -> bool:
    """Return whether a rule refuses something that has these names: enforced, or by its list.

    Values that are places in the organisation (`under:`) may be those of the project, so they let it pass.
    """
    if rule.get("enforce") or rule.get("denyAll"):
        return True
    listed = rule.get("values") or {}
    allowed = [str(value).removeprefix("is:") for value in listed.get("allowedValues") or ()]
    denied = [str(value).removeprefix("is:") for value in listed.get("deniedValues") or ()]
    if allowed and not any(value in values or value.startswith("under:") for value in allowed):
        return True
    return any(value in values for value in denied)


def _by(constraint: str, project: str) -> str:
    return f"policy {constraint} of project {project}"


def _except(constraint: str) -> str:
    return f"have somebody who keeps policies of the organisation except the project from {constraint}"


def _without_secure_boot(cluster: DescribedCluster, cloud: CloudCluster) -> Iterator[PolicyUse]:
    for name, pool in cloud.pools.items():
        shielded = pool.resource.inputs["nodeConfig"]["shieldedInstanceConfig"]
        if shielded["enableSecureBoot"]:
            continue
        gke_class = cluster.pool(name).gke_class
        problem = Problem(
            f"class {gke_class.name} has driver {gke_class.recipe.driver}, whose nodes have no Secure Boot, "
            f"so {_by(SHIELDED, cloud.project)} refuses pool {name} of cluster {cloud.cluster} "
            f"({CONSTRAINTS})",
            f"Write another driver, or {_except(SHIELDED)}",
            "spec.provisioning.gke.driver",
            kind="InferenceClass",
            key=gke_class.name,
        )
        yield PolicyUse(cloud.project, SHIELDED, (), problem)


def _without_keys(cloud: CloudCluster) -> Iterator[PolicyUse]:
    pools = [resource for resource in cloud.resources if resource.token == NODE_POOL]
    lacking = []
    if "databaseEncryption" not in cloud.resource(cloud.key).inputs:
        lacking.append(("container.googleapis.com", "databaseEncryption", "its database"))
    if not all(pool.inputs["nodeConfig"].get("bootDiskKmsKey") for pool in pools):
        lacking.append(("compute.googleapis.com", "bootDiskKmsKey", "boot disks of its nodes"))
    for service, field, what in lacking:
        problem = cluster_problem(
            cloud.cluster,
            f"cluster {cloud.cluster} names no key for {what}, so {_by(KEYS, cloud.project)} refuses it, "
            f"which has {service} in its list ({CMEK_POLICY})",
            f"Write {field}: projects/P/locations/{cloud.region}/keyRings/R/cryptoKeys/K",
            f"spec.cluster.gke.{field}",
        )
        yield PolicyUse(cloud.project, KEYS, (service,), problem)


def _load_balancer(cluster: DescribedCluster, cloud: CloudCluster) -> Iterator[PolicyUse]:
    class_name = cluster.document.spec.serving.gateway.class_name or ""
    if class_name not in _TYPES:
        return
    problem = cluster_problem(
        cloud.cluster,
        f"cluster {cloud.cluster} has a gateway of class {class_name}, a load balancer of type "
        f"{_TYPES[class_name][0]}, which {_by(LOAD_BALANCERS, cloud.project)} refuses: nodes would be billed "
        f"and nothing reached ({LOAD_BALANCER_POLICY})",
        f"Write another className, or {_except(LOAD_BALANCERS)}",
        "spec.serving.gateway.className",
    )
    yield PolicyUse(cloud.project, LOAD_BALANCERS, _TYPES[class_name], problem)


def _public_addresses(cluster: DescribedCluster, cloud: CloudCluster) -> Iterator[PolicyUse]:
    if cluster.gke.private_nodes:
        return
    problem = cluster_problem(
        cloud.cluster,
        f"nodes of cluster {cloud.cluster} have public addresses (privateNodes: false), which "
        f"{_by(PUBLIC_ADDRESSES, cloud.project)} refuses ({CONSTRAINTS})",
        f"Write privateNodes: true, or {_except(PUBLIC_ADDRESSES)}",
        "spec.cluster.gke.privateNodes",
    )
    yield PolicyUse(cloud.project, PUBLIC_ADDRESSES, (), problem)
