"""Service accounts and who may do what: what Google fills in and refuses."""

import re
from typing import Any

from sandbox.gcp.rules.errors import bad
from sandbox.gcp.rules.names import email
from sandbox.gcp.rules.networking import number
from sandbox.gcp.store import Records

Values = dict[str, Any]
_ACCOUNT = re.compile(r"[a-z]([-a-z0-9]{4,28}[a-z0-9])")
_ROLE = re.compile(r"(roles|(projects|organizations)/[^/]+/roles)/[A-Za-z0-9_.]+")
_MEMBER = re.compile(
    r"(user|serviceAccount|group|domain):.+|principal(Set)?://.+|allUsers|allAuthenticatedUsers|deleted:.+"
)


def fill_account(state: Values, own: str) -> Values:
    address = email(state["project"], state["accountId"])
    made = {"email": address, "member": f"serviceAccount:{address}", "name": own, "uniqueId": number(own)}
    return {**state, **made}


def check_account(state: Values, records: Records, own: str) -> None:
    if not _ACCOUNT.fullmatch(state["accountId"]):
        raise bad(
            f"Invalid account ID {state['accountId']!r}: it must match {_ACCOUNT.pattern}, 6 to 30 characters"
        )


def fill_member(state: Values, own: str) -> Values:
    return {**state, "etag": f"BwX{number(own)[:8]}="}


def check_member(state: Values, records: Records, own: str) -> None:
    role, member = state["role"], state["member"]
    if not _ROLE.fullmatch(role):
        raise bad(f"Role {role} is not supported for this resource")
    if not _MEMBER.fullmatch(member):
        raise bad(f"The member {member} has an invalid format")
    kind, _, address = member.partition(":")
    project = address.partition("@")[2].removesuffix(".iam.gserviceaccount.com")
    of_a_team = kind == "serviceAccount" and address.endswith(".iam.gserviceaccount.com")
    if of_a_team and f"projects/{project}/serviceAccounts/{address}" not in records:
        raise bad(f"Service account {address} does not exist")
