"""What the verbs that need no credentials never touch: kubeconfigs, programs, sockets."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_project import LOCK, Project

ROOT = Path(__file__).parents[2]
# Audit hooks stay until the process ends, so each verb runs in its own.
PROGRAM = """\
import json, sys
touched = []
def note(event, arguments):
    if event == "open" and str(arguments[0]).endswith("kubeconfig"):
        touched.append(str(arguments[0]))
    elif event.startswith(("subprocess.", "os.exec", "os.posix_spawn", "os.fork", "socket.connect")):
        touched.append(event)
sys.addaudithook(note)
from inferfleet.cli.main import app
try:
    app(sys.argv[1:], prog_name="inferfleet")
except SystemExit as ended:
    print(json.dumps([ended.code, touched]), file=sys.stderr)
"""


@pytest.mark.parametrize("verb", ["validate", "plan", "render", "explain ml/qwen"])
def test_a_verb_without_credentials_opens_no_kubeconfig(project: Project, verb: str) -> None:
    project.edit("stacks/prod/clusters.yaml", "path: east.kubeconfig", "path: ../../../outside.kubeconfig")
    os.mkfifo(project.root / "east.kubeconfig")  # reading it would wait for ever
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *verb.split(), "--stack", "prod"],
        cwd=project.root,
        env=os.environ | {"PYTHONPATH": str(ROOT), "KUBECONFIG": str(project.root / "east.kubeconfig")},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert json.loads(ran.stderr.splitlines()[-1]) == [0, []]


def test_a_hostile_lock_is_quoted_in_no_verb(project: Project) -> None:
    """The lock of a pull request is a link to a file of the machine."""
    secret = project.root.parent / f"{project.root.name}-key"
    secret.write_text("-----BEGIN PRIVATE KEY-----\nhunter2\n")
    (project.root / "stacks/prod/placement.lock").symlink_to(secret)
    for verb in ("validate", "plan", "render", "explain ml/qwen", "plan --write"):
        ran = project.run(*verb.split(), "--stack", "prod")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err == (
            "stacks/prod/placement.lock is a symbolic link, which is neither read nor written. "
            "Restore it from version control\n\n1 problem\n"
        )
    assert "hunter2" in secret.read_text()


def test_a_file_that_is_ignored_is_a_warning(project: Project) -> None:
    project.write("stacks/prod/more.YAML", "")
    project.write("stacks/prod/placement.lock", LOCK)
    for verb in ("validate", "plan", "render"):
        ran = project.run(*verb.split(), "--stack", "prod")
        assert (ran.code, ran.err) == (
            0,
            "warning: stacks/prod/more.YAML:1: this file is not read, because its name does not end in .yaml "
            "or .yml, in lowercase. Rename it\n\n1 warning\n",
        )
