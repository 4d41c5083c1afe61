"""The flags of endpoint pickers, read where their sources add them: usage hides what is deprecated."""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# The module of a picker, and its version.
PICKERS = {
    "gie-1.5": ("sigs.k8s.io/gateway-api-inference-extension", "v1.5.0"),
    "router-0.10": ("github.com/llm-d/llm-d-router", "v0.10.0"),
}
_LOGS = "sigs.k8s.io/controller-runtime"
_FILES = ("pkg/epp/server/options.go", "pkg/common/observability/logging/options.go")
_ADDED = re.compile(r'\bg?o?fs\.(\w*?)VarP?\(&(\w+)(?:\.[\w.]+)?,\s*"([\w-]+)"')
_DEPRECATED = re.compile(r'\bfs\.MarkDeprecated\("([\w-]+)",\s*"([^"]*)"')


class NotOffered(Exception):  # noqa: N818 (the module is)
    """Raised where the module proxy does not offer a module."""


def picker_table(name: str, source: Path | None = None) -> dict[str, Any]:
    """Return the flags of a picker by name, with the types of their values in Go. Raises NotOffered.

    Its module is downloaded, unless its `source` is at hand.
    """
    module, version = PICKERS[name]
    folder = source or downloaded(module, version)
    required = re.search(rf"^\s*{re.escape(_LOGS)} (\S+)$", (folder / "go.mod").read_text(), re.MULTILINE)
    assert required is not None
    logs = downloaded(_LOGS, required[1]) / "pkg" / "log" / "zap" / "zap.go"
    flags = [
        flag for path in (*(folder / file for file in _FILES), logs) for flag in flags_in(path.read_text())
    ]
    return {
        "generated": "make tables",
        "module": module,
        "version": version,
        "flags": sorted(flags, key=lambda flag: flag["name"]),
    }


def flags_in(source: str) -> Iterator[dict[str, str]]:
    """Yield the flags that a Go source adds to its FlagSet."""
    deprecated = dict(_DEPRECATED.findall(source))
    for kind, variable, name in _ADDED.findall(source):
        if not kind:
            # A value with a parser of its own: `var levelVal levelFlag`.
            declared = re.search(rf"\bvar {variable} (\w+)|\b{variable} := (\w+)\{{", source)
            kind = declared[1] or declared[2] if declared else ""
        row = {"name": name, "type": kind[:1].lower() + kind[1:]}
        yield row | ({"deprecated": deprecated[name]} if name in deprecated else {})


def downloaded(module: str, version: str) -> Path:
    go = shutil.which("go")
    if go is None:
        raise NotOffered("go is not on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        command = [go, "mod", "download", "-json", f"{module}@{version}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    answer = json.loads(done.stdout)
    if "Dir" not in answer:
        raise NotOffered(answer.get("Error", done.stderr.decode()))
    return Path(answer["Dir"])
