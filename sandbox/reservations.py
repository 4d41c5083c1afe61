"""Numbers that clusters of all checkouts of a user share out among them, kept as long as their stacks."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from sandbox.locking import locked
from sandbox.places import cache_folder


@dataclass(frozen=True)
class Reservations:
    """Which cluster folder has which number of one kind, such as `ports`."""

    kind: str

    def reserve(
        self,
        cluster_folder: Path,
        candidates: Iterable[int],
        *,
        avoid: frozenset[int] = frozenset(),
        usable: Callable[[int], bool] = lambda number: True,
    ) -> int | None:
        """The cluster's own number, or the first usable candidate nobody has; None when there is none.

        A cluster's own number is given up when it is among `avoid`. It stays the cluster's as long as the
        stack's folder is there, two levels above the clusters'.
        """
        with locked(self._lock, waiting=lambda pid: None):
            taken = self._read()
            own = taken.get(str(cluster_folder))
            if own is not None and own not in avoid:
                return own
            used = set(taken.values()) | avoid
            for number in candidates:
                if number not in used and usable(number):
                    self._write({**taken, str(cluster_folder): number})
                    return number
        return None

    def release(self, cluster_folder: Path) -> None:
        """Gives the cluster's number back."""
        with locked(self._lock, waiting=lambda pid: None):
            taken = self._read()
            taken.pop(str(cluster_folder), None)
            self._write(taken)

    @property
    def _file(self) -> Path:
        return cache_folder() / f"{self.kind}.json"

    @property
    def _lock(self) -> Path:
        return self._file.with_suffix(".lock")

    def _read(self) -> dict[str, int]:
        """Reservations of stacks that still exist; a damaged file counts as none."""
        try:
            content = json.loads(self._file.read_text())
        except (OSError, ValueError):
            return {}
        if not isinstance(content, dict):
            return {}
        # <stack>/kwok/clusters/<cluster>
        return {
            folder: number
            for folder, number in content.items()
            if isinstance(number, int) and Path(folder).parent.parent.parent.exists()
        }

    def _write(self, taken: dict[str, int]) -> None:
        temporary = self._file.with_suffix(".new")
        temporary.write_text(json.dumps(taken, indent=1, sort_keys=True) + "\n")
        temporary.replace(self._file)
