"""Constraints of an organisation, which refuse clusters and pools that do not have what they ask for.

https://docs.cloud.google.com/organization-policy/reference/org-policy-constraints; words of refusals:
https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/1021 (Shielded VMs).
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from sandbox.gcp.rules.errors import ApiError
from sandbox.gcp.store import CLUSTER

Values = Mapping[str, Any]


def refuse_policies(enforced: Collection[str], token: str, state: Values) -> None:
    """Raise ApiError for the first enforced constraint that a new cluster or pool violates.

    The nodes of a cluster are those of its default pool, which is made with it whether it is removed or not.
    """
    for constraint in enforced:
        for why in CONSTRAINTS[constraint](token, state):
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


# What is wrong with a new cluster or pool, by the constraint that refuses it.
CONSTRAINTS: Mapping[str, Callable[[str, Values], Iterator[str]]] = {
    "compute.requireShieldedVm": _unshielded,
    "gcp.restrictNonCmekServices": _without_keys,
}
