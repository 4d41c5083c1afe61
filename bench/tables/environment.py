"""Prints the Python that has the parsers of vLLM and SGLang, after installing it: `make engines`.

It is the environment that the sandbox's vLLM runs in. SGLang does not run: it is there without what it
requires, but for what its parser imports.
"""

from pathlib import Path

from sandbox.toolchain.progress import Progress
from sandbox.vllm import packages

# `make lock` writes it.
SGLANG = Path(__file__).with_name("sglang.txt")


def engines_python() -> Path:
    """Return the Python of the environment, after making it where it is not there."""
    folder = packages.installed(Progress())
    ready = folder / f"sglang-{packages.digest(SGLANG)}"
    if not ready.exists():
        packages.install(folder, SGLANG)
        ready.touch()
    return packages.python(folder)


if __name__ == "__main__":
    print(engines_python())
