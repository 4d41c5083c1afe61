"""Why a pool is as it is: each of its settings in Google Cloud, and the field of a document behind it."""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.cloud.gke.facts.change_table import fields_of
from inferfleet.cloud.gke.facts.create_only import is_create_only, recreates, without_places
from inferfleet.cloud.gke.facts.effects import Effect
from inferfleet.cloud.gke.facts.schema import NODE_POOL
from inferfleet.cloud.values import CloudCluster, Setting


def pool_settings(cluster: CloudCluster, pool: str) -> tuple[Setting, ...]:
    """Return every setting of a pool of the document, in the order of the NodePool's inputs."""
    inputs = cluster.pools[pool].resource.inputs
    return tuple(_setting(path, value) for path, value in _leaves(inputs))


def _setting(path: str, value: Any) -> Setting:
    rows = fields_of(f"NodePool.{without_places(path)}")
    effects = sorted({row.effect for row in rows}, key=list(Effect).index)
    # Of several fields behind a setting that may change in place, the mildest can do just that.
    lasting = is_create_only(NODE_POOL, without_places(path)) or recreates(path)
    return Setting(
        path,
        value,
        tuple(dict.fromkeys(row.name for row in rows)),
        (effects[-1] if lasting else effects[0]) if effects else None,
    )


def _leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{at}.{name}" if at else name)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{at}[{place}]")
    else:
        yield at, value
