"""placement.lock: the placements in force, and what clusters and pools were planned and created with.

The file has one line for each entry, sorted, so that a diff lists the moves. There is no checksum: an edit by
hand that fits the documents is a move. Empty sections are left out.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_cluster import ClusterSource, NodePool
from inferfleet.documents.problems import InvalidDocuments, Problem, Where
from inferfleet.documents.wording import shown
from inferfleet.fleet.lock.capacity import Observation
from inferfleet.fleet.lock.text import (
    MOST_ENTRIES,
    MOST_PROBLEMS,
    RESTORE,
    Entry,
    entries,
    flow,
    quoted,
    read_flow,
    scalar,
    too_many,
    unquoted,
)
from inferfleet.fleet.shapes import PoolKey
from inferfleet.fleet.spot import Spot

VERSION = 1
# In the order of the file.
SECTIONS = ("clusters", "pools", "placements", "services")


@dataclass(frozen=True)
class LockedCluster:
    """What must not change unnoticed of a cluster."""

    source: str
    """`Existing` or `GKE`, as in the document of the cluster."""
    uid: str | None = None
    """UID of the namespace `kube-system`, by which a cluster is recognized; absent until it was reached."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """On GKE, what the cluster was created with and no update can change, by path in the provider's schema,
    and `block`, its range of addresses.
    """
    protected: bool = False
    """`true` on GKE while `deletionProtection` is on: nothing may delete or replace the cluster."""
    installed: Mapping[str, str] = field(default_factory=dict)
    """Versions of the add-ons that the stack has installed on the cluster, by their names."""


@dataclass(frozen=True)
class LockedPool:
    """A pool of a cluster. All have `nodes`; the other fields are of the node pool in Google Cloud that is
    behind a pool of the stack's own.
    """

    name: str
    """Name of the node pool in Google Cloud, which ends in a digest of the settings that cannot change in
    place.
    """
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the pool was created with, by path in the provider's schema, where another value replaces the pool
    or its nodes.
    """


