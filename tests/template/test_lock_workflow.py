"""The workflow that resolves a conflict of placement.lock: its own steps, run in a clone with an origin."""

from typing import Any

import pytest
from workflows import Clone

FILE = "inferfleet-lock.yaml"
LOCK = "stacks/local/placement.lock"
MODELS = "stacks/local/models.yaml"


@pytest.fixture
def branch(clone: Clone) -> Clone:
    """On `topic`, which adds a deployment; since it began `main` has a replica more of another one."""
    origin = clone.root.parent / "origin"
    clone.git("init", "--bare", str(origin))
    clone.git("remote", "add", "origin", str(origin))
    clone.git("switch", "main")
    clone.write(".gitignore", "")
    _planned(clone, "begin")
    clone.git("switch", "--force-create", "topic")
    text = (clone.root / MODELS).read_text()
    (other,) = (one for one in text.split("---\n") if "kind: ModelDeployment" in one)
    clone.write("stacks/local/other.yaml", other.replace("name: qwen3-8b", "name: qwen3-8c"))
    _planned(clone, "add another")
    clone.git("switch", "main")
    clone.edit(MODELS, "replicas: 1", "replicas: 2")
    _planned(clone, "scale")
    clone.git("switch", "topic")
    clone.git("push", "origin", "main", "topic")
    return clone


def _planned(clone: Clone, message: str) -> None:
    assert clone.run("inferfleet", "plan", "--stack", "local", "--write").returncode == 0
    clone.commit(message)


def _steps(clone: Clone) -> list[Any]:
    return [clone.step(FILE, "lock", name) for name in ("Merge", "Plan", "Push")]


def _placements(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if "decode=" in line]


def test_a_conflict_of_the_lock_alone_is_planned_again_and_pushed(branch: Clone) -> None:
    assert [ran.returncode for ran in _steps(branch)] == [0, 0, 0]
    assert branch.git("rev-parse", "origin/topic^1", "origin/topic^2").splitlines() == [
        branch.git("rev-parse", "topic^1"),
        branch.git("rev-parse", "main"),
    ]
    assert _placements(branch.git("show", f"origin/topic:{LOCK}")) == [
        "ml/qwen3-8b east decode=l4: 2",
        "ml/qwen3-8c east decode=l4: 1",
    ]
    assert branch.run("inferfleet", "plan", "--stack", "local", "--locked").returncode == 0


def test_any_other_conflict_is_left_to_a_person(branch: Clone) -> None:
    branch.edit(MODELS, "replicas: 1", "replicas: 3")
    _planned(branch, "scale otherwise")
    merged = branch.step(FILE, "lock", "Merge")
    assert merged.returncode == 1
    assert merged.stdout.splitlines()[-2:] == [MODELS, "A person has to resolve this: merge main by hand."]


def test_a_branch_without_a_conflict_is_merged(branch: Clone) -> None:
    branch.git("reset", "--hard", "topic^1")
    branch.write("notes.md", "none")
    branch.commit("write notes")
    branch.git("push", "--force", "origin", "topic")
    assert [ran.returncode for ran in _steps(branch)] == [0, 0, 0]
    assert branch.git("rev-parse", "origin/topic^2") == branch.git("rev-parse", "main")
