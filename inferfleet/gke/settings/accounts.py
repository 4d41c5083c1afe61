"""Whom the nodes of a GKE cluster act as: an account of their own, with as few rights as nodes need."""

from inferfleet.api.kinds.gke_cluster import Gke
from inferfleet.fleet import names
from inferfleet.gke.values import CloudResource
from inferfleet.profiles.gke import NODE_ROLES

ACCOUNT = "gcp:serviceaccount/account:Account"
MEMBER = "gcp:projects/iAMMember:IAMMember"


def email(cluster: str, gke: Gke, *, stack: str) -> str:
    """The address of the account."""
    return names.account_email(names.node_account(cluster, stack=stack), gke.project)


def accounts(cluster: str, gke: Gke, *, stack: str) -> tuple[CloudResource, ...]:
    """The account, then its roles on the project."""
    account = CloudResource(
        ACCOUNT,
        names.cloud_resource(cluster, "nodes"),
        {
            "accountId": names.node_account(cluster, stack=stack),
            "displayName": f"Nodes of {cluster} ({stack})"[:100],
            "project": gke.project,
        },
    )
    roles = (
        CloudResource(
            MEMBER,
            names.cloud_resource(cluster, f"nodes/{role.rpartition('/')[2]}"),
            {
                "member": f"serviceAccount:{email(cluster, gke, stack=stack)}",
                "project": gke.project,
                "role": role,
            },
            after=(account.key,),
        )
        for role in NODE_ROLES
    )
    return (account, *roles)
