"""The toolchain of end-to-end tests, which a fresh machine builds beside all other tests."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from sandbox import with_parent
from sandbox.toolchain.parts import OF_STACKS
from sandbox.toolchain.resolve import resolve

# Seconds: several times what two slow cores take.
PATIENCE = 4 * 3600
_BUILD = (
    "from sandbox.toolchain.parts import OF_STACKS; from sandbox.toolchain.progress import Progress; "
    "from sandbox.toolchain.tools import make_tools; make_tools(Progress(), OF_STACKS)"
)
_begun: list["subprocess.Popen[str]"] = []


def is_there() -> bool:
    """Return whether nothing has to be built any more."""
    return all(part.source != "missing" for part in resolve(OF_STACKS))


def begin() -> None:
    """Start to build what is missing, in a process of its own."""
    _begun.append(_building(subprocess.DEVNULL))


def wait() -> None:
    """Return once all of it is there. What others build is waited for, and what nobody builds is built."""
    if is_there():
        return
    build = _building(subprocess.PIPE)
    try:
        _, said = build.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        pytest.fail(f"the toolchain was not there after {PATIENCE} s")
    finally:
        _end(build)
    if build.returncode:
        pytest.fail(f"the toolchain could not be built: {said[-2000:]}")


def end() -> None:
    """End what this process builds, as with a test run that is over before."""
    for build in _begun:
        _end(build)


def _building(said: int) -> "subprocess.Popen[str]":
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-I", "-S", with_parent.__file__, str(os.getpid()), sys.executable, "-c", _BUILD],
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=said,
        text=True,
        # So that the compilers can be ended with it.
        start_new_session=True,
    )


def _end(build: "subprocess.Popen[str]") -> None:
    if build.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(build.pid, signal.SIGTERM)
        build.wait()
