"""The mirror of the measurement has what releases need, and its line can be cut."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from bench import first_answer
from bench.first_answer import Line, fill, served
from sandbox.toolchain.download import NotFetched, fetch
from sandbox.toolchain.parts import Files, Part, Program
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.releases import WHOLE, Archive, Choice, Image, Release
from sandbox.toolchain.resolve import Resolved
from sandbox.toolchain.side_by_side import Stop
from sandbox.toolchain.tools import Tools

PART = Part(
    "part",
    "1.0.0",
    (Program("packed"), Program("bare"), Program("of-image")),
    (Files("m", "charts", "values.yaml", "own"),),
)
RELEASE = Release(
    (PART,),
    "1.0.0",
    (
        Archive("https://files.example/{arch}.tgz", {"packed": "bin/packed", "own/values.yaml": "v"}, {}, ""),
        Archive("https://files.example/{arch}", {"bare": WHOLE}, {}, ""),
        Image("docker.io/own/image:1", "", {"of-image": "usr/bin/of-image"}, ("amd64",), ""),
    ),
)
CONTENTS = {"packed": b"1" * 3000, "bare": b"2", "of-image": b"3", "own/values.yaml": b"4"}


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    """The release as the mirror in the folder `mirror` has it, made of a part that is there."""
    monkeypatch.setattr(first_answer, "RELEASES", (RELEASE,))
    monkeypatch.setattr(first_answer, "architecture", lambda: "amd64")
    for name, content in CONTENTS.items():
        file = tmp_path / "part" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    [made] = fill(tmp_path / "mirror", Tools((Resolved(PART, "cache", tmp_path / "part"),), ""))
    return made


def _fetched(release: Release, cache: Path, url: str) -> Path:
    progress = Progress(Console(file=io.StringIO(), width=1000))
    chosen = Choice(True, url)
    return fetch(release, "amd64", cache, chosen, count="1/1", progress=progress, seconds=60.0, stop=Stop())


def test_a_mirror_that_is_filled_here_has_what_releases_need(release: Release, tmp_path: Path) -> None:
    line = Line(megabits=1e6)
    with served(tmp_path / "mirror", line, None) as url:
        folder = _fetched(release, tmp_path / "cache", url)
    assert {name: (folder / name).read_bytes() for name in CONTENTS} == CONTENTS
    assert line.sent > 0


def test_after_the_cut_nothing_is_had(release: Release, tmp_path: Path) -> None:
    line = Line(megabits=1e6)
    with served(tmp_path / "mirror", line, None) as url:
        line.is_cut = True
        with pytest.raises(NotFetched):
            _fetched(release, tmp_path / "cache", url)
