"""The guide to prefill and decode shows what the program says of its document."""

import re
import shlex
from pathlib import Path

from test_pages import CATALOGUE, ROOT, documents

from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.documents import load
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.names import ROLE

GUIDE = ROOT / "docs/guides/prefill-and-decode.md"


def made(file: Path, text: str) -> Desired:
    file.write_text(text)
    read = load([file], settings=Settings(stack="prod"), catalogue=CATALOGUE)
    return desired(read, Lock(stack="prod"))


def test_the_objects_are_those_that_the_guide_lists(tmp_path: Path) -> None:
    (text,) = documents(GUIDE)
    [cluster] = made(tmp_path / "model.yaml", text).clusters
    names = {
        f"{one.kind.lower()}-{one.kubernetes_name}.yaml" for one in cluster.objects if "/ml/" in one.name
    }
    assert set(re.findall(r"^[a-z]+-qwen3.*\.yaml$", GUIDE.read_text(), re.MULTILINE)) == names


def test_the_command_lines_are_those_that_the_guide_shows(tmp_path: Path) -> None:
    (text,) = documents(GUIDE)
    [cluster] = made(tmp_path / "model.yaml", text).clusters
    lines = {
        f"engine of role {one.manifest['metadata']['labels'][ROLE]}: "
        f"{shlex.join([*container['command'], *container['args']])}"
        for one in cluster.objects
        if one.kind == "Deployment"
        for container in one.manifest["spec"]["template"]["spec"]["containers"]
        if container["name"] == "engine"
    }
    assert set(re.findall(r"^engine of role .*$", GUIDE.read_text(), re.MULTILINE)) == lines
