"""The package as others install it: a wheel, in an environment that knows no checkout."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "INFERFLEET"))}


def wheel_in(folder: Path, source: Path = ROOT) -> Path:
    """The wheel of this checkout, or of a source distribution of it."""
    constraint = f"--build-constraint={_tools(folder)}"
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", constraint, "-w", folder, source]
    subprocess.run(words, env=CLEAN, check=True, timeout=600)
    (made,) = folder.glob("*.whl")
    return made


def source_distribution_in(folder: Path) -> Path:
    """The source distribution of this checkout."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", f"--constraint={_tools(folder)}"]
    backend = ["--target", folder / "backend", "hatchling", "hatch-vcs"]
    subprocess.run([*pip, *backend], env=CLEAN, check=True, timeout=600)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder]
    env = CLEAN | {"PYTHONPATH": str(folder / "backend")}
    subprocess.run(build, cwd=ROOT, env=env, check=True, capture_output=True, timeout=600)
    (made,) = folder.glob("*.tar.gz")
    return made


def _tools(folder: Path) -> Path:
    """A file with the pinned versions of what builds the package, which comes from the package index."""
    # pip wants hashes of everything as soon as one is named, and asks for more than is pinned there.
    lines = (ROOT / "requirements-tools.txt").read_text().splitlines()
    pinned = [line.rstrip(" \\") for line in lines if line[:1].isalnum()]
    (folder / "tools.txt").write_text("\n".join(pinned) + "\n")
    return folder / "tools.txt"


def install(wheel: Path, into: Path) -> Path:
    """The folder of programs of a new environment, with the wheel beside the pinned packages of this one."""
    venv.create(into, symlinks=True)
    place = {"base": str(into), "platbase": str(into)}
    site, pinned = (Path(sysconfig.get_path("purelib", vars=given)) for given in (place, None))
    # Such a file there, which leads to this checkout, is not read: that happens in one folder alone.
    (site / "pinned.pth").write_text(f"{pinned}\n")
    (site / "pip").symlink_to(pinned / "pip")
    programs = into / "bin"
    words = [sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet", "--no-deps"]
    subprocess.run([*words, wheel], env=CLEAN, check=True, timeout=600)
    return programs
