"""`inferfleet recover`: what it finds, asks, runs and ends with. A stand-in plays `pulumi`."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_pulumi import FakePulumi
from small_project import Project

from inferfleet.cli.verbs import recover as verb
from inferfleet.documents.problems import Problem
from inferfleet.recovery import survey as recover_survey
from inferfleet.recovery.state import Absent, Presence, Present
from inferfleet.recovery.survey import BrokenPool

HERE = socket.gethostname()
URN = "urn:pulumi:prod::inferfleet::inferfleet:components:X$kubernetes:core/v1:ConfigMap::east/ml/a"
SECRET = "canary-Zx81"
INPUTS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "ml"},
    "data": {"ciphertext": SECRET},
}
MAKING = {"urn": URN, "type": "kubernetes:core/v1:ConfigMap", "custom": True, "inputs": INPUTS}
FINE, PROBLEMS, UNFINISHED = 0, 1, 6


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePulumi:
    return FakePulumi(tmp_path / "backend", monkeypatch)


@pytest.fixture
def on_cluster(monkeypatch: pytest.MonkeyPatch) -> Callable[[Presence], None]:
    """What the clusters say of every object."""

    def say(answer: Presence) -> None:
        monkeypatch.setattr(
            recover_survey, "presence", lambda objects, *_, **__: {wanted.urn: answer for wanted in objects}
        )

    return say


@pytest.fixture
def gone() -> int:
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def pending(kind: str = "creating", *resources: dict[str, Any]) -> dict[str, Any]:
    operations = [{"type": kind, "resource": MAKING}]
    return {"version": 3, "deployment": {"resources": list(resources), "pending_operations": operations}}


def test_a_stack_at_peace_has_nothing_to_mend(project: Project, pulumi: FakePulumi) -> None:
    ran = project.run("recover", "--yes")
    assert (ran.code, ran.err) == (FINE, "")
    assert ran.out == "Nothing to fix: no lock, no operation that did not finish, no broken node pool.\n"
    assert pulumi.changing == []


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "stacks/prod/clusters.yaml",
            "  nodePools:",
            "  state: paused\n  nodePools:",
            "cluster 'east' is paused, so it was not looked for what the state lacks of it. Remove `state: "
            "paused`, and run this again",
        ),
        (
            "stacks/prod/clusters.yaml",
            "  nodePools:",
            "  state: lost\n  nodePools:",
            "cluster 'east' is lost, so it was not looked for what the state lacks of it. Remove `state: "
            "lost` where it answers again, and run this again",
        ),
        (
            "stacks/prod/models.yaml",
            "  replicas: 1",
            "  paused: true\n  replicas: 1",
            "ml/qwen is paused, so it was not looked for what the state lacks of it. Remove `paused`, and "
            "run this again",
        ),
    ],
)
def test_what_is_paused_or_lost_is_left_out_of_a_lost_state_by_name(
    project: Project, pulumi: FakePulumi, file: str, old: str, new: str, said: str
) -> None:
    project.edit(file, old, new)
    ran = project.run("recover", "--lost-state", "--yes")
    assert (ran.code, pulumi.changing) == (FINE, [])
    assert ran.out == ("Nothing to fix, apart from what is paused or lost: that was not looked at.\n")
    assert said in ran.err


def test_what_is_found_is_told_and_without_an_answer_nothing_is_done(
    project: Project, pulumi: FakePulumi, on_cluster: Callable[[Presence], None], gone: int
) -> None:
    pulumi.has(pending())
    pulumi.lock(gone, HERE)
    on_cluster(Present())
    ran = project.run("recover")
    assert ran.code == UNFINISHED
    assert ran.out.splitlines() == [
        "Locks",
        "lock" + " " * (len(ran.out.splitlines()[1]) - 17) + "what is known",
        f"process {gone} of ann on {HERE}, since 2026-11-21 11:42:34 UTC  that process is gone",
        "",
        "Operations that did not finish",
        "resource             interrupted while  found                 what to do",
        "ConfigMap east/ml/a  creating           it is on its cluster  take it over",
        "",
        "To fix it:",
        "  pulumi cancel --yes --stack prod",
        "  pulumi stack import --stack prod --file state.json",
        f"  pulumi refresh --stack prod --yes --skip-preview --skip-pending-creates --target '{URN}'",
        "  (state.json: what `pulumi stack export` prints, with these changes in it)",
    ]
    assert (pulumi.changing, SECRET in ran.out + ran.err) == ([], False)


def test_with_yes_the_lock_goes_and_the_object_enters_the_state(
    project: Project, pulumi: FakePulumi, on_cluster: Callable[[Presence], None], gone: int
) -> None:
    pulumi.has(pending())
    lock = pulumi.lock(gone, HERE)
    on_cluster(Present("pulumi-kubernetes-1"))
    ran = project.run("recover", "--yes")
    assert (ran.code, ran.err) == (FINE, "")
    assert ran.out.splitlines()[-1] == "Fixed: `pulumi up` goes on."
    assert pulumi.state == {"resources": [{**MAKING, "id": "ml/a", "outputs": {"read": True}}]}
    assert pulumi.changing == ["cancel --yes", "stack import", "refresh --stack"]
    assert not lock.exists()


def test_what_a_provider_does_not_find_leaves_the_state_again(
    project: Project, pulumi: FakePulumi, on_cluster: Callable[[Presence], None]
) -> None:
    pulumi.has(pending())
    pulumi.tells(missing=[URN])
    on_cluster(Present())
    assert project.run("recover", "--yes").code == FINE
    assert pulumi.state == {"resources": []}


@pytest.mark.parametrize("answer", [True, False])
def test_in_a_terminal_it_asks(
    project: Project,
    pulumi: FakePulumi,
    on_cluster: Callable[[Presence], None],
    monkeypatch: pytest.MonkeyPatch,
    answer: bool,
) -> None:
    pulumi.has(pending())
    on_cluster(Absent())
    monkeypatch.setattr(verb, "_agreed", lambda as_json: answer)
    assert project.run("recover").code == (FINE if answer else UNFINISHED)
    assert pulumi.changing == (["stack import"] if answer else [])


@pytest.mark.parametrize(
    ("process", "host"), [(os.getpid(), HERE), (1, "another-machine")], ids=["alive", "elsewhere"]
)
def test_a_lock_that_may_be_held_is_removed_only_by_force(
    project: Project, pulumi: FakePulumi, process: int, host: str
) -> None:
    # Long after this process began, which is why it may hold it.
    lock = pulumi.lock(process, host, "2999-01-01T00:00:00Z")
    ran = project.run("recover", "--yes")
    assert (ran.code, lock.exists(), pulumi.changing) == (UNFINISHED, True, [])
    assert ran.err.splitlines()[0] == (
        "notice: an update of this stack may be running, so nothing is touched. Wait for it, or add "
        "--force-lock when you know that its process is gone"
    )
    forced = project.run("recover", "--yes", "--force-lock")
    assert (forced.code, lock.exists(), pulumi.changing) == (FINE, False, ["cancel --yes"])


def test_a_backend_that_counts_updates_says_that_one_is_under_way(
    project: Project, pulumi: FakePulumi
) -> None:
    pulumi.tells(backend="https://app.pulumi.com/ann", busy=True)
    ran = project.run("recover", "--yes")
    assert (ran.code, pulumi.changing) == (UNFINISHED, [])
    assert "it says that an update is running" in ran.out
    pulumi.tells(busy=False)
    assert project.run("recover").code == FINE


def test_a_project_of_another_name_has_its_locks_under_that_name(
    project: Project, pulumi: FakePulumi, gone: int
) -> None:
    project.write("Pulumi.yaml", "name: acme\n")
    lock = pulumi.lock(gone, HERE, project="acme")
    assert project.run("recover", "--yes").code == FINE
    assert (pulumi.changing, lock.exists()) == (["cancel --yes"], False)


def test_of_a_bucket_only_the_engine_knows_the_locks(project: Project, pulumi: FakePulumi) -> None:
    pulumi.tells(backend="s3://bucket")
    ran = project.run("recover", "--yes")
    assert (ran.code, pulumi.changing) == (FINE, [])
    assert ran.err.startswith("notice: only the engine can read the locks of this backend. ")
    assert project.run("recover", "--yes", "--force-lock").code == FINE
    assert pulumi.changing == ["cancel --yes"]


def test_a_half_written_file_goes_first_and_then_the_rest_is_looked_at(
    project: Project, pulumi: FakePulumi, on_cluster: Callable[[Presence], None]
) -> None:
    pulumi.has(pending())
    on_cluster(Absent())
    broken = pulumi.file("stacks/inferfleet/prod.json.attrs", "")
    whole = pulumi.file("stacks/inferfleet/prod.json.bak.attrs", '{"md5": "x"}')
    ran = project.run("recover")
    assert (ran.code, f"  rm {broken}" in ran.out.splitlines()) == (UNFINISHED, True)
    ran = project.run("recover", "--yes", "--json")
    assert (ran.code, broken.exists(), whole.exists()) == (FINE, False, True)
    first, second = ran.json["found"]
    assert (first["files"], first["operations"], first["commands"]) == ([str(broken)], [], [f"rm {broken}"])
    assert second["operations"] == [
        {"urn": URN, "kind": "creating", "found": "it is not on its cluster", "action": "forget", "id": None}
    ]


def test_a_kubeconfig_in_the_configuration_is_read_by_pulumi_and_never_shown(
    project: Project, pulumi: FakePulumi
) -> None:
    project.edit("stacks/prod/clusters.yaml", "path: east.kubeconfig", "configKey: east")
    project.write("stacks/Pulumi.prod.yaml", "config: {'inferfleet:east': {secure: v1:abc}}\n")
    pulumi.has(pending())
    pulumi.tells(setting=SECRET)
    ran = project.run("recover")
    assert ran.code == UNFINISHED
    assert "kubeconfig configuration key east: it is not a kubeconfig" in ran.err
    assert SECRET not in ran.out + ran.err


@pytest.mark.parametrize(("known", "code"), [(True, FINE), (False, UNFINISHED)])
def test_a_broken_pool_is_in_the_way_only_when_the_state_does_not_have_it(
    project: Project, pulumi: FakePulumi, monkeypatch: pytest.MonkeyPatch, known: bool, code: int
) -> None:
    pool = BrokenPool("east", "h100-0a1b2c", "stock-out", known, ("gcloud container x",))
    silent = Problem("Google does not answer", "Log in")
    monkeypatch.setattr(recover_survey, "broken_pools", lambda *_, **__: iter([pool, silent]))
    ran = project.run("recover", "--yes")
    assert (ran.code, pulumi.changing) == (code, [])
    assert ran.out.splitlines() == [
        "Node pools in status ERROR",
        "cluster  pool         in the state  what Google says",
        f"east     h100-0a1b2c  {'yes' if known else 'no '}           stock-out",
        "The next update refreshes those in the state. If one stays as it is, or is not in the state,",
        "delete it by hand, and the update after that creates it again:",
        "  gcloud container x",
        "",
    ]
    assert ran.err.splitlines()[0] == "notice: Google does not answer. Log in"


def test_what_nobody_can_judge_stays(project: Project, pulumi: FakePulumi, gone: int) -> None:
    pulumi.has(pending())
    pulumi.lock(gone, HERE)
    ran = project.run("recover", "--yes")
    assert (ran.code, pulumi.changing) == (UNFINISHED, ["cancel --yes"])
    assert "east.kubeconfig" in ran.err
    assert "some operations cannot be decided on and stay in the state" in ran.err
    assert ran.out.splitlines()[-1] == "Not everything is fixed: run this again."


def test_documents_with_problems_keep_clusters_from_being_asked_and_locks_go_all_the_same(
    project: Project, pulumi: FakePulumi, gone: int
) -> None:
    project.edit("stacks/prod/clusters.yaml", "className: l4", "className: l5")
    pulumi.has(pending())
    pulumi.lock(gone, HERE)
    ran = project.run("recover", "--yes")
    assert (ran.code, pulumi.changing) == (UNFINISHED, ["cancel --yes"])
    assert "its cluster is not known while the documents have problems" in ran.out


def test_a_refresh_that_fails_is_told_and_asked_for_again(
    project: Project, pulumi: FakePulumi, on_cluster: Callable[[Presence], None]
) -> None:
    pulumi.has(pending())
    pulumi.tells(errors={"refresh": "no answer"})
    on_cluster(Present())
    ran = project.run("recover", "--yes")
    assert ran.code == UNFINISHED
    assert "failed: no answer. Run it yourself to see all it says" in ran.err
    pulumi.tells(errors={})
    again = project.run("recover", "--yes")
    assert again.code == FINE
    assert "taken over, and not refreshed yet" in again.out


@pytest.mark.parametrize(
    ("call", "error", "step"),
    [
        ("stack export", "no stack named 'prod' found", "Name one that `pulumi stack ls` has"),
        ("stack export", "failed to load checkpoint: EOF", "Run it yourself"),
        ("whoami", "PULUMI_ACCESS_TOKEN must be set for login", "Log in (`pulumi login`)"),
        ("stack import", "incorrect passphrase", "Set PULUMI_CONFIG_PASSPHRASE"),
        ("stack import", "the stack is currently locked by 1 lock(s)", "Wait for that process, or run"),
    ],
)
def test_what_the_engine_refuses_is_a_problem_with_a_next_step(
    project: Project,
    pulumi: FakePulumi,
    on_cluster: Callable[[Presence], None],
    call: str,
    error: str,
    step: str,
) -> None:
    pulumi.has(pending())
    on_cluster(Absent())
    pulumi.tells(errors={call: error})
    ran = project.run("recover", "--yes")
    assert ran.code in (PROBLEMS, UNFINISHED)
    assert ran.code != FINE
    (line,) = (line for line in ran.err.splitlines() if "failed" in line)
    assert line.startswith(f"`pulumi {call}")
    assert f"failed: {error}. {step}" in line


def test_without_pulumi_it_says_where_to_get_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    ran = project.run("recover")
    assert (ran.code, ran.err.startswith("there is no `pulumi` on the PATH. Install it")) == (PROBLEMS, True)


def test_a_stack_that_is_not_known_is_refused(project: Project, pulumi: FakePulumi) -> None:
    ran = project.run("recover", "--stack", "prot")
    assert (ran.code, "stack 'prot'" in ran.err) == (PROBLEMS, True)
