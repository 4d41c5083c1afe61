"""Updates that are killed with all that they started, as when a machine goes down."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from project import Project


@contextmanager
def update(project: Project) -> Iterator[subprocess.Popen[str]]:
    """A running `pulumi up`, killed at the end with all that it started, unless it has ended."""
    going = subprocess.Popen(
        ["pulumi", "up", "--yes", "--skip-preview", "--stack", project.stack, "--non-interactive"],
        cwd=project.root,
        env=dict(project.environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield going
    finally:
        left = started_by(going.pid)
        # One that has ended has no group any more.
        with suppress(ProcessLookupError):
            os.killpg(going.pid, signal.SIGKILL)
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        going.communicate()


def started_by(process: int) -> list[int]:
    """Plugins of an engine and the program they run: no part of its group, they would live on without it."""
    children: list[int] = []
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        # A thread may have ended since it was listed.
        with suppress(FileNotFoundError, ProcessLookupError):
            children += map(int, file.read_text().split())
    return [one for child in children for one in (child, *started_by(child))]
