"""Single entries of placement.lock as plain values. An entry that cannot be read raises ValueError."""

import re
from typing import Any

from inferfleet.documents.wording import shown
from inferfleet.fleet.lock.text import Entry, quoted, read_flow, unquoted
from inferfleet.fleet.spot import Spot

# The longest name that Kubernetes and Google take; those that a lock is written with are shorter.
_PART = r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?"
_KEY = re.compile(rf"^{_PART}/{_PART}$")
_NAME = re.compile(rf"^{_PART}$")
_SPOT = re.compile(rf"^({_PART}/{_PART})(?:@([0-9a-f]{{6}}))? ({_PART})((?: {_PART}={_PART})+)$")
_COUNT = re.compile(r"^[1-9][0-9]{0,4}$")
_LIST = re.compile(r"^\[(.*)\]$")


def cluster(entry: Entry) -> tuple[str, str | None, dict[str, Any], bool]:
    """Return source, UID, create-only settings and protection of a cluster; the entry's key is its name."""
    if not entry.value.startswith("{") or not _NAME.match(entry.key):
        raise ValueError(f"{_line(entry)} does not have the form 'east: {{source: Existing, uid: ...}}'")
    name, settings = shown(entry.key), read_flow(entry.value)
    source, uid = settings.pop("source", None), settings.pop("uid", None)
    if source not in ("Existing", "GKE"):
        raise ValueError(f"cluster {name} has source {quoted(source)}; it must be Existing or GKE")
    if uid is not None and not isinstance(uid, str):
        raise ValueError(
            f'cluster {name} has uid {quoted(uid)}, which must be text: write it in quotes "..."'
        )
    protected = settings.pop("protected", False) if source == "GKE" else False
    if not isinstance(protected, bool):
        raise ValueError(f"cluster {name} has protected {quoted(protected)}; it must be true or false")
    if source == "Existing" and settings:
        raise ValueError(
            f"cluster {name} has {shown(', '.join(settings))}; only a cluster of source GKE may have settings"
        )
    return source, uid, settings, protected


def pool(entry: Entry) -> tuple[int, str | None, dict[str, Any]]:
    """Return nodes, name in the cloud (None for a pool of an existing cluster) and create-only settings of a
    pool; the entry's key is `cluster/pool`.
    """
    if not entry.value.startswith("{") or not _KEY.match(entry.key):
        raise ValueError(f"{_line(entry)} does not have the form 'east/h100: {{nodes: 2, ...}}'")
    settings = read_flow(entry.value)
    nodes, name = settings.pop("nodes", None), settings.pop("name", None)
    if type(nodes) is not int or nodes < 0:
        raise ValueError(
            f"pool {shown(entry.key)} has nodes {quoted(nodes)}; it must be the number of nodes that it was "
            "planned with"
        )
    if name is None and settings:
        raise ValueError(
            f"pool {shown(entry.key)} has {shown(', '.join(settings))} and no name; only a pool that GKE has "
            "by a name may have settings"
        )
    if name is not None and (not isinstance(name, str) or not _NAME.match(name)):
        raise ValueError(
            f"pool {shown(entry.key)} has name {quoted(name)}; it must be a name such as h100-1a2b3c"
        )
    return nodes, name, settings


def placement(entry: Entry) -> tuple[Spot, int]:
    """Return a spot and its number of replicas."""
    read = _SPOT.match(entry.key)
    if not read:
        forms = "'ml/qwen3-coder east decode=h100' or 'ml/chat@3fa01c east decode=h100 prefill=l4'"
        raise ValueError(f"{quoted(entry.key)} does not have the form {forms}")
    pools = [tuple(pool.split("=")) for pool in read[4].split()]
    if len(dict(pools)) < len(pools):
        raise ValueError(f"{quoted(entry.key)} names a role twice")
    if not _COUNT.match(entry.value):
        raise ValueError(f"{quoted(entry.value)} is not a number of replicas (1 to 99999)")
    sorted_pools = tuple(sorted((role, pool) for role, pool in pools))
    return Spot(read[1], read[3], sorted_pools, read[2] or ""), int(entry.value)


def service(entry: Entry) -> tuple[str, ...]:
    """Return the clusters that have a route of the service, sorted."""
    read = _LIST.match(entry.value)
    names = [unquoted(name.strip()) for name in read[1].split(",")] if read else []
    if not _KEY.match(entry.key) or not names or not all(map(_NAME.match, names)):
        raise ValueError(f"{_line(entry)} does not have the form 'ml/coder: [dc1, east]'")
    if len(set(names)) < len(names):
        raise ValueError(f"service {shown(entry.key)} names a cluster twice: {shown(entry.value)}")
    return tuple(sorted(names))


def _line(entry: Entry) -> str:
    return quoted(f"{entry.key}: {entry.value}")
