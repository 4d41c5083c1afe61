"""A pool of a cluster that the stack creates, setting by setting, as text and as values for machines."""

import json
from typing import Any

from inferfleet.cli.output import print_line
from inferfleet.cli.show.tables import print_table
from inferfleet.cloud.provider import provider_of
from inferfleet.cloud.values import CloudCluster, Setting
from inferfleet.desired.values import Desired

# For settings that no document decides.
OURS = "inferfleet"


def clouds(desired: Desired) -> dict[str, CloudCluster]:
    """Return the cluster of every pool that the stack creates, by `cluster/pool`."""
    created = [cluster.connection.cloud for cluster in desired.clusters if cluster.connection.cloud]
    return {f"{cloud.cluster}/{pool}": cloud for cloud in created for pool in cloud.pools}


def show(key: str, cloud: CloudCluster) -> None:
    """Print whose pool it is, and for each setting the field behind it and what another value would do."""
    name = key.partition("/")[2]
    pool = cloud.pools[name]
    place = f"{pool.name} in {cloud.project}/{cloud.region}"
    print_line(f"pool {key}: {place}, class {pool.class_name}")
    print_line()
    rows = [
        (setting.path, _shown(setting.value), *_why(setting))
        for setting in provider_of(cloud).settings(cloud, name)
    ]
    print_table("settings", ("setting", "value", "from", "another value"), rows)


def as_values(key: str, cloud: CloudCluster) -> dict[str, Any]:
    """Return the same facts, serialisable as JSON."""
    name = key.partition("/")[2]
    pool = cloud.pools[name]
    return {
        "pool": key,
        "name": pool.name,
        "project": cloud.project,
        "region": cloud.region,
        "class": pool.class_name,
        "settings": [
            {
                "path": setting.path,
                "value": setting.value,
                "fields": list(setting.names),
                "effect": setting.effect,
            }
            for setting in provider_of(cloud).settings(cloud, name)
        ],
    }


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _why(setting: Setting) -> tuple[str, str]:
    return (", ".join(setting.names), str(setting.effect)) if setting.effect else (OURS, "")
