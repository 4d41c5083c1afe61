"""Service accounts and the members of IAM policies: what Google fills in and refuses."""

import re
from typing import Any

from sandbox.gcp.rules.errors import bad_request
from sandbox.gcp.rules.names import account_email, account_resource_id, numeric_id
from sandbox.gcp.store import Records

Values = dict[str, Any]
_ACCOUNT_ID = re.compile(r"[a-z]([-a-z0-9]{4,28}[a-z0-9])")
_ROLE = re.compile(r"(roles|(projects|organizations)/[^/]+/roles)/[A-Za-z0-9_.]+")
_MEMBER = re.compile(
    r"(user|serviceAccount|group|domain):.+|principal(Set)?://.+|allUsers|allAuthenticatedUsers|deleted:.+"
)


def fill_account(state: Values, resource_id: str) -> Values:
    """Return the state of a service account with its address and numeric ID."""
    email = account_email(state["project"], state["accountId"])
    return {
        **state,
        "email": email,
        "member": f"serviceAccount:{email}",
        "name": resource_id,
        "uniqueId": numeric_id(resource_id),
    }


def check_account(state: Values, records: Records, resource_id: str) -> None:
    """Raise ApiError for a service account that Google refuses."""
    if not _ACCOUNT_ID.fullmatch(state["accountId"]):
        raise bad_request(
            f"Invalid account ID {state['accountId']!r}: it must match {_ACCOUNT_ID.pattern}, "
            "6 to 30 characters"
        )


def fill_member(state: Values, resource_id: str) -> Values:
    """Return the state of an IAM member with the version tag of its policy."""
    return {**state, "etag": f"BwX{numeric_id(resource_id)[:8]}="}


def check_member(state: Values, records: Records, resource_id: str) -> None:
    """Raise ApiError for an IAM member that Google refuses."""
    refuse_member(state, records)


def refuse_member(state: Values, records: Records) -> None:
    """Raise ApiError for a member of any policy that Google refuses."""
    role, member = state["role"], state["member"]
    if not _ROLE.fullmatch(role):
        raise bad_request(f"Role {role} is not supported for this resource")
    if not _MEMBER.fullmatch(member):
        raise bad_request(f"The member {member} has an invalid format")
    member_type, _, email = member.partition(":")
    # Only addresses that end in a project's domain are accounts of this cloud.
    account = account_resource_id(email) if member_type == "serviceAccount" else None
    if account is not None and account not in records:
        raise bad_request(f"Service account {email} does not exist")
