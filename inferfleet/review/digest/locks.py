"""Lines of placement.lock that somebody wrote otherwise, and that neither the base nor the plan makes so.

Moves are told with models. These lines move nothing, and decide what later updates recognize and refuse.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.fleet.lock.lock import Lock
from inferfleet.review.digest.texts import field_of
from inferfleet.review.digest.update import Update
from inferfleet.review.digest.values.written import Field

# A plan keeps the UID that it finds, so none makes another; of a cluster that exists it keeps the whole line.
_KEPT = "uid"
# Of a line that is gone these are shown: what its cluster is recognized by, and what protects it.
_SHOWN = ("source", _KEPT, "protected", "nodes", "name")
_Entries = Mapping[str, Mapping[str, Any]]


def lock_fields(update: Update) -> tuple[Field, ...]:
    """Return the fields of clusters and pools that differ from what the base leaves behind, sorted.

    A cluster that is created, replaced or removed is told as that.
    """
    before, now, planned = map(_entries, (update.lock, update.head.lock, update.head.desired.plan.lock))
    whole = {f"clusters.{change.cluster}" for change in update.desired.cloud_changes if not change.pool}
    whole |= {f"pools.{change.cluster}/{change.pool}" for change in update.desired.cloud_changes}
    return tuple(
        made
        for line in sorted(before.keys() & planned.keys() - whole)
        for made in _of_line(line, before[line], now.get(line), planned[line])
    )


def _of_line(
    line: str, before: Mapping[str, Any], now: Mapping[str, Any] | None, planned: Mapping[str, Any]
) -> Iterator[Field]:
    if now is None:
        yield field_of(line, {key: before[key] for key in _SHOWN if before.get(key)}, None)
        return
    exists = planned.get("source") == "Existing"
    for key in sorted({*before, *now}):
        was, will = before.get(key), now.get(key)
        if was != will and (exists or key == _KEPT or will != planned.get(key)):
            yield field_of(f"{line}.{key}", was, will)


def _entries(lock: Lock) -> _Entries:
    """Return the lines of clusters and pools by section and name, without what is absent."""
    clusters = {
        f"clusters.{name}": {
            **cluster.settings,
            "source": cluster.source,
            _KEPT: cluster.uid,
            "protected": cluster.protected or None,
        }
        for name, cluster in lock.clusters.items()
    }
    pools: dict[str, dict[str, Any]] = {f"pools.{key}": {"nodes": nodes} for key, nodes in lock.nodes.items()}
    for key, pool in lock.pools.items():
        pools[f"pools.{key}"] |= {**pool.settings, "name": pool.name}
    return {**clusters, **pools}
