"""The locks of two branches, merged by a real git: what commands say, and what their next steps do."""

import os
import re
import shlex
import subprocess

import pytest
from fleet_of_one import DEPLOYMENT
from small_project import Project, Ran

FILE = "stacks/prod/placement.lock"
POOLS = "[{name: l4, className: l4, nodeCount: 2}, {name: spare, className: l4, nodeCount: 1}]"


class Repository:
    """A project in git: a pool of 4 GPUs, one of 2, and deployments `a`, `b`, `c` that want the first one."""

    def __init__(self, project: Project) -> None:
        self._project = project
        project.edit("stacks/prod/clusters.yaml", "[{name: l4, className: l4, nodeCount: 1}]", POOLS)
        (project.root / "stacks/prod/models.yaml").unlink()
        for name in "abc":
            self._deployment(name, replicas=1)
        self.git("init -q -b main")
        self._commit()

    def branch(self, name: str, **replicas: int) -> None:
        """Commit a branch from main that has so many replicas of deployments, with its lock."""
        self.git(f"checkout -q -b {name} main")
        for deployment, number in replicas.items():
            self._deployment(deployment, replicas=number)
        self._commit()

    def plan(self, *words: str) -> Ran:
        return self._project.run("plan", *words)

    def git(self, command: str, *, code: int = 0) -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._project.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_EDITOR": "true",
            **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        ran = subprocess.run(
            ["git", *shlex.split(command)],
            cwd=self._project.root,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout

    @property
    def placements(self) -> list[str]:
        return [line.strip() for line in self._project.lock.splitlines() if "decode=" in line]

    def _commit(self) -> None:
        assert self.plan("--write").code == 0
        self.git("add -A")
        self.git("commit -q -m change")

    def _deployment(self, name: str, *, replicas: int) -> None:
        text = DEPLOYMENT.replace("{name: qwen", f"{{name: {name}")
        text = text.replace("replicas: 1", f"replicas: {replicas}\n  prefer: [{{pools: [l4]}}]")
        self._project.write(f"stacks/prod/{name}.yaml", text)


@pytest.fixture
def repository(project: Project) -> Repository:
    return Repository(project)


@pytest.mark.parametrize("verb", ["merge", "rebase"])
def test_a_conflict_is_resolved_by_the_two_commands_that_are_told(repository: Repository, verb: str) -> None:
    """Lines that touch: both branches take the last GPU of a pool for one more replica."""
    repository.branch("one", a=2)
    repository.branch("two", b=2)
    repository.git("checkout -q main")
    repository.git("merge -q one")
    repository.git("checkout -q two")
    repository.git(f"{verb} main", code=1)
    ran = repository.plan()
    told = re.fullmatch(
        rf"{FILE}:[0-9]+: '<<<<<<< [0-9A-Za-z]+' marks an unresolved merge conflict: two branches changed "
        r"the lock\. Take the lock of BASE, the branch that yours goes to, and write it anew: "
        r"git (checkout BASE -- .*), then inferfleet (plan --stack prod --write)\n\n1 problem\n",
        ran.err,
    )
    assert told, ran.err
    assert ran.code == 1
    take, write = told.groups()
    repository.git(take.replace("BASE", "main"))
    assert repository.placements == [
        "ml/a east decode=l4: 2",
        "ml/b east decode=l4: 1",
        "ml/c east decode=l4: 1",
    ]
    assert repository.plan(*write.split(" ")[1:]).code == 0
    assert repository.placements == [
        "ml/a east decode=l4: 2",
        "ml/b east decode=l4: 1",
        "ml/b east decode=spare: 1",
        "ml/c east decode=l4: 1",
    ]
    repository.git(f"add {FILE}")
    repository.git(f"{verb} --continue")
    assert repository.git("status --short") == ""


def test_what_branches_overfill_without_a_conflict_moves_as_somebody_says(repository: Repository) -> None:
    repository.branch("one", a=2)
    repository.branch("two", c=2)
    repository.git("merge -q one")
    merged = ["ml/a east decode=l4: 2", "ml/b east decode=l4: 1", "ml/c east decode=l4: 2"]
    assert repository.placements == merged
    refused = (
        "stacks/prod/clusters.yaml:6: spec.nodePools[0]: pool east/l4 with 2 nodes of 2 GPUs, 16 cores, 64Gi "
        "of memory is too small for the replicas that placement.lock has on it: ml/a (2 replicas: 2 GPUs), "
        "ml/b (1 replica: 1 GPU), ml/c (2 replicas: 2 GPUs); it lost no nodes: pods grew, its class changed, "
        "or branches were merged, and nobody moves unasked. Say who may leave it: inferfleet plan --stack "
        "prod --write --yield NAMESPACE/NAME, which may be repeated; or give it more nodes, or lower "
        "replicas; or, where branches were merged, take the lock of the branch that yours went to, and run "
        "inferfleet plan --stack prod --write"
    )
    for words in ([], ["--write"], ["--locked"]):
        ran = repository.plan(*words)
        assert (ran.code, ran.err.count(refused), repository.placements) == (1, 1, merged)
    for who, stays in (("ml/c", ["ml/c east decode=l4: 1"]), ("ml/b", [])):
        repository.git(f"checkout -q -- {FILE}")
        ran = repository.plan("--write", "--yield", who)
        assert ran.code == 0, ran.err
        others = [line for line in merged if not line.startswith(who)]
        assert repository.placements == sorted([*others, *stays, f"{who} east decode=spare: 1"])
        assert repository.plan("--locked").code == 0


def test_a_pool_that_a_branch_makes_smaller_is_left_as_announced(
    repository: Repository, project: Project
) -> None:
    project.edit("stacks/prod/clusters.yaml", "nodeCount: 2", "nodeCount: 1")
    ran = repository.plan("--write")
    assert ran.code == 0
    assert "pool east/l4 is too small for its pods" in ran.out
    assert repository.placements == [
        "ml/a east decode=l4: 1",
        "ml/b east decode=l4: 1",
        "ml/c east decode=spare: 1",
    ]
    assert "  east/l4: {nodes: 1}\n" in project.lock


def test_a_lock_of_other_nodes_does_not_match(repository: Repository, project: Project) -> None:
    project.edit("stacks/prod/clusters.yaml", "nodeCount: 2", "nodeCount: 3")
    ran = repository.plan("--locked")
    assert (ran.code, "does not match the documents (pool east/l4: 2 -> 3 nodes)" in ran.err) == (4, True)


def test_pods_that_grow_move_nobody_unasked(repository: Repository, project: Project) -> None:
    project.edit("stacks/prod/a.yaml", "{tensor: 1}", "{tensor: 2}")
    project.edit("stacks/prod/b.yaml", "{tensor: 1}", "{tensor: 2}")
    ran = repository.plan("--write")
    held = "ml/a (1 replica: 2 GPUs), ml/b (1 replica: 2 GPUs), ml/c (1 replica: 1 GPU); it lost no nodes"
    assert (ran.code, held in ran.err) == (1, True)
    assert repository.plan("--write", "--yield", "ml/c").code == 0
    assert repository.placements == [
        "ml/a east decode=l4: 1",
        "ml/b east decode=l4: 1",
        "ml/c east decode=spare: 1",
    ]


def test_who_yields_and_finds_no_place_would_be_lost_and_is_refused(
    repository: Repository, project: Project
) -> None:
    for name in "abc":
        project.edit(f"stacks/prod/{name}.yaml", "{tensor: 1}", "{tensor: 2}")
    project.edit("stacks/prod/clusters.yaml", ", {name: spare, className: l4, nodeCount: 1}", "")
    before = project.lock
    ran = repository.plan("--write", "--yield", "ml/c")
    assert (ran.code, project.lock) == (3, before)
    assert (
        "1 of 1 replicas of ml/c found no place, so nothing serves it; 1 of them runs now and would end, on "
        "east/l4 (pool east/l4 is too small for its pods)"
    ) in ran.err
    project.edit("stacks/prod/c.yaml", "  replicas: 1\n", "  replicas: 1\n  unplaced: Warn\n")
    ran = repository.plan("--write", "--yield", "ml/c")
    assert (
        ran.code,
        "warning: stacks/prod/c.yaml:5: spec.replicas: 1 of 1 replicas of ml/c found" in ran.err,
    ) == (
        0,
        True,
    )
    assert repository.placements == ["ml/a east decode=l4: 1", "ml/b east decode=l4: 1"]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--yield", "ml/cc"], "there is no deployment 'ml/cc'. Did you mean ml/c?"),
        (["--yield", "ml/c", "--locked"], "--yield and --locked contradict each other"),
        (
            ["--yield", "ml/c", "stacks/prod"],
            "documents named by path have no placement.lock; name a --stack",
        ),
    ],
)
def test_what_cannot_yield_is_said(repository: Repository, words: list[str], what: str) -> None:
    ran = repository.plan(*words)
    assert (ran.code, what in " ".join(ran.err.replace("│", " ").split())) == (2, True), ran.err
