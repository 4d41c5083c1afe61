"""What the agent starts ends with it."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox import with_parent
from sandbox.child import end, linked, spawn
from sandbox.cluster.companions import python_link
from sandbox.processes import Process, processes_in

ROOT = Path(__file__).parents[3]
PARENT = """
import asyncio, sys
from pathlib import Path
from sandbox.child import spawn
async def main():
    await spawn(Path(sys.argv[1]), "60")
    print("started", flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
FORKED = """
import asyncio, os
from pathlib import Path
from sandbox.child import spawn
async def main():
    print(await (await spawn(Path("/bin/true"))).wait())
os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), 11))
asyncio.run(main())
"""


def test_a_child_of_a_killed_agent_is_killed_by_the_kernel(tmp_path: Path) -> None:
    program = linked(tmp_path, "epp", Path("/bin/sleep"))
    command = [sys.executable, "-c", PARENT, str(program)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "started\n"
        (child,) = _found(tmp_path)
        parent.kill()
    alive = Path(f"/proc/{child.pid}")
    # The signal is sent before the parent can be waited for; the child is gone as soon as it is scheduled.
    for _ in range(1_000_000):
        if child not in processes_in(tmp_path) or not alive.exists():
            break
    assert processes_in(tmp_path) == ()


def _found(folder: Path) -> tuple[Process, ...]:
    """Once a program of the folder runs: for a moment after its start it is another one."""
    until = time.monotonic() + 300
    while not (processes := processes_in(folder)):
        assert time.monotonic() < until
    return processes


def test_a_child_whose_parent_has_ended_already_does_not_begin() -> None:
    with subprocess.Popen(["/bin/true"]) as ended:
        pass
    command = [sys.executable, "-I", "-S", with_parent.__file__, str(ended.pid), "/bin/echo", "here"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        f"/bin/echo was not started: process {ended.pid} has ended\n",
    )


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def ended() -> tuple[int | None, bytes]:
        process = await spawn(tmp_path / "epp", stderr=asyncio.subprocess.PIPE)
        _, said = await process.communicate()
        return process.returncode, said

    said = f"{tmp_path}/epp could not be started: No such file or directory\n".encode()
    assert asyncio.run(ended()) == (1, said)


def test_a_child_has_the_environment_it_is_given_and_what_python_needs_to_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def said() -> bytes:
        env = {"OWN": "yes"}
        process = await spawn(Path("/usr/bin/env"), env=env, stdout=asyncio.subprocess.PIPE)
        return (await process.communicate())[0]

    monkeypatch.setenv("OTHER", "of the agent")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert asyncio.run(said()) == b"OWN=yes\n"
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/python/lib")
    assert asyncio.run(said()) == b"LD_LIBRARY_PATH=/opt/python/lib\nOWN=yes\n"


def test_nothing_of_the_agent_runs_in_its_children() -> None:
    """What libraries do in a forked process, gRPC's among them, crashes there every third time."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_a_child_that_does_not_end_when_asked_is_ended(tmp_path: Path) -> None:
    async def stubborn() -> int | None:
        process = await spawn(
            *(Path("/bin/sh"), "-c", "trap '' TERM; echo ready; while :; do read x; done"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        await process.stdout.readline()
        await end(process, 0.1)
        return process.returncode

    assert asyncio.run(stubborn()) == -9


def test_python_by_a_name_of_the_cluster_is_found_like_the_cluster_s_programs(tmp_path: Path) -> None:
    command = [str(python_link(tmp_path, "agent")), "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        # For a moment after its start a process has no command line.
        process.stdout.readline()
        (running,) = processes_in(tmp_path)
        assert (running.pid, running.program) == (process.pid, tmp_path / "bin" / "agent")
        assert process.stdin is not None
        process.stdin.write(b"\n")
