"""Starts a program that ends with this process, by a name inside the cluster's folder."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_WITH_PARENT = Path(__file__).with_name("with_parent.py")
# Without it Pythons of some distributions do not start.
_OF_PYTHON = "LD_LIBRARY_PATH"


def linked(cluster_folder: Path, name: str, program: Path) -> Path:
    """The program under a name by which the sandbox finds and ends it with the cluster."""
    link = cluster_folder / "bin" / name
    if not (link.is_symlink() and link.readlink() == program):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(program)
    return link


async def spawn(
    program: Path, *args: str, env: Mapping[str, str] | None = None, **how: Any
) -> asyncio.subprocess.Process:
    """The running program. The kernel kills it when this process ends, however that ends.

    Nothing of this process runs in the child: what gRPC does after a fork crashes there, most of all beside a
    busy channel (https://github.com/grpc/grpc/issues/43055). Python forks in a way that skips it as long as
    it has nothing to call in between.
    """
    python = Path(sys.executable).resolve()
    launch = [str(python), "-I", "-S", str(_WITH_PARENT), str(os.getpid()), str(program)]
    if env is not None and _OF_PYTHON in os.environ:
        env = {_OF_PYTHON: os.environ[_OF_PYTHON], **env}
    return await asyncio.create_subprocess_exec(*launch, *args, env=env, start_new_session=True, **how)


async def end(process: asyncio.subprocess.Process, grace: float) -> None:
    """Asks it to end, and after `grace` seconds does not ask any more."""
    if process.returncode is None and grace > 0:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), grace)
    if process.returncode is None:
        _signal(process, signal.SIGKILL)
        await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):  # ended, and not waited for yet
        os.kill(process.pid, number)
