"""Credential commands of kubeconfigs: what they receive, and what is reported when they give nothing."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_cluster import kubeconfig
from own_cluster import east_problem
from pydantic import SecretStr

from inferfleet.clusters.connections.exec_command import CommandError, Credentials, credentials
from inferfleet.clusters.preflight.observe import observe
from inferfleet.desired.values import Connection, Desired, DesiredCluster
from inferfleet.documents.problems import Problem
from inferfleet.fleet.decisions import Plan

VERSION = "client.authentication.k8s.io/v1"
NEXT = (
    "or write `state: lost` into its document to go on without touching it, "
    "or `state: abandoned` to give it up and place its replicas elsewhere"
)


def command(folder: Path, body: str, **more: Any) -> dict[str, Any]:
    file = folder / "helper"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return {"apiVersion": VERSION, "command": str(file), **more}


def prints(**answer: Any) -> str:
    return f"echo '{json.dumps({'apiVersion': VERSION, 'kind': 'ExecCredential', **answer})}'"


def problems_with(command: dict[str, Any]) -> tuple[Problem, ...]:
    """Return the problems of a cluster whose kubeconfig names this command."""
    connection = Connection("east", "existing/east", "active", config_key="east")
    desired = Desired("prod", (DesiredCluster(connection, ()),), Plan(), frozenset(), ())
    text = yaml.safe_dump(kubeconfig("https://127.0.0.1:1", exec=command))
    return observe(desired, {"east": text}).problems


def test_arguments_and_environment_are_passed_on(tmp_path: Path) -> None:
    answer = '{"apiVersion": "%s", "status": {"token": "%s %s %s"}}'
    body = f"printf '{answer}' {VERSION} $1 $2 $WHO"
    given = command(tmp_path, body, args=["a", "b"], env=[{"name": "WHO", "value": "me"}])
    assert credentials(given, {}, seconds=300) == Credentials(token=SecretStr("a b me"))


def test_the_cluster_is_told_only_to_a_command_that_asks_for_it(tmp_path: Path) -> None:
    body = f'printf "%s" "$KUBERNETES_EXEC_INFO" > {tmp_path}/received; {prints(status={"token": "t"})}'
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    cluster = {"server": "https://east", "extensions": [extension]}
    received = []
    for asks in (True, False):
        credentials(command(tmp_path, body, provideClusterInfo=asks), cluster, seconds=300)
        received.append(json.loads((tmp_path / "received").read_text())["spec"])
    assert received == [
        {"interactive": False, "cluster": {"server": "https://east", "config": {"audience": "x"}}},
        {"interactive": False},
    ]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("echo one >&2; echo 'two ' >&2; echo >&2; exit 3", "failed: two"),
        ("printf 'x: ERROR: no account\\nPlease log in\\n)\\n' >&2; exit 1", "failed: x: ERROR: no account"),
        ("exit 3", "failed: exit code 3"),
        ("echo hello", "printed no ExecCredential with a status"),
        ("echo []", "printed no ExecCredential with a status"),
        (prints(), "printed no ExecCredential with a status"),
        (
            prints(status={}).replace("/v1", "/v1beta1"),
            f"does not speak {VERSION}, which the kubeconfig asks for",
        ),
        ("exec sleep 30", "gave nothing within 1 s"),
        (
            "echo 'sign in at https://sso' >&2; exec sleep 30",
            "gave nothing within 1 s: sign in at https://sso",
        ),
    ],
)
def test_why_a_command_gave_nothing(tmp_path: Path, body: str, why: str) -> None:
    with pytest.raises(CommandError) as raised:
        credentials(command(tmp_path, body), {}, seconds=0.6 if "sleep" in body else 300)
    assert (raised.value.why, raised.value.hint) == (why, "")


@pytest.mark.parametrize("ends", [prints(status={"token": "hunter2"}), "echo hello", "exit 1"])
def test_what_a_command_writes_to_stderr_appears_there_once_and_without_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ends: str
) -> None:
    body = f"printf 'login ends in 5 min\\n\\nhunter3 \\033[2J\\n' >&2; {ends}"
    given = command(tmp_path, body, env=[{"name": "WHO", "value": "hunter3"}])
    for _ in range(2):
        with suppress(CommandError):
            credentials(given, {}, seconds=300)
    name = given["command"]
    assert capsys.readouterr() == ("", f"{name}: login ends in 5 min\n{name}: *** \\x1b[2J\n")


def test_a_file_that_is_no_program_is_told(tmp_path: Path) -> None:
    given = command(tmp_path, "")
    (tmp_path / "helper").chmod(0o600)
    assert [one.what for one in problems_with(given)] == [
        f"cluster 'east': its credential command '{tmp_path}/helper' cannot be run: Permission denied"
    ]


def test_a_command_that_fails_is_a_problem_of_its_cluster(tmp_path: Path) -> None:
    assert problems_with(command(tmp_path, "echo expired >&2; exit 1")) == (
        east_problem(
            f"cluster 'east': its credential command '{tmp_path}/helper' failed: expired",
            f"Run it by hand to see why, {NEXT}",
            "spec.cluster.existing.kubeconfig",
        ),
    )


@pytest.mark.parametrize(
    ("hint", "step"), [(None, "Install it"), ("apt install helper.\n", "apt install helper")]
)
def test_a_command_that_is_missing_comes_with_the_kubeconfigs_hint(hint: str | None, step: str) -> None:
    given = {"apiVersion": VERSION, "command": "/nonexistent/helper", "installHint": hint}
    assert problems_with(given) == (
        east_problem(
            "cluster 'east': its credential command '/nonexistent/helper' is not installed",
            step,
            "spec.cluster.existing.kubeconfig",
        ),
    )


@pytest.mark.parametrize("broken", ["helper", {"command": "x", "env": [3]}, {"command": "x", "args": 3}])
def test_an_exec_of_another_form_is_a_problem_of_the_kubeconfig(broken: Any) -> None:
    (problem,) = problems_with(broken)
    assert problem.what == (
        "cluster 'east': kubeconfig configuration key east, line 16: its exec is not a mapping with command, "
        "args (a list) and env (a list of name and value)"
    )


@pytest.mark.parametrize(
    "body",
    [
        "echo hunter2",
        'echo \'{"status": {"token": "hunter2"}, "apiVersion": "hunter2"}\'',
        prints(status={"token": ["hunter2"]}),
        prints(status={"clientCertificateData": "hunter2"}),
        'printf hunter2; echo "no use for hunter2, $WHO" >&2; exit 1',
    ],
)
def test_nothing_that_a_command_prints_for_us_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    given = command(tmp_path, body, env=[{"name": "WHO", "value": "hunter3"}])
    with pytest.raises(CommandError) as raised:
        credentials(given, {}, seconds=300)
    assert "hunter" not in f"{raised.value} {capsys.readouterr()}"


def test_a_command_is_looked_up_in_no_folder_that_a_repository_could_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither `.` in the PATH, nor a PATH in the kubeconfig."""
    command(tmp_path, "touch ran")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
    given = {"apiVersion": VERSION, "command": "helper", "env": [{"name": "PATH", "value": str(tmp_path)}]}
    with pytest.raises(CommandError, match="is not installed"):
        credentials(given, {}, seconds=300)
    assert not (tmp_path / "ran").exists()
