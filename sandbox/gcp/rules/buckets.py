"""Buckets and the members of their policies: what Google fills in and refuses, and what it lets pods do."""

import re
from collections.abc import Iterator
from typing import Any

from sandbox.gcp.rules.accounts import fill_member, refuse_member
from sandbox.gcp.rules.errors import ApiError, bad_request, not_found
from sandbox.gcp.rules.names import numeric_id
from sandbox.gcp.store import BUCKET_MEMBER, Record, Records

Values = dict[str, Any]
BUCKET = "gcp:storage/bucket:Bucket"
# https://docs.cloud.google.com/storage/docs/buckets#naming
_NAME = re.compile(r"(?!goog)(?!.*google)[a-z0-9][-_a-z0-9]{1,61}[a-z0-9]")
_READS = "roles/storage.objectViewer"
_WRITES = "roles/storage.objectUser"
_POOL = "iam.googleapis.com/projects/{number}/locations/global/workloadIdentityPools/{project}.svc.id.goog"


def project_number(project: str) -> int:
    """Return the number of a project, always the same for its ID."""
    return int(numeric_id(project)[:12])


def fill_bucket(state: Values, resource_id: str) -> Values:
    """Return the state of a bucket with what Google adds."""
    return {
        "uniformBucketLevelAccess": False,
        "publicAccessPrevention": "inherited",
        **state,
        "projectNumber": project_number(state["project"]),
        "selfLink": f"https://www.googleapis.com/storage/v1/b/{resource_id}",
        "url": f"gs://{resource_id}",
    }


def check_bucket(state: Values, records: Records, resource_id: str) -> None:
    """Raise ApiError for a bucket that Google refuses."""
    if not _NAME.fullmatch(state["name"]):
        raise ApiError(400, f"Invalid bucket name: '{state['name']}'", "invalid")


def fill_bucket_member(state: Values, resource_id: str) -> Values:
    """Return the state of a member of a bucket's policy, whose bucket Google names by `b/`."""
    return {**fill_member(state, resource_id), "bucket": f"b/{bucket_name(state)}"}


def check_bucket_member(state: Values, records: Records, resource_id: str) -> None:
    """Raise ApiError for a member that Google refuses: of no bucket, or in no pool of identities."""
    if bucket_name(state) not in records:
        raise not_found(bucket_name(state))
    refuse_member(state, records)
    pool = re.fullmatch(
        r"principal(?:Set)?://iam\.googleapis\.com/projects/([^/]+)/locations/global/"
        r"workloadIdentityPools/([^/]+)\.svc\.id\.goog/.+",
        state["member"],
    )
    if pool and pool[1] != str(project_number(pool[2])):
        raise bad_request(f"Identity Pool does not exist ({pool[1]}, {pool[2]}.svc.id.goog)")


def bucket_name(state: Values) -> str:
    """Return the name of the bucket that a member is of."""
    return str(state["bucket"]).removeprefix("b/")


def may(records: Records, bucket: str, *, namespace: str, account: str, writes: bool) -> bool:
    """Return whether pods of a ServiceAccount may read, or write, a bucket that the cloud has."""
    project = str(records[bucket].state["project"])
    pool = _POOL.format(number=project_number(project), project=project)
    members = {
        f"principalSet://{pool}/namespace/{namespace}",
        f"principal://{pool}/subject/ns/{namespace}/sa/{account}",
    }
    roles = {each.state["role"] for each in _members(records, bucket) if each.state["member"] in members}
    return _WRITES in roles or (not writes and _READS in roles)


def _members(records: Records, bucket: str) -> Iterator[Record]:
    for record in records.values():
        if record.token == BUCKET_MEMBER and bucket_name(record.state) == bucket:
            yield record
