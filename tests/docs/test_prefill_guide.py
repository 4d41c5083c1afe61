"""The guide to prefill and decode shows what the program says of its document."""

import re
from pathlib import Path

import pytest
from test_pages import CATALOGUE, ROOT, documents

from inferfleet.api import load
from inferfleet.api.kinds.settings import Settings
from inferfleet.api.problems import InvalidDocuments
from inferfleet.desired import desired
from inferfleet.desired.values import Desired
from inferfleet.fleet.lock.lock import Lock

GUIDE = ROOT / "docs/guides/prefill-and-decode.md"
# Of decode and of prefill, in the edit that the guide tells of.
SIZES, BLOCKS = (("4", "3"), ("1", "2")), ("64", "128")


def made(file: Path, text: str) -> Desired:
    file.write_text(text)
    read = load([file], settings=Settings(stack="prod"), catalogue=CATALOGUE)
    try:
        return desired(read, Lock(stack="prod"))
    except InvalidDocuments as error:
        raise InvalidDocuments(read.located(error.problems)) from error


def test_the_objects_are_those_that_the_guide_lists(tmp_path: Path) -> None:
    (text,) = documents(GUIDE)
    [cluster] = made(tmp_path / "model.yaml", text).clusters
    names = {
        f"{one.kind.lower()}-{one.kubernetes_name}.yaml" for one in cluster.objects if "/ml/" in one.name
    }
    assert set(re.findall(r"^[a-z]+-qwen3.*\.yaml$", GUIDE.read_text(), re.MULTILINE)) == names


def test_the_flags_are_those_that_the_guide_shows(tmp_path: Path) -> None:
    (text,) = documents(GUIDE)
    [cluster] = made(tmp_path / "model.yaml", text).clusters
    args = {
        argument
        for one in cluster.objects
        if one.kind == "Deployment"
        for container in one.manifest["spec"]["template"]["spec"]["containers"]
        if container["name"] == "engine"
        for argument in container["args"]
    }
    shown = re.findall(
        r'^  spec\.containers\[engine\]\.args\[--.*\]: "(.*)" \(new\)$', GUIDE.read_text(), re.M
    )
    assert {line.replace('\\"', '"') for line in shown} == args - {"Qwen/Qwen3-32B-FP8"}


def test_the_problems_are_those_that_the_guide_shows(tmp_path: Path) -> None:
    (text,) = documents(GUIDE)
    for (before, after), block in zip(SIZES, BLOCKS, strict=True):
        text = text.replace(f"tensor: {before}", f"tensor: {after}")
        text = text.replace("[Qwen/Qwen3-32B-FP8]", f"[Qwen/Qwen3-32B-FP8, --block-size={block}]", 1)
    with pytest.raises(InvalidDocuments) as caught:
        made(tmp_path / "model.yaml", text)
    told = [re.sub(r"/\S*/model", "model", str(problem)) for problem in caught.value.problems]
    shown = re.findall(r"^model\.yaml:.*$", GUIDE.read_text(), re.MULTILINE)
    assert told == shown
