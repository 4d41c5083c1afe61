"""The resource types of the simulated cloud: the ID of each, what Google fills in and what it refuses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sandbox.gcp.rules import accounts, buckets, cluster, networking
from sandbox.gcp.rules.names import account_email, cluster_id, short_name
from sandbox.gcp.store import BUCKET_MEMBER, CLUSTER, IAM_MEMBER, POOL, Record, Records

Values = dict[str, Any]


def _accept(state: Values, records: Records, resource_id: str) -> None:
    """Accept every state that the provider's fields allow."""


def _allow_deletion(record: Record, records: Records) -> None:
    """Allow the deletion at any time."""


@dataclass(frozen=True)
class ResourceType:
    """What the cloud knows of one resource type.

    `id_pattern` makes an ID of the state's values, `fill(state, id)` adds what Google adds, `check` raises
    ApiError for a state that Google refuses and `check_deletion` for a resource that it refuses to delete.
    `scoped` names the fields besides `project` that the provider's own settings fill in.
    """

    id_pattern: str
    fill: Callable[[Values, str], Values]
    check: Callable[[Values, Records, str], None] = _accept
    check_deletion: Callable[[Record, Records], None] = _allow_deletion
    scoped: tuple[str, ...] = ()

    def id(self, state: Values) -> str:
        """Return the ID of a resource with this state, as the real provider writes it."""
        texts = {name: value for name, value in state.items() if isinstance(value, str)}
        parts = {"router_name": short_name(texts.get("router", ""))}
        if "accountId" in texts:
            parts["email"] = account_email(texts["project"], texts["accountId"])
        if "cluster" in texts:
            parts["cluster_id"] = cluster_id(texts["project"], texts.get("location", ""), texts["cluster"])
        if "bucket" in texts:
            parts["bucket_name"] = buckets.bucket_name(texts)
        condition = state.get("condition") or {}
        parts["condition"] = f"/{condition['title']}" if condition else ""
        return self.id_pattern.format(**texts, **parts)


def _regional(collection: str) -> str:
    return f"projects/{{project}}/regions/{{region}}/{collection}/{{name}}"


RESOURCE_TYPES: Mapping[str, ResourceType] = MappingProxyType(
    {
        networking.NETWORK: ResourceType(
            "projects/{project}/global/networks/{name}",
            networking.fill_network,
            networking.check_network,
            networking.check_network_deletion,
        ),
        networking.SUBNETWORK: ResourceType(
            _regional("subnetworks"),
            networking.fill_subnetwork,
            networking.check_subnetwork,
            networking.check_subnetwork_deletion,
            scoped=("region",),
        ),
        networking.ROUTER: ResourceType(
            _regional("routers"), networking.fill_compute, networking.check_in_network, scoped=("region",)
        ),
        networking.NAT: ResourceType(
            "{project}/{region}/{router_name}/{name}",
            networking.fill_nat,
            networking.check_nat,
            scoped=("region",),
        ),
        networking.FIREWALL: ResourceType(
            "projects/{project}/global/firewalls/{name}",
            networking.fill_firewall,
            networking.check_in_network,
        ),
        "gcp:compute/resourcePolicy:ResourcePolicy": ResourceType(
            _regional("resourcePolicies"),
            networking.fill_compute,
            networking.check_in_network,
            networking.check_policy_deletion,
            scoped=("region",),
        ),
        "gcp:serviceaccount/account:Account": ResourceType(
            "projects/{project}/serviceAccounts/{email}", accounts.fill_account, accounts.check_account
        ),
        IAM_MEMBER: ResourceType(
            "{project}/{role}/{member}{condition}", accounts.fill_member, accounts.check_member
        ),
        buckets.BUCKET: ResourceType("{name}", buckets.fill_bucket, buckets.check_bucket),
        BUCKET_MEMBER: ResourceType(
            "b/{bucket_name}/{role}/{member}{condition}",
            buckets.fill_bucket_member,
            buckets.check_bucket_member,
        ),
        CLUSTER: ResourceType(
            "projects/{project}/locations/{location}/clusters/{name}",
            cluster.fill_cluster,
            cluster.check_cluster,
            cluster.check_cluster_deletion,
            scoped=("location",),
        ),
        # The rules and the state of a pool depend on its cluster; kubernetes_engine.py applies them.
        POOL: ResourceType(
            "{cluster_id}/nodePools/{name}", lambda state, resource_id: state, scoped=("location",)
        ),
    }
)
