"""What a package lacks and what it has besides is found."""

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

from bench.packages import ROOT, faults


def test_a_file_that_is_missing_and_one_that_is_no_part_of_the_repository_are_named(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    tracked = [name for name in listed.stdout.splitlines() if name != "inferfleet/components"]
    with tarfile.open(tmp_path / "x-1.tar.gz", "w:gz") as source:
        for name in [*tracked, "notes.txt"]:
            source.addfile(tarfile.TarInfo(f"x-1/{name}"), io.BytesIO())
    with zipfile.ZipFile(tmp_path / "x-1.whl", "w") as wheel:
        for name in tracked:
            top = name.partition("/")[0]
            if top in ("components", "classes", "template", "CHANGELOG.md"):
                name = f"inferfleet/{name}"
            if top != "sandbox" and name.startswith("inferfleet/") and name != "inferfleet/py.typed":
                wheel.writestr(name, "")
    found = list(faults(tmp_path))
    assert found[0] == "x-1.whl lacks inferfleet/py.typed"
    assert {line.partition(" lacks ")[2].partition("/")[0] for line in found[1:-1]} == {"sandbox"}
    assert found[-1] == "x-1.tar.gz has notes.txt, which the repository has not"
