"""What is odd about a lock beside the documents of its stack: it is gone, or they are."""

from collections.abc import Iterator

from inferfleet.api.documents import Documents
from inferfleet.api.problems import Problem, Where
from inferfleet.api.wording import shown
from inferfleet.fleet.lock.lock import Lock


def doubts(documents: Documents, lock: Lock, *, file: str, exists: bool) -> Iterator[Problem]:
    """Yield warnings about a lock that does not exist, and about one whose deployments all have no document.

    Offline nobody knows whether a stack without a lock has run before, so its first plan warns too.
    """
    wanted = sum(deployment.spec.replicas for deployment in documents.deployments.values())
    if not exists and wanted:
        what = f"there is no {shown(file, 200)}, so all replicas are placed as if none ran yet"
        step = "Before the first update this is as it should be; else restore the file from version control"
        yield Problem(what, step, severity="warning")
    locked = {spot.deployment for spot in lock.placements}
    if locked and not locked & documents.deployments.keys():
        replicas = sum(lock.placements.values())
        what = (
            f"no deployment in the lock has a document (of {len(locked):,}), so the next update ends "
            f"whatever runs (replicas: {replicas:,})"
        )
        step = "Restore their files, or see that inferfleet:documents names the right folder"
        where = min(lock.lines.values(), default=Where(file, 1))
        yield Problem(what, step, where=where, severity="warning")
