"""Every name, label and ID in Google Cloud that is derived: those of clusters, networks, pools, accounts.

Names are state: one that changes replaces what runs. IDs are those under which Google's provider reads a
resource that nobody has the answer of, in the forms of the section "Import" on each resource's page:
https://www.pulumi.com/registry/packages/gcp/api-docs/
"""

from collections.abc import Mapping
from typing import Any

from inferfleet.cloud.gke.facts.schema import (
    ACCOUNT,
    BUCKET,
    BUCKET_MEMBER,
    CLUSTER,
    FIREWALL,
    MEMBER,
    NETWORK,
    NODE_POOL,
    RESOURCE_POLICY,
    ROUTER,
    ROUTER_NAT,
    SUBNETWORK,
)
from inferfleet.fleet.names import MANAGER, short_hash

_CLUSTER = "projects/{project}/locations/{location}/clusters/{%s}"
_REGIONAL = "projects/{project}/regions/{region}/%s/{name}"
_FORMS: Mapping[str, str] = {
    CLUSTER: _CLUSTER % "name",
    NODE_POOL: f"{_CLUSTER % 'cluster'}/nodePools/{{name}}",
    NETWORK: "projects/{project}/global/networks/{name}",
    FIREWALL: "projects/{project}/global/firewalls/{name}",
    SUBNETWORK: _REGIONAL % "subnetworks",
    ROUTER: _REGIONAL % "routers",
    RESOURCE_POLICY: _REGIONAL % "resourcePolicies",
    ROUTER_NAT: "{project}/{region}/{router}/{name}",
    ACCOUNT: "projects/{project}/serviceAccounts/{email}",
    MEMBER: "{project} {role} {member}",
    BUCKET: "{project}/{name}",
    BUCKET_MEMBER: "b/{bucket} {role} {member}",
}


def gke_cluster(cluster: str, *, stack: str, project: str, region: str) -> str:
    """Return the name in Google Cloud of a cluster that the stack creates, at most 31 characters.

    In another project or region it has another name, and so have its networks: the old ones use the same
    addresses and cannot be deleted before their cluster, so they exist beside the new ones for a while.
    """
    return f"{cluster}-{short_hash(6, stack, project, region)}"


def gke_part(cloud_name: str, part: str) -> str:
    """Return the name of a network, subnetwork, router or policy of the GKE cluster with that cloud name."""
    return f"{cloud_name}-{part}"


def gke_pool(pool: str, digest: str) -> str:
    """Return a node pool's name in Google Cloud, also its pool label; `digest` is that of its settings."""
    return f"{pool}-{digest}"


def gke_identity(project: str, region: str, cloud_name: str) -> str:
    """Return what `existing_identity` is for a GKE cluster: another project or region is another cluster."""
    return f"gke/{project}/{region}/{cloud_name}"


def node_account(cluster: str, *, stack: str) -> str:
    """Return the ID of the service account of a GKE cluster's nodes (Google takes 6 to 30 characters)."""
    return f"if-{short_hash(12, stack, cluster)}"


def own_bucket(namespace: str, *, stack: str, project: str, region: str) -> str:
    """Return the name of the bucket of a namespace's weights in a region: all buckets of Google's customers
    share their names, and a project is one of them.
    """
    return f"weights-{short_hash(16, stack, project, region, namespace)}"


def bucket_resource(namespace: str, *, project: str, region: str) -> str:
    """Return the Pulumi name of such a bucket; no cluster's name has a colon, so no other begins like it."""
    return f"weights:{project}/{region}/{namespace}"


def account_email(account: str, project: str) -> str:
    """Return the e-mail address of a service account. A project `acme.com:ml` has its domain at the end."""
    domain, _, name = project.rpartition(":")
    return f"{account}@{name}{'.' if domain else ''}{domain}.iam.gserviceaccount.com"


def cloud_resource(cluster: str, part: str) -> str:
    """Return the Pulumi name of a resource of a GKE cluster; kinds differ by the type in their URN."""
    return f"{cluster}/{part}"


def cloud_labels(stack: str, *, cluster: str | None) -> dict[str, str]:
    """Return the labels of resources in Google Cloud, which allows fewer characters than Kubernetes.

    Some are of no cluster (None).
    """
    return {
        "managed-by": MANAGER,
        **({f"{MANAGER}-cluster": cluster} if cluster else {}),
        f"{MANAGER}-stack": stack.lower().replace(".", "-"),
    }


def import_id(token: str, inputs: Mapping[str, Any]) -> str | None:
    """Return the ID of a resource with these inputs.

    None for a type that this program does not create, and where an input that the ID needs is no text.
    """
    texts = {name: value for name, value in inputs.items() if isinstance(value, str)}
    if "accountId" in texts and "project" in texts:
        texts["email"] = account_email(texts["accountId"], texts["project"])
    try:
        return _FORMS[token].format_map(texts)
    except KeyError:
        return None
