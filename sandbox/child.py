"""Starts and ends child processes that cannot outlive this one."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_WITH_PARENT = Path(__file__).with_name("with_parent.py")
# The Python of some distributions does not start without this variable.
_LIBRARY_PATH = "LD_LIBRARY_PATH"


def linked(cluster_folder: Path, name: str, program: Path) -> Path:
    """Return a link to the program in a cluster's folder, by which it is found and ended."""
    link = cluster_folder / "bin" / name
    if not (link.is_symlink() and link.readlink() == program):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(program)
    return link


async def spawn(
    program: Path, *args: str, env: Mapping[str, str] | None = None, **how: Any
) -> asyncio.subprocess.Process:
    """Start the program and return its process, which the kernel kills when this one ends, however it ends.

    The kernel is asked for that by another program (with_parent.py) and not by a `preexec_fn`. With one,
    Python forks in a way that runs gRPC's handlers in the child, which crash there, most of all beside a busy
    channel (https://github.com/grpc/grpc/issues/43055).
    """
    python = Path(sys.executable).resolve()
    launch = [str(python), "-I", "-S", str(_WITH_PARENT), str(os.getpid()), str(program)]
    if env is not None and _LIBRARY_PATH in os.environ:
        env = {_LIBRARY_PATH: os.environ[_LIBRARY_PATH], **env}
    return await asyncio.create_subprocess_exec(*launch, *args, env=env, start_new_session=True, **how)


async def end(process: asyncio.subprocess.Process, grace: float) -> None:
    """Send SIGTERM, and SIGKILL when the process has not ended after `grace` seconds."""
    if process.returncode is None and grace > 0:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), grace)
    if process.returncode is None:
        _signal(process, signal.SIGKILL)
        await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        os.kill(process.pid, number)
