"""What exists in the simulated cloud: one file, read and changed by several processes."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"


@dataclass(frozen=True)
class Record:
    """One resource: `state` holds its properties as the provider reports them.

    `status` and `message` are the object's own, as `clusters.get` shows them. `zones` says how many nodes a
    pool has in each zone.
    """

    token: str
    id: str
    state: dict[str, Any]
    status: str = "RUNNING"
    message: str = ""
    zones: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.state["name"])

    def but(self, **changes: Any) -> "Record":
        return replace(self, **changes)


Records = dict[str, Record]


@dataclass(frozen=True)
class Store:
    """The file `resources.json` of the cloud's folder."""

    folder: Path

    def read(self) -> Records:
        """Every resource by its ID; nothing while there is no file."""
        try:
            text = (self.folder / "resources.json").read_text()
        except FileNotFoundError:
            return {}
        return {one["id"]: Record(**one) for one in json.loads(text)}

    @contextmanager
    def changing(self) -> Iterator[Records]:
        """The resources, to be changed in place: what is in them at the end is written, or nothing at all.

        One process at a time. Whoever reads meanwhile sees what was there before.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(self.folder / "lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            records = self.read()
            yield records
            file = self.folder / "resources.json"
            temporary = file.with_name(f".resources.{os.getpid()}")
            temporary.write_text(json.dumps([asdict(one) for one in records.values()], indent=1) + "\n")
            temporary.replace(file)

    def change(self, record_id: str, **changes: Any) -> Record | None:
        """The resource with some of its parts changed; None when it is gone."""
        with self.changing() as records:
            if record_id not in records:
                return None
            records[record_id] = records[record_id].but(**changes)
            return records[record_id]


def clusters(records: Records) -> list[Record]:
    return [one for one in records.values() if one.token == CLUSTER]


def pools_of(records: Records, cluster_id: str) -> list[Record]:
    """The node pools of a cluster, in the order they were made."""
    return [one for one in records.values() if one.token == POOL and one.id.startswith(f"{cluster_id}/")]
