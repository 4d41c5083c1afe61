"""The ID under which Google's provider reads a resource that nobody has the answer of, from its inputs.

These are the forms of the section "Import" on each resource's page:
https://www.pulumi.com/registry/packages/gcp/api-docs/
"""

from collections.abc import Mapping
from typing import Any

from inferfleet.cloud.gke import names as cloud_names
from inferfleet.cloud.gke.facts.schema import CLUSTER, NODE_POOL
from inferfleet.cloud.gke.settings.accounts import ACCOUNT, MEMBER
from inferfleet.cloud.gke.settings.network import FIREWALL, NETWORK, ROUTER, ROUTER_NAT, SUBNETWORK
from inferfleet.cloud.gke.settings.pools import RESOURCE_POLICY

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
}


def cloud_id(token: str, inputs: Mapping[str, Any]) -> str | None:
    """Return the ID of a resource with these inputs.

    None for a type that this program does not create, and where an input that the ID needs is no text.
    """
    known = {name: value for name, value in inputs.items() if isinstance(value, str)}
    if "accountId" in known and "project" in known:
        known["email"] = cloud_names.account_email(known["accountId"], known["project"])
    try:
        return _FORMS[token].format_map(known)
    except KeyError:
        return None
