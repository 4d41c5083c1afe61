"""Which of Google's APIs and permissions an update needs, by the types of resources that it makes.

That a role has its permission was looked up for each row in Google's definitions of roles, as
https://github.com/iann0036/iam-dataset/tree/main/gcp/roles had them on 2026-08-22. `source` says where a
request is said to need the permission; "" where that was not looked up, and its name is all there is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from inferfleet.cloud.gke.facts.schema import BUCKET, BUCKET_MEMBER


@dataclass(frozen=True)
class Permission:
    """A permission on a project, what it is for, a role of Google's that has it, and its source."""

    name: str
    of: str
    role: str
    source: str = ""


CONTAINER_API = "container.googleapis.com"
COMPUTE_API = "compute.googleapis.com"
IAM_API = "iam.googleapis.com"
# Roles of service accounts are set with it: without it an IAMMember answers 403.
PROJECTS_API = "cloudresourcemanager.googleapis.com"
# Regional gateways are made with it (as generally known, not looked up).
NETWORK_SERVICES_API = "networkservices.googleapis.com"
# Cloud Storage's, of weights in buckets.
STORAGE_API = "storage.googleapis.com"
ALWAYS = (CONTAINER_API, COMPUTE_API, IAM_API, PROJECTS_API)

_ADMIN, _NETWORKS = "roles/container.admin", "roles/compute.networkAdmin"
_STORAGE = "roles/storage.admin"
_READING = (
    Permission("compute.regions.get", "quotas", "roles/compute.viewer"),
    Permission("compute.machineTypes.get", "machine types of zones", "roles/compute.viewer"),
    # `container.clusterViewer` lacks it.
    Permission("container.pods.list", "status and previews", "roles/container.viewer"),
)
_BY_TYPE: Mapping[str, tuple[Permission, ...]] = {
    "gcp:compute/network:Network": (Permission("compute.networks.create", "networks", _NETWORKS),),
    "gcp:compute/subnetwork:Subnetwork": (
        Permission("compute.subnetworks.create", "subnetworks", _NETWORKS),
    ),
    "gcp:compute/router:Router": (Permission("compute.routers.create", "routers", _NETWORKS),),
    "gcp:compute/routerNat:RouterNat": (Permission("compute.routers.update", "NAT", _NETWORKS),),
    "gcp:compute/firewall:Firewall": (
        Permission(
            "compute.firewalls.create", "firewalls of GPUDirect networks", "roles/compute.securityAdmin"
        ),
    ),
    "gcp:compute/resourcePolicy:ResourcePolicy": (
        Permission(
            "compute.resourcePolicies.create",
            "placement policies of pools",
            "roles/compute.instanceAdmin.v1",
            "docs.cloud.google.com/compute/docs/instances/use-compact-placement-policies (2026-11-24)",
        ),
    ),
    "gcp:container/cluster:Cluster": (
        Permission("container.clusters.create", "clusters", _ADMIN),
        Permission("container.clusters.get", "clusters", _ADMIN),
        Permission("container.clusters.update", "clusters and node pools", _ADMIN),
        Permission("container.clusters.delete", "clusters", _ADMIN),
        Permission("container.operations.get", "waiting for clusters", _ADMIN),
        Permission("container.deployments.create", "objects inside clusters", _ADMIN),
        Permission("iam.serviceAccounts.actAs", "accounts of nodes", "roles/iam.serviceAccountUser"),
    ),
    "gcp:serviceaccount/account:Account": (
        Permission("iam.serviceAccounts.create", "accounts of nodes", "roles/iam.serviceAccountAdmin"),
    ),
    "gcp:projects/iAMMember:IAMMember": (
        Permission(
            "resourcemanager.projects.getIamPolicy", "roles of nodes", "roles/resourcemanager.projectIamAdmin"
        ),
        Permission(
            "resourcemanager.projects.setIamPolicy", "roles of nodes", "roles/resourcemanager.projectIamAdmin"
        ),
    ),
    BUCKET: (
        Permission(
            "storage.buckets.create",
            "buckets of weights",
            _STORAGE,
            "docs.cloud.google.com/storage/docs/access-control/iam-permissions",
        ),
        Permission("storage.buckets.get", "buckets of weights", _STORAGE),
        Permission("storage.buckets.update", "buckets of weights", _STORAGE),
    ),
    BUCKET_MEMBER: (
        Permission("storage.buckets.getIamPolicy", "roles of pods on buckets", _STORAGE),
        Permission("storage.buckets.setIamPolicy", "roles of pods on buckets", _STORAGE),
    ),
}


# Google asks for it before a request reaches a cluster: rights inside of the cluster do not replace it.
_BY_DNS = Permission(
    "container.clusters.connect",
    "requests to clusters by their DNS endpoint",
    "roles/container.viewer",
    "https://github.com/gravitational/teleport/pull/54923 (2025-05-19)",
)


# On the host project of a Shared VPC, or on the subnetwork alone.
SHARED_SUBNETWORK = Permission(
    "compute.subnetworks.use", "clusters in its subnetworks", "roles/compute.networkUser"
)
# Roles of Google's accounts on the host project; `{number}` is that of the cluster's project. As
# https://github.com/GoogleCloudPlatform/cloud-foundation-fabric/blob/master/modules/project/
# sharedvpc-agent-iam.yaml has them from https://cloud.google.com/kubernetes-engine/docs/how-to/
# cluster-shared-vpc, 2026-11-24. It has compute.securityAdmin too, "to manage firewall rules".
_GKE = "service-{number}@container-engine-robot.iam.gserviceaccount.com"
HOST_ROLES: tuple[tuple[str, str], ...] = (
    (_GKE, "roles/container.hostServiceAgentUser"),
    (_GKE, "roles/compute.networkUser"),
    ("{number}@cloudservices.gserviceaccount.com", "roles/compute.networkUser"),
)


def host_commands(project: str, host: str) -> tuple[str, ...]:
    """Return the commands that let Google's accounts make clusters of `project` in subnetworks of `host`."""
    number = f"$(gcloud projects describe {project} --format 'value(projectNumber)')"
    return tuple(
        f'gcloud projects add-iam-policy-binding {host} --member "serviceAccount:'
        f'{account.format(number=number)}" --role {role}'
        for account, role in HOST_ROLES
    )


def permissions(types: Iterable[str], *, endpoints: Iterable[str]) -> tuple[Permission, ...]:
    """Return the IAM permissions that are needed to make resources of these types, to look at them, and to
    reach clusters by these endpoints (`DNS` or `IP`); each once.
    """
    all_permissions = (permission for token in sorted(set(types)) for permission in _BY_TYPE.get(token, ()))
    reached = (_BY_DNS,) if "DNS" in endpoints else ()
    return tuple(dict.fromkeys((*_READING, *reached, *all_permissions)))


def apis(gateway_classes: Iterable[str | None], types: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the APIs for resources of these types, and for clusters whose gateways are of these classes."""
    regional = any(name and name.startswith("gke-l7-r") for name in gateway_classes)
    return (
        *ALWAYS,
        *((NETWORK_SERVICES_API,) if regional else ()),
        *((STORAGE_API,) if BUCKET in types else ()),
    )
