"""What a stack remembers of its simulated clusters goes with them: their part of placement.lock."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from inferfleet.api import InvalidDocuments
from inferfleet.api.loading.files import read_text, write_text
from inferfleet.api.loading.stack import read_settings
from inferfleet.api.loading.stack_files import StackFiles
from inferfleet.fleet.lock.lock import Lock, parse, text


def forget(root: Path, stack: str, gone: Collection[str], *, cloud: bool = False) -> None:
    """Drop the clusters that are `gone` from the stack's lock; a lock of nothing else is removed.

    With the simulated `cloud`, all clusters of Google's are gone.

    The next clusters of these names are other ones, and a lock that knew the old would refuse them. A lock
    that cannot be read is left as it is: the next plan says what is wrong with it.
    """
    try:
        files = StackFiles(root, stack)
        files = replace(files, folder=read_settings(files).documents)
        lock = parse(read_text(files.lock_file), file=str(files.lock_file), stack=stack)
    except InvalidDocuments:
        return
    googles = [name for name, one in lock.clusters.items() if cloud and one.source == "GKE"]
    left = without(lock, {*gone, *googles})
    if left == lock:
        return
    if left.clusters or left.pools or left.placements or left.services:
        write_text(files.lock_file, text(left))
    else:
        files.lock_file.unlink()


def without(lock: Lock, gone: Collection[str]) -> Lock:
    """The lock as if the clusters that are `gone` had never been."""
    services = {
        key: tuple(one for one in clusters if one not in gone) for key, clusters in lock.services.items()
    }
    return replace(
        lock,
        clusters={name: one for name, one in lock.clusters.items() if name not in gone},
        pools={key: one for key, one in lock.pools.items() if key.partition("/")[0] not in gone},
        placements={spot: count for spot, count in lock.placements.items() if spot.cluster not in gone},
        services={key: clusters for key, clusters in services.items() if clusters},
    )
