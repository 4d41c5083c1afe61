"""Locks of two branches, merged by the driver of docs/explanation/placement-lock.md."""

import re
import subprocess
from pathlib import Path
from random import Random

import pytest
from small_fleet import Document, class_, cluster, deployment, fleet, service, spot

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.fleet import plan
from inferfleet.fleet.lock.lock import Lock, parse, text

PAGE = Path(__file__).parents[3] / "docs/explanation/placement-lock.md"
DRIVER = (
    re.search(r'placement-lock\.driver \\\n  "(.*)"', PAGE.read_text())[1]
    .replace("\\$", "$")
    .replace('\\"', '"')
)
BIG = class_("big", 64)
ROOM = cluster("east", {"p": ("big", 4)})


def _merged(tmp_path: Path, *, base: Lock | None, ours: Lock, theirs: Lock) -> Lock:
    files = []
    for name, lock in (("ours", ours), ("base", base), ("theirs", theirs)):
        files.append(tmp_path / name)
        files[-1].write_text(text(lock) if lock else "")
    ours_, base_, theirs_ = map(str, files)
    command = DRIVER.replace("%A", ours_).replace("%O", base_).replace("%B", theirs_)
    subprocess.run(["sh", "-c", command], check=True)
    return parse(files[0].read_text(), file="placement.lock", stack="test")


def _lock(documents: list[Document], before: Lock) -> Lock:
    service_ = service("all", (1, {}))
    return plan(fleet(BIG, ROOM, service_, *documents), before).lock


@pytest.mark.parametrize("seed", range(30))
def test_branches_that_add_deployments_merge_and_move_nothing(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    names = random.sample([f"m{number}" for number in range(40)], 12)
    documents = [deployment(name, random.randint(1, 4)) for name in names]
    common, ours, theirs = documents[:6], documents[6:9], documents[9:]
    base = _lock(common, Lock(stack="test"))
    merged = _merged(
        tmp_path, base=base, ours=_lock([*common, *ours], base), theirs=_lock([*common, *theirs], base)
    )
    assert plan(fleet(BIG, ROOM, *documents), merged).changes == ()
    assert merged.placements.items() >= base.placements.items()


@pytest.mark.parametrize("seed", range(30))
def test_what_ran_before_two_branches_took_the_last_room_stays(tmp_path: Path, seed: int) -> None:
    """Names and sizes are random, so that by these alone one of the base would often have to leave."""
    random = Random(seed)
    names = random.sample([f"m{number}" for number in range(40)], 6)
    common = [deployment(name, random.randint(1, 2), gpus=random.choice([8, 16, 32])) for name in names[:4]]
    base = _lock(common, Lock(stack="test"))
    used = sum(number * _gpus(common, spot.name) for spot, number in base.placements.items())
    size = 4 * 64 - used
    ours, theirs = deployment(names[4], size // 8, gpus=8), deployment(names[5], size // 8, gpus=8)
    merged = _merged(
        tmp_path, base=base, ours=_lock([*common, ours], base), theirs=_lock([*common, theirs], base)
    )
    spare = cluster("west", {"p": ("big", 4)})
    planned = plan(fleet(BIG, ROOM, spare, *common, ours, theirs), merged)
    assert planned.unplaced == ()
    assert planned.lock.placements.items() >= base.placements.items()
    assert sum(
        change.before - change.after for change in planned.changes if change.after < change.before
    ) == (size // 8)


def test_a_merge_notes_how_many_replicas_there_were(tmp_path: Path) -> None:
    locks = {
        name: Lock(stack="test", placements={spot(place): number for place, number in placements.items()})
        for name, placements in {
            "base": {"a east/p": 1, "b east/p": 1, "l east/p": 1, "m east/p": 3},
            "ours": {"a east/p": 2, "b east/p": 1, "c east/p": 1, "l east/p": 1, "m east/p": 3},
            "theirs": {"a east/p": 1, "b east/p": 1, "l east/p": 1, "m east/p": 2, "z east/p": 1},
        }.items()
    }
    merged = _merged(tmp_path, **locks)
    assert (tmp_path / "ours").read_text() == (
        "version: 1\n"
        "stack: test\n"
        "placements:\n"
        "  ml/a east decode=p: 2  # was 1\n"
        "  ml/b east decode=p: 1\n"
        "  ml/c east decode=p: 1  # was 0\n"
        "  ml/l east decode=p: 1\n"
        "  ml/m east decode=p: 2\n"
        "  ml/z east decode=p: 1  # was 0\n"
    )
    assert merged.was == {spot("a east/p"): 1, spot("c east/p"): 0, spot("z east/p"): 0}
    assert "#" not in text(merged)


def test_a_lock_of_both_branches_without_a_base_merges_too(tmp_path: Path) -> None:
    own = Lock(stack="test", placements={spot("a east/p"): 1})
    other = Lock(stack="test", placements={spot("a east/p"): 1, spot("b east/p"): 1})
    merged = _merged(tmp_path, base=None, ours=own, theirs=other)
    assert merged.was == {spot("a east/p"): 0, spot("b east/p"): 0}


def _gpus(documents: list[Document], name: str) -> int:
    return next(
        document.spec.workers.topology.gpus_per_pod
        for document in documents
        if isinstance(document, ModelDeployment) and document.metadata.name == name
    )
