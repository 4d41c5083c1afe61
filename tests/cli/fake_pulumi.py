"""A `pulumi` of a few lines on the PATH: keeps a state and locks in files, and notes how it was called."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """\
#!{python} -IS
import json, pathlib, sys
here = pathlib.Path({folder!r})
words = [word for word in sys.argv[1:] if word != "--non-interactive"]
with (here / "called").open("a") as called:
    called.write(" ".join(words) + "\\n")
told = json.loads((here / "told.json").read_text())
for start, error in told["errors"].items():
    if " ".join(words).startswith(start):
        sys.exit("error: " + error)
state = here / "state.json"
after = lambda flag: [words[place + 1] for place, word in enumerate(words) if word == flag]
if words[0] == "whoami":
    print(json.dumps({{"user": "ann", "url": told["backend"]}}))
elif words[:2] == ["stack", "export"]:
    print(state.read_text())
elif words[0] == "preview":
    print(json.dumps({{"steps": []}}))
elif words[:2] == ["stack", "ls"]:
    print(json.dumps([{{"name": "acme/inferfleet/prod", "updateInProgress": told["busy"]}}]))
elif words[:2] == ["stack", "import"]:
    state.write_text(pathlib.Path(after("--file")[0]).read_text())
elif words[:2] == ["config", "get"]:
    print(told["setting"])
elif words[0] == "cancel":
    for lock in here.rglob("locks/organization/*/prod/*"):
        lock.unlink()
elif words[0] == "refresh":
    export = json.loads(state.read_text())
    kept = [one for one in export["deployment"]["resources"] if one["urn"] not in told["missing"]]
    for one in kept:
        if one["urn"] in after("--target"):
            one["outputs"] = {{"read": True}}
    pending = export["deployment"].get("pending_operations", [])
    creates = [operation for operation in pending if operation["type"] == "creating"]
    export["deployment"] = {{"resources": kept, **({{"pending_operations": creates}} if creates else {{}})}}
    state.write_text(json.dumps(export))
"""


class FakePulumi:
    """`errors` are by the words a call begins with; `missing` are URNs that a provider does not find."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._told: dict[str, Any] = {
            "backend": f"file://{folder}",
            "busy": False,
            "setting": "",
            "errors": {},
            "missing": [],
        }
        program = folder / "bin" / "pulumi"
        program.parent.mkdir(parents=True)
        program.write_text(PROGRAM.format(python=sys.executable, folder=str(folder)))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        self.tells()
        self.has({"version": 3, "deployment": {"resources": []}})

    def tells(self, **answers: Any) -> None:
        self._told |= answers
        (self.folder / "told.json").write_text(json.dumps(self._told))

    def has(self, export: dict[str, Any]) -> None:
        (self.folder / "state.json").write_text(json.dumps(export))

    @property
    def state(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "state.json").read_text())["deployment"])

    @property
    def changing(self) -> list[str]:
        """The calls that change something, by their first two words."""
        calls = [line.split()[:2] for line in (self.folder / "called").read_text().splitlines()]
        changes = (["stack", "import"], ["cancel", "--yes"], ["refresh", "--stack"])
        return [" ".join(call) for call in calls if call in changes]

    def file(self, place: str, text: str) -> Path:
        """A file of the backend."""
        made = self.folder / ".pulumi" / place
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(text)
        return made

    def lock(
        self, process: int, host: str, when: str = "2026-11-21T11:42:34Z", project: str = "inferfleet"
    ) -> Path:
        held = {"pid": process, "username": "ann", "hostname": host, "timestamp": when}
        return self.file(f"locks/organization/{project}/prod/1.json", json.dumps(held))
