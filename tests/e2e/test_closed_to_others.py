"""A fleet is closed to the network and to other users, and its secrets to whoever has the repository."""

import base64
import os
import socket
import subprocess
from pathlib import Path

import pytest
import yaml
from closed import beyond_loopback, listening, open_to_others
from documents import model, service
from killing import started_by
from project import Project

from sandbox.passphrase import fits
from sandbox.places import StackPlaces
from sandbox.processes import Process, processes_in
from sandbox.pulumi_state import prepare_pulumi
from sandbox.toolchain.tools import present_tools

# The programs of a fleet that listen; the agent and the controller of the gateway only ask.
SERVERS = {
    "engine",
    "envoy",
    "epp",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok-controller",
}
CANARY = "canary-Qe47"


@pytest.fixture(scope="module")
def places(standing: Project) -> StackPlaces:
    return StackPlaces(standing.root, standing.stack)


@pytest.fixture(scope="module")
def heard(standing: Project, places: StackPlaces) -> dict[tuple[str, int], set[str]]:
    """Everything that listened during and after an update: clusters, engine of Pulumi, plugins, program."""
    standing.write("models", model("one"), service("chat", one=1))
    going = subprocess.Popen(
        ["pulumi", "up", "--yes", "--skip-preview", "--stack", standing.stack, "--non-interactive"],
        cwd=standing.root,
        env=dict(standing.environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    found: dict[tuple[str, int], set[str]] = {}
    while True:
        ended = going.poll() is not None
        pulumi = [Process(pid, Path("pulumi")) for pid in (going.pid, *started_by(going.pid))]
        for who, addresses in listening([*processes_in(places.folder), *pulumi]).items():
            found.setdefault(who, set()).update(addresses)
        if ended:
            break
        # A moment in which the update goes on; it may end before.
        try:
            going.wait(0.3)
        except subprocess.TimeoutExpired:
            continue
    output = going.communicate()[0]
    assert going.returncode == 0, output
    return found


def test_what_listens_is_found(heard: dict[tuple[str, int], set[str]]) -> None:
    with socket.create_server(("", 0)):
        ours = Process(os.getpid(), Path("test"))
        assert beyond_loopback(listening([ours])) == ["test 0.0.0.0"]
    assert {program for program, _ in heard} >= SERVERS | {"pulumi"}


def test_every_socket_of_a_fleet_listens_on_loopback_alone(heard: dict[tuple[str, int], set[str]]) -> None:
    assert beyond_loopback(heard) == []


def test_every_file_of_a_sandbox_is_its_owner_s_alone(
    heard: dict[tuple[str, int], set[str]], places: StackPlaces
) -> None:
    assert open_to_others(places.folder.parent) == []


def test_a_secret_of_a_sandbox_needs_a_passphrase_that_is_not_in_the_repository(
    standing: Project, places: StackPlaces
) -> None:
    path = 'inferfleet:secrets["ml/hf"].token'
    assert standing.run("pulumi", "config", "set", "--secret", "--path", path, CANARY).returncode == 0
    text = places.settings.read_text()
    assert CANARY not in text
    assert base64.b64encode(CANARY.encode()).decode() not in text
    assert "secure:" in text
    assert "encryptionsalt" not in text
    kept, passphrase = places.salt.read_text().strip(), places.passphrase.read_text().strip()
    assert (fits("", kept), fits(passphrase, kept)) == (False, True)
    assert len(passphrase) >= 40
    got = standing.run("pulumi", "config", "get", "--path", path)
    assert got.stdout.strip() == CANARY, got.stderr


def test_a_stack_of_an_earlier_version_is_encrypted_anew_with_nothing_lost(
    standing: Project, places: StackPlaces
) -> None:
    """Earlier versions had the empty passphrase, its salt in the settings, and files that all could read."""
    path = 'inferfleet:secrets["ml/hf"].token'
    assert standing.run("pulumi", "config", "set", "--secret", "--path", path, CANARY).returncode == 0
    _make_old(standing, places)
    resources = standing.state()
    tools = present_tools()
    assert tools is not None
    prepare_pulumi(places, tools)
    assert "encryptionsalt" not in places.settings.read_text()
    assert not fits("", places.salt.read_text().strip())
    assert standing.run("pulumi", "config", "get", "--path", path).stdout.strip() == CANARY
    assert standing.state() == resources
    assert resources


def _make_old(project: Project, places: StackPlaces) -> None:
    """Give the stack the empty passphrase, and put its salt into the settings."""
    pulumi = Path(places.programs / "pulumi").read_text().split()[-2]
    salt = places.salt.read_text().strip()
    values = yaml.safe_load(places.settings.read_text())
    places.settings.write_text(yaml.safe_dump({**values, "encryptionsalt": salt}))
    done = subprocess.run(
        [pulumi, "stack", "change-secrets-provider", "passphrase", "--stack", project.stack],
        cwd=project.root,
        env=dict(project.environment),
        input="\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert fits("", yaml.safe_load(places.settings.read_text())["encryptionsalt"])
    places.passphrase.unlink()
    places.salt.unlink()
