"""Removes the entries of simulated clusters from a stack's placement.lock when the clusters are removed."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from inferfleet.documents import InvalidDocuments
from inferfleet.documents.loading.files import is_inside, write_text
from inferfleet.documents.loading.project import StackFiles, read_lock
from inferfleet.documents.loading.settings import read_settings
from inferfleet.fleet.lock.lock import Lock, parse, text


def forget_clusters(root: Path, stack: str, removed: Collection[str], *, cloud: bool = False) -> None:
    """Drop the removed clusters from the stack's lock, and remove a lock that is then empty.

    With `cloud`, the simulated Google Cloud was removed, and all clusters of source GKE with it.

    New clusters of the same names have other UIDs, so a lock that still had the old ones would refuse them. A
    lock that cannot be read, is outside of the project or is a symbolic link is left as it is: the next plan
    says what is wrong with it.
    """
    try:
        files = StackFiles(root, stack)
        files = replace(files, folder=read_settings(files).documents)
        written = read_lock(files, str(files.lock_file))
        if written is None or files.lock_file.is_symlink() or not is_inside(files.documents, root):
            return
        lock = parse(written, file=str(files.lock_file), stack=stack)
    except InvalidDocuments:
        return
    on_cloud = [name for name, cluster in lock.clusters.items() if cloud and cluster.source == "GKE"]
    left = without(lock, {*removed, *on_cloud})
    if left == lock:
        return
    if left.clusters or left.pools or left.placements or left.services:
        write_text(files.lock_file, text(left))
    else:
        files.lock_file.unlink()


def without(lock: Lock, removed: Collection[str]) -> Lock:
    """Return the lock without any entry of the removed clusters."""
    services = {
        key: tuple(name for name in clusters if name not in removed)
        for key, clusters in lock.services.items()
    }
    return replace(
        lock,
        clusters={name: cluster for name, cluster in lock.clusters.items() if name not in removed},
        pools={key: pool for key, pool in lock.pools.items() if key.partition("/")[0] not in removed},
        nodes={key: nodes for key, nodes in lock.nodes.items() if key.partition("/")[0] not in removed},
        placements={spot: count for spot, count in lock.placements.items() if spot.cluster not in removed},
        services={key: clusters for key, clusters in services.items() if clusters},
    )
