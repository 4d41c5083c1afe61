"""The service account of a GKE cluster's nodes: one of their own, with as few roles as nodes need."""

from inferfleet.cloud.gke import names as cloud_names
from inferfleet.cloud.gke.pool import GkeCluster
from inferfleet.cloud.values import CloudResource
from inferfleet.tables.gke import NODE_ROLES

ACCOUNT = "gcp:serviceaccount/account:Account"
MEMBER = "gcp:projects/iAMMember:IAMMember"


def accounts(cluster: GkeCluster) -> tuple[CloudResource, ...]:
    """Return the service account, then its roles on the project."""
    account = CloudResource(
        ACCOUNT,
        cloud_names.cloud_resource(cluster.name, "nodes"),
        {
            "accountId": cloud_names.node_account(cluster.name, stack=cluster.stack),
            "displayName": f"Nodes of {cluster.name} ({cluster.stack})"[:100],
            "project": cluster.gke.project,
        },
    )
    roles = (
        CloudResource(
            MEMBER,
            cloud_names.cloud_resource(cluster.name, f"nodes/{role.rpartition('/')[2]}"),
            {
                "member": f"serviceAccount:{cluster.account}",
                "project": cluster.gke.project,
                "role": role,
            },
            after=(account.key,),
        )
        for role in NODE_ROLES
    )
    return (account, *roles)
