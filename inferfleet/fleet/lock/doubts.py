"""What is odd about a lock beside the documents of its stack: it is gone, or they are. And what is odd about
capacity.lock: pools that no document has, and days to come.
"""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from itertools import groupby

from inferfleet.documents.documents import Documents
from inferfleet.documents.problems import Problem, Where
from inferfleet.documents.wording import listing, shown
from inferfleet.fleet.lock.capacity import FILE, Seen
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.shapes import PoolKey


def doubts(documents: Documents, lock: Lock, *, file: str, exists: bool) -> Iterator[Problem]:
    """Yield warnings about a lock that does not exist, and about one whose deployments all have no document.

    Offline nobody knows whether a stack without a lock has run before, so its first plan warns too.
    """
    wanted = sum(deployment.spec.wanted for deployment in documents.deployments.values())
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


def doubted(documents: Documents, seen: Mapping[PoolKey, Seen], *, today: date) -> Iterator[Problem]:
    """Yield warnings about lines of capacity.lock: of pools that no document has, and of days to come."""
    pools = {
        name: {pool.name for pool in cluster.spec.node_pools} for name, cluster in documents.clusters.items()
    }
    unknown = sorted(key for key in seen if key[1] not in pools.get(key[0], ()))
    for cluster, keys in groupby(unknown, key=lambda key: key[0]):
        names = [name for _, name in keys]
        named = f"{'pool' if len(names) == 1 else 'pools'} {listing(names, 3)} of cluster {shown(cluster)}"
        lacks = "no such pool" if cluster in pools else "no document"
        what = f"{FILE} has {named}, which has {lacks}"
        step = "Correct the name, or run inferfleet capacity --write, which drops the line"
        yield Problem(what, step, where=seen[cluster, names[0]].where, severity="warning")
    # Where the day begins first it is a day later than where it begins last.
    ahead = sorted((one.day, key) for key, one in seen.items() if one.day > today + timedelta(days=1))
    if ahead:
        day, key = ahead[-1]
        more = f", and {len(ahead) - 1} more after {today}" if len(ahead) > 1 else ""
        what = f"{FILE} has pool {'/'.join(key)} as of {day}, {(day - today).days} days ahead{more}"
        step = "Nobody can have seen that, and it would long not be old: run inferfleet capacity --write"
        yield Problem(what, step, where=seen[key].where, severity="warning")
