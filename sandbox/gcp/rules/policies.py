"""Constraints of an organisation, which refuse clusters and pools that do not have what they ask for.

The one of load balancers refuses none of these: it is what their gateways meet.

https://docs.cloud.google.com/organization-policy/reference/org-policy-constraints; words of refusals:
https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/1021 (Shielded VMs) and
https://github.com/GoogleCloudPlatform/kubernetes-engine-samples/issues/143 (load balancers).
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.gcp.rules.errors import ApiError
from sandbox.gcp.store import CLUSTER

Values = Mapping[str, Any]


def refuse_policies(enforced: Collection[str], token: str, state: Values) -> None:
    """Raise ApiError for the first enforced constraint that a new cluster or pool violates.

    The nodes of a cluster are those of its default pool, which is made with it whether it is removed or not.
    """
    for constraint in enforced:
        for why in CONSTRAINTS[constraint].refused(token, state):
            message = (
                f"Constraint constraints/{constraint} violated for project {state['project']}. {why} See "
                "https://cloud.google.com/resource-manager/docs/organization-policy/org-policy-constraints "
                "for more information."
            )
            raise ApiError(412, message, "conditionNotMet")


def _unshielded(_: str, state: Values) -> Iterator[str]:
    shielded = state.get("nodeConfig", {}).get("shieldedInstanceConfig") or {}
    if not shielded.get("enableSecureBoot"):
        yield "Secure Boot is not enabled in the 'shielded_instance_config' field."


def _without_keys(token: str, state: Values) -> Iterator[str]:
    encryption = state.get("databaseEncryption") or {}
    if token == CLUSTER and encryption.get("state") != "ENCRYPTED":
        yield "A CMEK key is required for the database of the cluster, in the 'database_encryption' field."
    if not state.get("nodeConfig", {}).get("bootDiskKmsKey"):
        yield "A CMEK key is required for boot disks, in the 'boot_disk_kms_key' field."


def _public(token: str, state: Values) -> Iterator[str]:
    private = (state.get("privateClusterConfig") or {}).get("enablePrivateNodes")
    if token == CLUSTER and not private:
        yield "Add the instances of its nodes to the constraint to use external IP with it."


def _nothing(_: str, __: Values) -> Iterator[str]:
    yield from ()


@dataclass(frozen=True)
class Constraint:
    """What is wrong with a new cluster or pool, and the rules of the policy that is in force, and of none."""

    refused: Callable[[str, Values], Iterator[str]]
    rule: Values
    without: Values


def effective_policy(enforced: Collection[str], project: str, constraint: str) -> dict[str, Any] | None:
    """Return the policy of a constraint as Google answers it; None for a constraint that does not exist."""
    if constraint not in CONSTRAINTS:
        return None
    known = CONSTRAINTS[constraint]
    rule = known.rule if constraint in enforced else known.without
    return {"name": f"projects/{project}/policies/{constraint}", "spec": {"rules": [dict(rule)]}}


LOAD_BALANCERS = "compute.restrictLoadBalancerCreationForTypes"
# Types of load balancers from outside, by class of gateway. .../load-balancing/docs/org-policy-constraints
_EXTERNAL = {
    "gke-l7-regional-external-managed": "EXTERNAL_MANAGED_HTTP_HTTPS",
    "gke-l7-global-external-managed": "GLOBAL_EXTERNAL_MANAGED_HTTP_HTTPS",
}


def refused_gateway(enforced: Collection[str], class_name: str, project: str, region: str) -> str:
    """Return why Gateways of a class get no load balancer in a cluster of the project; "" where they do.

    Google names the forwarding rule, which begins with the same letters for every Gateway.
    """
    if LOAD_BALANCERS not in enforced or class_name not in _EXTERNAL:
        return ""
    place = "global" if "global" in class_name else f"regions/{region}"
    return (
        "error cause: gceSync: generic::failed_precondition: Insert: Constraint "
        f"constraints/{LOAD_BALANCERS} violated for projects/{project}. Forwarding Rule "
        f"projects/{project}/{place}/forwardingRules/gkegw1 of type {_EXTERNAL[class_name]} is not allowed."
    )


_ALL = {"allowAll": True}
_SERVICES = ["is:compute.googleapis.com", "is:container.googleapis.com"]
CONSTRAINTS: Mapping[str, Constraint] = {
    "compute.requireShieldedVm": Constraint(_unshielded, {"enforce": True}, {"enforce": False}),
    LOAD_BALANCERS: Constraint(_nothing, {"values": {"deniedValues": ["in:EXTERNAL"]}}, _ALL),
    "compute.vmExternalIpAccess": Constraint(_public, {"denyAll": True}, _ALL),
    "gcp.restrictNonCmekServices": Constraint(_without_keys, {"values": {"deniedValues": _SERVICES}}, _ALL),
}
