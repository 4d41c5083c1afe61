"""Locks of a backend of files: whose they are, and whether their processes live."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from inferfleet.recovery.locks import Holder, StackLock, folder_of, holder, process_started, read_locks

TEXT = '{"pid":7,"username":"ann","hostname":"laptop","timestamp":"2026-11-21T11:42:34.435724873Z"}'
LOCK = StackLock("laptop", "ann", 7, 1795261354.435724)


def began(at: float | None) -> Callable[[int], float | None]:
    return lambda process: at if process == 7 else None


@pytest.mark.parametrize(
    ("host", "at", "expected"),
    [
        ("laptop", LOCK.since - 1, Holder.ALIVE),
        ("laptop", 0.0, Holder.ALIVE),  # the system does not tell when it began
        ("laptop", None, Holder.GONE),
        ("laptop", LOCK.since + 60, Holder.GONE),  # another process has the number now
        ("ci-1", None, Holder.UNKNOWN),
    ],
)
def test_a_lock_is_stale_only_when_its_process_is_gone_from_this_machine(
    host: str, at: float | None, expected: Holder
) -> None:
    assert holder(LOCK, host=host, started=began(at)) is expected


def test_locks_of_the_stack_are_read_and_say_whose_they_are(tmp_path: Path) -> None:
    folder = tmp_path / ".pulumi/locks/organization/inferfleet"
    for stack in ("prod", "dev"):
        (folder / stack).mkdir(parents=True)
        (folder / stack / "1.json").write_text(TEXT)
    assert read_locks(tmp_path, project="inferfleet", stack="prod") == (LOCK,)
    assert str(LOCK) == "process 7 of ann on laptop, since 2026-11-21 11:42:34 UTC"
    assert read_locks(tmp_path, project="inferfleet", stack="other") == ()


def test_a_lock_that_cannot_be_read_is_of_nobody_knows_whom(tmp_path: Path) -> None:
    file = tmp_path / ".pulumi/locks/organization/inferfleet/prod/1.json"
    file.parent.mkdir(parents=True)
    file.write_text("{")
    (lock,) = read_locks(tmp_path, project="inferfleet", stack="prod")
    assert holder(lock, host="laptop", started=began(None)) is Holder.UNKNOWN


@pytest.mark.parametrize(
    ("backend", "folder"),
    [
        ("file:///var/state", Path("/var/state")),
        ("file:///my%20state", Path("/my state")),
        ("file://~", Path.home()),
        ("file://~/state", Path.home() / "state"),
        ("file://./state", Path("/project/state")),
        ("s3://bucket", None),
        ("https://app.pulumi.com/ann", None),
    ],
)
def test_only_a_backend_of_files_has_a_folder(backend: str, folder: Path | None) -> None:
    assert folder_of(backend, Path("/project")) == folder


def test_a_process_that_lives_began_before_now_and_one_that_ended_did_not() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = process_started(child.pid)
    assert started is not None
    assert started <= time.time() + 1
    child.kill()
    # Dead, and nobody has taken note of it yet.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process_started(child.pid) is None
    child.communicate()
    assert process_started(child.pid) is None
