"""The flags of endpoint pickers, read where their sources add them: usage hides what is deprecated."""

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

# The module of a picker, and its version.
PICKERS = {
    "gie-1.5": ("sigs.k8s.io/gateway-api-inference-extension", "v1.5.0"),
    "router-0.10": ("github.com/llm-d/llm-d-router", "v0.10.0"),
}
_LOGS = "sigs.k8s.io/controller-runtime"
_FILES = ("pkg/epp/server/options.go", "pkg/common/observability/logging/options.go")
_ADDED = re.compile(r'\bg?o?fs\.\w*?VarP?\(&\w+(?:\.[\w.]+)?,\s*"([\w-]+)"')


class NotOffered(Exception):  # noqa: N818 (the module is)
    """Raised where the module proxy does not offer a module."""


def picker_table(name: str, checkout: Path | None = None) -> dict[str, Any]:
    """Return the names of a picker's flags. Raises NotOffered.

    Its module is downloaded, unless a `checkout` of it is at hand.
    """
    module, version = PICKERS[name]
    folder = checkout or downloaded(module, version)
    required = re.search(rf"^\s*{re.escape(_LOGS)} (\S+)$", (folder / "go.mod").read_text(), re.MULTILINE)
    assert required is not None
    logs = downloaded(_LOGS, required[1]) / "pkg" / "log" / "zap" / "zap.go"
    sources = (*(folder / file for file in _FILES), logs)
    return {
        "generated": "make tables",
        "module": module,
        "version": version,
        "flags": sorted(flag for source in sources for flag in _ADDED.findall(source.read_text())),
    }


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
