"""Reserves numbers, such as ports, for the clusters of all checkouts of a user."""

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
        """Return the number the cluster has, or reserve the first usable candidate; None when there is none.

        The number the cluster has is given up when it is among `avoid`. A reservation lasts for as long as
        the stack's folder exists, three levels above the cluster's folder.
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
        """Give the cluster's number back."""
        with locked(self._lock, waiting=lambda pid: None):
            taken = self._read()
            taken.pop(str(cluster_folder), None)
            self._write(taken)

    def folders(self) -> tuple[Path, ...]:
        """Return the cluster folders with a number, also those of stacks that are gone."""
        return tuple(Path(folder) for folder in self._content())

    @property
    def _file(self) -> Path:
        return cache_folder() / f"{self.kind}.json"

    @property
    def _lock(self) -> Path:
        return self._file.with_suffix(".lock")

    def _read(self) -> dict[str, int]:
        """Return the reservations of stacks that still exist."""
        # A cluster's folder is <stack>/kwok/clusters/<cluster>.
        return {
            folder: number
            for folder, number in self._content().items()
            if Path(folder).parent.parent.parent.exists()
        }

    def _content(self) -> dict[str, int]:
        """Return all reservations. A damaged file counts as empty."""
        try:
            content = json.loads(self._file.read_text())
        except (OSError, ValueError):
            return {}
        if not isinstance(content, dict):
            return {}
        return {folder: number for folder, number in content.items() if isinstance(number, int)}

    def _write(self, taken: dict[str, int]) -> None:
        temporary = self._file.with_suffix(".new")
        temporary.write_text(json.dumps(taken, indent=1, sort_keys=True) + "\n")
        temporary.replace(self._file)
