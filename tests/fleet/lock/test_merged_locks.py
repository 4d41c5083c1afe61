"""Locks of two branches, merged by the driver of docs/explanation/placement-lock.md."""

import re
import subprocess
from pathlib import Path
from random import Random

import pytest
from small_fleet import Document, class_, cluster, deployment, fleet, service

from inferfleet.fleet import plan
from inferfleet.fleet.lock.lock import Lock, parse, text

PAGE = Path(__file__).parents[3] / "docs/explanation/placement-lock.md"
DRIVER = re.search(r'placement-lock\.driver \\\n  "(.*)"', PAGE.read_text())[1].replace("\\$", "$")
BIG = class_("big", 64)
ROOM = cluster("east", {"p": ("big", 4)})


def _merged(tmp_path: Path, *, base: Lock, ours: Lock, theirs: Lock) -> Lock:
    files = []
    for name, lock in (("ours", ours), ("base", base), ("theirs", theirs)):
        files.append(tmp_path / name)
        files[-1].write_text(text(lock))
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
