"""The package as others install it: a wheel, in an environment that knows no checkout."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "INFERFLEET"))}


def wheel_in(folder: Path) -> Path:
    """The wheel of this checkout; what builds it comes from the package index, in the pinned versions."""
    # pip wants hashes of everything as soon as one is named, and asks for more than is pinned there.
    lines = (ROOT / "requirements-tools.txt").read_text().splitlines()
    pinned = [line.rstrip(" \\") for line in lines if line[:1].isalnum()]
    (folder / "tools.txt").write_text("\n".join(pinned) + "\n")
    constraint = f"--build-constraint={folder / 'tools.txt'}"
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", constraint, "-w", folder, ROOT]
    subprocess.run(words, env=CLEAN, check=True, timeout=600)
    (made,) = folder.glob("*.whl")
    return made


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