@dataclass(frozen=True)
class Lock:
    """The placements in force in a stack, and what its clusters and pools were made with. Without the file it
    is empty.
    """

    stack: str = ""
    """Name of the stack; the lock of another stack is refused."""
    clusters: Mapping[str, LockedCluster] = field(default_factory=dict)
    """What must not change unnoticed of each cluster, by its name."""
    placements: Mapping[Spot, int] = field(default_factory=dict)
    """Number of replicas by place, the most where they are scaled, written `<namespace>/<deployment>
    <cluster> <role>=<pool>`. Where prefill is apart, the revision of what it exchanges with decode stands
    behind the deployment: `ml/chat@3fa01c east decode=h100 prefill=l4`.
    """
    services: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Clusters that have a route of the service, by `<namespace>/<service>`."""
    pools: Mapping[str, LockedPool] = field(default_factory=dict)
    """Pools, by `<cluster>/<pool>`, as they are in Google Cloud where they are node pools of the stack."""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """Number of nodes that the pool was planned with, the most of one that is autoscaled. Some replicas leave
    a pool that documents make smaller; one that is too small for another reason nobody leaves unasked.
    """
    lines: Mapping[str, Where] = field(default_factory=dict, compare=False)
    """Line of each entry in the file, by section and key (`pools/<cluster>/<pool>`); it is not written."""
    seen: Mapping[PoolKey, Observation] = field(default_factory=dict, compare=False)
    """What capacity.lock says of pools; it is not written."""
    gone: Mapping[PoolKey, NodePool] = field(default_factory=dict, compare=False)
    """Pools that documents lack because somebody asks what if they were lost; it is not written."""
    yielding: frozenset[str] = field(default=frozenset(), compare=False)
    """Deployments of which somebody lets replicas leave pools that do not hold them; it is not written."""

    def runs(self, spot: Spot) -> bool:
        """Return whether workloads of the spot run: those of a role stay when others are added or removed."""
        return spot in self.placements or any(
            (locked.deployment, locked.cluster, locked.revision)
            == (spot.deployment, spot.cluster, spot.revision)
            and not set(locked.pools).isdisjoint(spot.pools)
            for locked in self.placements
        )


def matches(old: Lock, new: Lock) -> bool:
    """Return True when two locks agree. A UID that only one of them knows makes no difference."""
    return (
        old.stack == new.stack
        and old.placements == new.placements
        and old.services == new.services
        and old.pools == new.pools
        and old.nodes == new.nodes
        and old.clusters.keys() == new.clusters.keys()
        and all(_same(old.clusters[name], new.clusters[name]) for name in old.clusters)
    )


def _same(old: LockedCluster, new: LockedCluster) -> bool:
    unknown = old.uid is None or new.uid is None
    return replace(old, uid=None if unknown else old.uid) == replace(new, uid=None if unknown else new.uid)


# Writing it.


def text(lock: Lock) -> str:
    """Return the content of the file: YAML in exactly one form, without empty sections."""
    lines_of_lock = [f"version: {VERSION}", f"stack: {scalar(lock.stack)}"]
    for section, lines in (
        (
            "clusters",
            [f"  {scalar(name)}: {_cluster(lock.clusters[name])}" for name in sorted(lock.clusters)],
        ),
        ("pools", [f"  {key}: {_pool(lock, key)}" for key in sorted({*lock.nodes, *lock.pools})]),
        ("placements", [f"  {spot}: {replicas}" for spot, replicas in sorted(lock.placements.items())]),
        (
            "services",
            [
                f"  {name}: [{', '.join(map(scalar, clusters))}]"
                for name, clusters in sorted(lock.services.items())
            ],
        ),
    ):
        lines_of_lock += [f"{section}:", *lines] if lines else []
    return "\n".join(lines_of_lock) + "\n"


def _cluster(cluster: LockedCluster) -> str:
    fields: dict[str, Any] = {"source": cluster.source}
    fields |= {"uid": cluster.uid} if cluster.uid else {}
    fields |= {"protected": True} if cluster.protected else {}
    fields |= {"installed": dict(cluster.installed)} if cluster.installed else {}
    return flow(fields | dict(sorted(cluster.settings.items())))


def _pool(lock: Lock, key: str) -> str:
    fields: dict[str, Any] = {"nodes": lock.nodes[key]}
    if pool := lock.pools.get(key):
        fields |= {"name": pool.name, **dict(sorted(pool.settings.items()))}
    return flow(fields)


# Reading it. An entry that cannot be read raises ValueError, which becomes a problem with its line.


def parse(text: str | None, *, file: str, stack: str, options: str = "") -> Lock:
    """Return the lock of `stack` from the text of `file`; None (no file) is an empty lock.

    `options` are those by which commands find a Fleet in somebody's program.
    Raises InvalidDocuments with every problem: damage, duplicates, merge conflicts, another stack's lock.
    """
    if text is None:
        return Lock(stack=stack)
    listed, problems = entries(text, file, stack=stack, options=options)
    if listed:
        problems += _head_problems(
            [entry for entry in listed if not entry.section], file, stack, of_fleet=bool(options)
        )
    clusters: dict[str, LockedCluster] = {}
    pools: dict[str, LockedPool] = {}
    placements: dict[Spot, int] = {}
    services: dict[str, tuple[str, ...]] = {}
    nodes: dict[str, int] = {}
    line_by_entry: dict[str, Where] = {}
    for entry in listed:
        if entry.section not in SECTIONS:
            continue
        name = entry.key
        if len(problems) > MOST_PROBLEMS:
            problems.append(too_many(entry.where))
            break
        if len(line_by_entry) > MOST_ENTRIES:
            what = f"the lock has more than {MOST_ENTRIES:,} entries"
            problems.append(Problem(what, RESTORE, where=entry.where))
            break
        try:
            if entry.section == "clusters":
                clusters[name] = LockedCluster(*_read_cluster(entry))
            elif entry.section == "pools":
                nodes[name], of_cloud, settings = _read_pool(entry)
                if of_cloud is not None:
                    pools[name] = LockedPool(of_cloud, settings)
            elif entry.section == "placements":
                spot, replicas = _read_placement(entry)
                name, placements[spot] = str(spot), replicas
            else:
                services[name] = _read_service(entry)
        except ValueError as wrong:
            problems.append(Problem(str(wrong), RESTORE, where=entry.where))
            continue
        line = f"{entry.section}/{name}"
        if line in line_by_entry:
            twice = (
                f"{shown(name)} is listed twice in {entry.section}, first on line {line_by_entry[line].line}"
            )
            problems.append(Problem(twice, "Remove one of the two lines", where=entry.where))
        line_by_entry.setdefault(line, entry.where)
    if problems:
        raise InvalidDocuments(problems)
    return Lock(stack, clusters, placements, services, pools, nodes, line_by_entry)


def _head_problems(top: list[Entry], file: str, stack: str, *, of_fleet: bool) -> Iterator[Problem]:
    keys: set[str] = set()
    for entry in top:
        if entry.key in keys:
            what = f"the lock has {shown(entry.key)} twice"
            yield Problem(what, "Merge the two into one", where=entry.where)
        keys.add(entry.key)
        if entry.key == "version" and entry.value != str(VERSION):
            version = quoted(entry.value)
            what = f"the lock has version {version}, but this inferfleet reads version {VERSION} only"
            yield Problem(what, "Use the version of inferfleet that wrote it", where=entry.where)
        elif entry.key == "stack" and entry.value != stack:
            what = f"this is the lock of stack {quoted(entry.value)}, not of {stack!r}"
            step = "Use the lock of this stack; after a rename, change this line"
            if of_fleet:
                before = shown(entry.value.rpartition(".")[2])
                step = (
                    f"Use the lock of this Fleet, or name the Fleet {before!r} again: under another name it "
                    "is another Fleet, whose update makes all anew and deletes what there was. To have that, "
                    "change this line"
                )
            yield Problem(what, step, where=entry.where)
        elif entry.key not in ("version", "stack", *SECTIONS):
            fields = ", ".join(("version", "stack", *SECTIONS))
            what = f"unknown field {quoted(entry.key)}: a lock has {fields}"
            yield Problem(what, RESTORE, where=entry.where)
        elif entry.key in SECTIONS and entry.value:
            value = quoted(entry.value)
            what = f"{entry.key} has {value} on its own line; its entries belong below it, one per line"
            yield Problem(what, RESTORE, where=entry.where)
    for key in ("version", "stack"):
        if key not in keys:
            yield Problem(f"the lock has no field {key}", RESTORE, where=Where(file, 1))


# The longest name that Kubernetes and Google take; those that a lock is written with are shorter.
_PART = r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?"
_KEY = re.compile(rf"^{_PART}/{_PART}$")
_NAME_FORM = re.compile(rf"^{_PART}$")
_SPOT = re.compile(rf"^({_PART}/{_PART})(?:@([0-9a-f]{{6}}))? ({_PART})((?: {_PART}={_PART})+)$")
_COUNT = re.compile(r"^[1-9][0-9]{0,4}$")
_LIST = re.compile(r"^\[(.*)\]$")


_SOURCES: tuple[str, ...] = get_args(ClusterSource.model_fields["source"].annotation)


def _read_cluster(entry: Entry) -> tuple[str, str | None, dict[str, Any], bool, dict[str, str]]:
    """Return source, UID, create-only settings, protection and add-ons of a cluster; the entry's key is its
    name.
    """
    if not entry.value.startswith("{") or not _NAME_FORM.match(entry.key):
        raise ValueError(
            f"{_quoted_line(entry)} does not have the form 'east: {{source: Existing, uid: ...}}'"
        )
    name, settings = shown(entry.key), read_flow(entry.value)
    source, uid = settings.pop("source", None), settings.pop("uid", None)
    if source not in _SOURCES:
        raise ValueError(f"cluster {name} has source {quoted(source)}; it must be {' or '.join(_SOURCES)}")
    if uid is not None and not isinstance(uid, str):
        raise ValueError(
            f'cluster {name} has uid {quoted(uid)}, which must be text: write it in quotes "..."'
        )
    protected = settings.pop("protected", False) if source != "Existing" else False
    if not isinstance(protected, bool):
        raise ValueError(f"cluster {name} has protected {quoted(protected)}; it must be true or false")
    installed = settings.pop("installed", {})
    if not isinstance(installed, dict) or not all(isinstance(one, str) for one in installed.values()):
        raise ValueError(
            f"cluster {name} has installed {quoted(installed)}; it must be a map of versions, such as "
            "{istio: 1.31.1}"
        )
    if source == "Existing" and settings:
        raise ValueError(
            f"cluster {name} has {shown(', '.join(settings))}; only a cluster of source GKE may have settings"
        )
    return source, uid, settings, protected, installed


def _read_pool(entry: Entry) -> tuple[int, str | None, dict[str, Any]]:
    """Return nodes, name in the cloud (None for a pool of an existing cluster) and create-only settings of a
    pool; the entry's key is `cluster/pool`.
    """
    if not entry.value.startswith("{") or not _KEY.match(entry.key):
        raise ValueError(f"{_quoted_line(entry)} does not have the form 'east/h100: {{nodes: 2, ...}}'")
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
    if name is not None and (not isinstance(name, str) or not _NAME_FORM.match(name)):
        raise ValueError(
            f"pool {shown(entry.key)} has name {quoted(name)}; it must be a name such as h100-1a2b3c"
        )
    return nodes, name, settings


def _read_placement(entry: Entry) -> tuple[Spot, int]:
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


def _read_service(entry: Entry) -> tuple[str, ...]:
    """Return the clusters that have a route of the service, sorted."""
    read = _LIST.match(entry.value)
    names = [unquoted(name.strip()) for name in read[1].split(",")] if read else []
    if not _KEY.match(entry.key) or not names or not all(map(_NAME_FORM.match, names)):
        raise ValueError(f"{_quoted_line(entry)} does not have the form 'ml/coder: [dc1, east]'")
    if len(set(names)) < len(names):
        raise ValueError(f"service {shown(entry.key)} names a cluster twice: {shown(entry.value)}")
    return tuple(sorted(names))


def _quoted_line(entry: Entry) -> str:
    return quoted(f"{entry.key}: {entry.value}")


# What is odd about a lock beside the documents of its stack: it is gone, or they are.


def lock_problems(documents: Documents, lock: Lock, *, file: str, exists: bool) -> Iterator[Problem]:
    """Yield warnings about a lock that does not exist, and about one whose deployments all have no document.

    Offline nobody knows whether a stack without a lock has run before, so its first plan warns too.
    """
    replicas_wanted = sum(deployment.spec.wanted for deployment in documents.deployments.values())
    if not exists and replicas_wanted:
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
        first_line = min(lock.lines.values(), default=Where(file, 1))
        yield Problem(what, step, where=first_line, severity="warning")
