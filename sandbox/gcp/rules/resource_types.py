"""The resource types of the simulated cloud: the ID of each, what Google fills in and what it refuses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sandbox.gcp.rules import accounts, cluster, networking
from sandbox.gcp.rules.names import cluster_id, email, last
from sandbox.gcp.store import CLUSTER, POOL, Record, Records

Values = dict[str, Any]


def _nothing(state: Values, records: Records, own: str) -> None:
    """No rule besides the fields'."""


def _may_leave(record: Record, records: Records) -> None:
    """Nothing stands in its way."""


@dataclass(frozen=True)
class ResourceType:
    """`identity` is a pattern of the ID over the state, `fill(state, id)` adds what Google adds, `check`
    raises ApiError for what it refuses and `leave` for what it refuses to delete. `scoped` names the fields
    besides `project` that the provider's own settings fill in.
    """

    identity: str
    fill: Callable[[Values, str], Values]
    check: Callable[[Values, Records, str], None] = _nothing
    leave: Callable[[Record, Records], None] = _may_leave
    scoped: tuple[str, ...] = ()

    def id(self, state: Values) -> str:
        names = {name: value for name, value in state.items() if isinstance(value, str)}
        more = {"last_router": last(names.get("router", ""))}
        if "accountId" in names:
            more["email"] = email(names["project"], names["accountId"])
        if "cluster" in names:
            more["parent"] = cluster_id(names["project"], names.get("location", ""), names["cluster"])
        condition = state.get("condition") or {}
        more["condition"] = f"/{condition['title']}" if condition else ""
        return self.identity.format(**names, **more)


def _region(kind: str) -> str:
    return f"projects/{{project}}/regions/{{region}}/{kind}/{{name}}"


RESOURCE_TYPES: Mapping[str, ResourceType] = MappingProxyType(
    {
        networking.NETWORK: ResourceType(
            "projects/{project}/global/networks/{name}",
            networking.fill_network,
            networking.check_network,
            networking.leave_network,
        ),
        networking.SUBNETWORK: ResourceType(
            _region("subnetworks"),
            networking.fill_subnetwork,
            networking.check_subnetwork,
            networking.leave_subnetwork,
            scoped=("region",),
        ),
        networking.ROUTER: ResourceType(
            _region("routers"), networking.fill, networking.check_in_network, scoped=("region",)
        ),
        "gcp:compute/routerNat:RouterNat": ResourceType(
            "{project}/{region}/{last_router}/{name}",
            networking.fill_nat,
            networking.check_nat,
            scoped=("region",),
        ),
        networking.FIREWALL: ResourceType(
            "projects/{project}/global/firewalls/{name}",
            lambda state, own: {"direction": "INGRESS", "priority": 1000, **networking.fill(state, own)},
            networking.check_in_network,
        ),
        "gcp:compute/resourcePolicy:ResourcePolicy": ResourceType(
            _region("resourcePolicies"),
            networking.fill,
            networking.check_in_network,
            networking.leave_policy,
            scoped=("region",),
        ),
        "gcp:serviceaccount/account:Account": ResourceType(
            "projects/{project}/serviceAccounts/{email}", accounts.fill_account, accounts.check_account
        ),
        "gcp:projects/iAMMember:IAMMember": ResourceType(
            "{project}/{role}/{member}{condition}", accounts.fill_member, accounts.check_member
        ),
        CLUSTER: ResourceType(
            "projects/{project}/locations/{location}/clusters/{name}",
            cluster.fill_cluster,
            cluster.check_cluster,
            cluster.leave_cluster,
            scoped=("location",),
        ),
        # Rules and state of a pool need its cluster: container.py has them.
        POOL: ResourceType("{parent}/nodePools/{name}", lambda state, own: state, scoped=("location",)),
    }
)
