"""A sandbox is ended for others only when its folder is gone or the process that it belonged to has ended."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox.cluster import podnet, ports
from sandbox.orphans import owner
from sandbox.orphans import sweep as sweeping
from sandbox.orphans.owner import RECORD, claim, owner_of
from sandbox.orphans.sweep import Orphan, orphans, stack_folder, sweep
from sandbox.places import StackPlaces
from sandbox.problem import SandboxProblem
from sandbox.processes import own_processes


@pytest.fixture(autouse=True)
def _nothing_but_the_test_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(
        sweeping,
        "own_processes",
        lambda: [process for process in own_processes() if tmp_path in process.program.parents],
    )


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StackPlaces:
    """A checkout with a sandbox, whose owner nobody watches."""
    monkeypatch.setattr(owner, "_watch", lambda folder: None)
    made = StackPlaces(tmp_path / "checkout", "s")
    made.cluster_folder("east").mkdir(parents=True)
    return made


def _program(places: StackPlaces) -> "subprocess.Popen[bytes]":
    """A program that runs in the cluster, and is sure to have its command line."""
    link = places.cluster_folder("east") / "bin" / "etcd"
    link.parent.mkdir()
    link.symlink_to("/bin/cat")
    program = subprocess.Popen([str(link)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(b"\n")
    program.stdin.flush()
    program.stdout.readline()
    return program


def test_a_sandbox_without_owner_lives_as_long_as_its_folder(places: StackPlaces) -> None:
    with _program(places) as program:
        assert orphans() == ()
        shutil.rmtree(places.folder)
        assert orphans() == (Orphan(places.folder, "its folder is gone", 1),)
        shutil.rmtree(places.root)
        why = f"its checkout {places.root} is gone"
        assert orphans() == (Orphan(places.folder, why, 1),)
        said: list[str] = []
        sweep(dry_run=True, say=said.append)
        assert f"would end {places.folder}: {why} (1 process)" in said
        assert program.poll() is None
        sweep(dry_run=False, say=said.append)
        assert program.wait() != 0
    assert orphans() == ()


def test_a_sandbox_ends_with_its_owner_and_not_before(places: StackPlaces) -> None:
    with _program(places) as program, subprocess.Popen(["/bin/sleep", "60"]) as test_run:
        claim(places, test_run.pid)
        assert orphans() == ()
        test_run.kill()
        test_run.wait()
        why = f"process {test_run.pid}, which it belonged to, has ended"
        assert orphans() == (Orphan(places.folder, why, 1),)
        sweep(dry_run=False, say=lambda line: None)
        assert program.wait() != 0
    assert not places.folder.exists()


def test_a_number_that_another_process_has_now_is_not_the_owner(places: StackPlaces) -> None:
    claim(places, os.getpid())
    recorded = json.loads((places.folder / RECORD).read_text())
    ours = owner_of(places.folder)
    assert ours is not None
    assert not ours.ended()
    for change, ended in (
        ({"started": recorded["started"] - 1}, True),
        ({"boot": "before"}, True),
        ({"started": recorded["started"] - 1, "namespace": 1}, False),
    ):
        (places.folder / RECORD).write_text(json.dumps(recorded | change))
        changed = owner_of(places.folder)
        assert changed is not None
        assert changed.ended() is ended, change


@pytest.mark.parametrize("text", ["", "[]", "{", '{"pid": 1}'])
def test_a_damaged_record_leaves_the_sandbox_alone(places: StackPlaces, text: str) -> None:
    (places.folder / RECORD).write_text(text)
    ports.reserve(places.cluster_folder("east"))
    assert orphans() == ()


def test_a_process_that_does_not_run_owns_nothing(places: StackPlaces) -> None:
    with subprocess.Popen(["/bin/true"]) as ended:
        pass
    with pytest.raises(SandboxProblem, match=f"there is no process {ended.pid}"):
        claim(places, ended.pid)


def test_reservations_of_a_folder_that_is_gone_are_given_back(places: StackPlaces) -> None:
    cluster = places.cluster_folder("east")
    ports.reserve(cluster)
    podnet.network(cluster)
    shutil.rmtree(places.root)
    assert [orphan.processes for orphan in orphans()] == [0]
    sweep(dry_run=False, say=lambda line: None)
    assert (ports.reserved(), podnet.reserved()) == ((), ())


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/home/me/fleet/.sandbox/local/kwok/clusters/c/bin/etcd", "/home/me/fleet/.sandbox/local"),
        ("/home/me/fleet/.sandbox/local/cloud/bin/cloud", "/home/me/fleet/.sandbox/local"),
        ("/home/me/.sandbox/other/bin/program", None),
        ("/usr/bin/etcd", None),
        ("/", None),
    ],
)
def test_only_programs_of_a_sandbox_of_ours_count(path: str, folder: str | None) -> None:
    assert stack_folder(Path(path)) == (Path(folder) if folder else None)
