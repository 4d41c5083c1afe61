"""How end-to-end tests are shared out among processes: by what they use and how long they take.

Every file of them stays in one process (an xdist group). The files whose tests use the shared clusters form
a few groups that take equally long; each process that runs one has clusters of its own. The longest group
begins first. All of them stand before the other tests, or behind them while the toolchain is still built.
`make durations` runs all tests and writes how long each file took to tests/durations.json. A run of some with
`--record-durations` keeps what the others took. A file without an entry counts as a usual one.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import mean

import pytest

RECORD = Path(__file__).with_name("durations.json")
# Each starts two clusters, which takes half a minute.
SHARED_GROUPS = 2
SHARED_FIXTURE = "sandboxed"


def shares(item: pytest.Item | None) -> bool:
    """Whether a test uses the clusters that all such tests of a process share."""
    return SHARED_FIXTURE in getattr(item, "fixturenames", ())


def group(item: pytest.Item | None) -> str:
    """The group of a test, "" for one that belongs to none."""
    marker = item.get_closest_marker("xdist_group") if item else None
    return str(marker.args[0]) if marker else ""


def share_out(items: list[pytest.Item], folder: Path, *, first: bool) -> None:
    """Mark the tests below a folder with their groups, put them first or last, the longest group first."""
    seconds = _recorded()
    ours = [item for item in items if folder in item.path.parents]
    sharing = {item.path.stem for item in ours if shares(item)}
    group_of = {item.path.stem: item.path.stem for item in ours} | _balanced(sharing, seconds)
    length = dict.fromkeys(group_of.values(), 0.0)
    for file, group in group_of.items():
        length[group] += seconds[file]
    for item in ours:
        item.add_marker(pytest.mark.xdist_group(group_of[item.path.stem]))
    turn = {file: (-length[group], group, -seconds[file]) for file, group in group_of.items()}
    others = 1 if first else -1
    items.sort(key=lambda item: (0, *turn[item.path.stem]) if folder in item.path.parents else (others,))


def record(durations: dict[str, float], folder: Path) -> None:
    """Write the seconds that files took beside those of the others that are still below the folder."""
    there = {file.stem for file in folder.rglob("test_*.py")}
    kept = {file: round(seconds) for file, seconds in {**_recorded(), **durations}.items() if file in there}
    RECORD.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def _balanced(files: Iterable[str], seconds: dict[str, float]) -> dict[str, str]:
    """The group of each file: the longest file goes to the group that is shortest so far."""
    lengths = [0.0] * SHARED_GROUPS
    group_of = {}
    for file in sorted(files, key=lambda file: (-seconds[file], file)):
        number = lengths.index(min(lengths))
        lengths[number] += seconds[file]
        group_of[file] = f"shared-clusters-{number + 1}"
    return group_of


def _recorded() -> dict[str, float]:
    recorded: dict[str, float] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    usual = mean(recorded.values()) if recorded else 1.0
    return defaultdict(lambda: usual, recorded)
