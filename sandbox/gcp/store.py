"""What exists in the simulated cloud: one file, which several processes read and change."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sandbox.private import write_file

CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
IAM_MEMBER = "gcp:projects/iAMMember:IAMMember"
BUCKET_MEMBER = "gcp:storage/bucketIAMMember:BucketIAMMember"


@dataclass(frozen=True)
class Record:
    """One resource that exists.

    `token` is its type, `state` its properties as the provider reports them. `status` and `message` are the
    object's own, as `clusters.get` shows them. `zones` counts the nodes of a pool in each zone.
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
        """Return the record with some of its fields changed."""
        return replace(self, **changes)


Records = dict[str, Record]


@dataclass(frozen=True)
class Store:
    """The file `resources.json` in the cloud's folder."""

    folder: Path

    def read(self) -> Records:
        """Return every resource by its ID; nothing while there is no file."""
        try:
            text = self._file.read_text()
        except FileNotFoundError:
            return {}
        return {values["id"]: Record(**values) for values in json.loads(text)}

    @contextmanager
    def changing(self) -> Iterator[Records]:
        """Yield the resources to be changed in place, and write them afterwards.

        An exception leaves the file as it was. One process at a time is let in; others may read meanwhile and
        see what was there before.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(self.folder / "lock", "a") as lock_file:
            fcntl.flock(lock_file, fcntl.LOCK_EX)
            records = self.read()
            yield records
            write_file(
                self._file, json.dumps([asdict(record) for record in records.values()], indent=1) + "\n"
            )

    def change(self, record_id: str, **changes: Any) -> Record | None:
        """Write the resource with some of its fields changed and return it; None when it does not exist."""
        with self.changing() as records:
            if record_id not in records:
                return None
            records[record_id] = records[record_id].but(**changes)
            return records[record_id]

    @property
    def _file(self) -> Path:
        return self.folder / "resources.json"


def clusters(records: Records) -> list[Record]:
    """Return the clusters, in the order they were made."""
    return [record for record in records.values() if record.token == CLUSTER]


def pools_of(records: Records, cluster_id: str) -> list[Record]:
    """Return the node pools of a cluster, in the order they were made."""
    return [
        record
        for record in records.values()
        if record.token == POOL and record.id.startswith(f"{cluster_id}/")
    ]
