"""What is missing is brought with as little waiting as there can be, and whoever waits is told for what."""

import io
import threading
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sandbox.problem import SandboxProblem
from sandbox.toolchain import build as building
from sandbox.toolchain import supply
from sandbox.toolchain.build import build
from sandbox.toolchain.machine import Machine
from sandbox.toolchain.parts import EXTRA, PARTS, Part, Program
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.releases import RELEASES, Choice
from sandbox.toolchain.side_by_side import Stop, Stopped
from sandbox.toolchain.supply import Supply, announcement, in_order

GIB = 1 << 30
TWO_CORES = Machine(2, 16 * GIB)


def _part(name: str, minutes: int) -> Part:
    return Part(name=name, version="1.0.0", programs=(Program(name),), minutes=minutes)


QUICK, SMALL, LARGE, LARGEST = (_part(*of) for of in (("q", 1), ("s", 2), ("l", 5), ("ll", 8)))


def test_quick_parts_are_built_first_and_then_the_largest() -> None:
    assert in_order([SMALL, LARGE, QUICK, LARGEST]) == (QUICK, LARGEST, LARGE, SMALL)
    names = [part.name for part in in_order((*PARTS, *EXTRA)) if part.minutes]
    quick = ["language-python", "bbr", "ratelimit"]
    assert names[:6] == [*quick, "kubernetes-provider", "istio", "envoy-gateway"]


def _supply(*, releases: bool, built: tuple[Part, ...], silent: tuple[str, ...] = ()) -> Supply:
    fetched = RELEASES[:2] if releases else ()
    return Supply(fetched, built, 1000 if releases else 0, silent, Choice(True))


def test_it_is_said_at_once_which_way_the_toolchain_comes_and_how_long_that_takes() -> None:
    goes_on = "Ctrl-C interrupts it; the same command goes on from what is there by then"
    silent = _supply(releases=False, built=(QUICK, LARGEST), silent=("dl.k8s.io", "github.com"))
    cases = {
        announcement(_supply(releases=True, built=()), TWO_CORES): (
            "the toolchain is fetched: official releases, 1000 MB, about 2 min at 100 Mbit/s "
            f"(kube 1.36.0, pulumi 3.250.0)\n{goes_on}"
        ),
        announcement(silent, TWO_CORES): (
            "the toolchain is built here, because dl.k8s.io, github.com do not answer: about 9 min on "
            f"2 cores when nothing is cached (q 1, ll 8)\n{goes_on}"
        ),
        announcement(silent, Machine(8, 16 * GIB)): (
            "the toolchain is built here, because dl.k8s.io, github.com do not answer: about 2 min on "
            f"8 cores when nothing is cached (q 1, ll 2)\n{goes_on}"
        ),
        announcement(_supply(releases=True, built=(SMALL,)), TWO_CORES): (
            "the toolchain is fetched: official releases, 1000 MB, about 2 min at 100 Mbit/s "
            "(kube 1.36.0, pulumi 3.250.0)\n"
            "parts of it are built here, because no release is used for them: about 2 min on 2 cores when "
            f"nothing is cached (s 2)\n{goes_on}"
        ),
        announcement(_supply(releases=False, built=(_part("files", 0),)), TWO_CORES): "",
    }
    assert [*cases] == [*cases.values()]


@pytest.fixture
def parts_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of parts as their builds began; nothing can be fetched."""
    began: list[str] = []
    monkeypatch.setattr(supply, "store", lambda: tmp_path)
    monkeypatch.setattr(supply, "machine", lambda: TWO_CORES)
    monkeypatch.setattr(supply, "go", lambda _: Path("go"))
    monkeypatch.setenv("INFERFLEET_DOWNLOAD", "never")
    return began


def _bring(*parts: Part) -> str:
    said = io.StringIO()
    supply.bring(parts, (), Progress(Console(file=said, width=1000)), lambda: said.write("it begins\n"))
    return said.getvalue()


def test_large_parts_are_built_two_at_once_and_quick_ones_alone(
    parts_built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2)

    def built(part: Part, *_: Any, **__: Any) -> None:
        parts_built.append(part.name)
        if part in (LARGEST, LARGE):
            both.wait(60)  # each of them waits until the other runs

    monkeypatch.setattr(supply, "build", built)
    said = _bring(SMALL, LARGE, QUICK, LARGEST)
    assert (parts_built[0], {*parts_built[1:3]}, parts_built[3]) == ("q", {"ll", "l"}, "s")
    assert said.splitlines()[-1] == "it begins"


def test_a_build_that_fails_ends_the_others_and_says_what_is_kept(
    parts_built: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(part: Part, cache: Path, *_: Any, stop: Stop, **__: Any) -> None:
        if part is QUICK:
            (cache / part.key).mkdir()
        elif part is LARGE:
            raise SandboxProblem("the network does not answer")
        else:
            while True:  # as a build does that looks whether it is to go on
                stop.check()

    monkeypatch.setattr(Part, "key", property(lambda part: f"{part.name}-built"))
    monkeypatch.setattr(supply, "build", built)
    with pytest.raises(SandboxProblem) as told:
        _bring(SMALL, LARGE, QUICK, LARGEST)
    assert str(told.value) == "the network does not answer\nready: q; not there yet: ll, l, s"


GO = """#!/bin/sh
echo "$GOGC $GOMEMLIMIT" > {folder}/settings
echo "go: downloading example.com/m v1.0.0" >&2
{last}
"""


def _go(folder: Path, last: str) -> Path:
    tool = folder / "go"
    tool.write_text(GO.format(folder=folder, last=last))
    tool.chmod(0o755)
    return tool


def _build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str, stop: Stop) -> None:
    monkeypatch.setattr(building, "go_environment", lambda: {"PATH": "/usr/bin:/bin"})
    monkeypatch.setattr(Part, "folder", property(lambda _: tmp_path / "module"))
    (tmp_path / "module").mkdir()
    progress = Progress(Console(file=io.StringIO(), width=1000))
    tool = _go(tmp_path, last)
    build(SMALL, tmp_path / "cache", tool, TWO_CORES, count="1/1", progress=progress, stop=stop)


def test_without_a_network_the_next_step_is_said_and_nothing_half_made_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = [
        f'm{number}@v1: Get "https://proxy/m": dial tcp: lookup proxy: no such host' for number in (1, 2, 3)
    ]
    last = "cat >&2 <<'end'\n" + "\n".join(modules) + "\nend\nexit 1"
    with pytest.raises(SandboxProblem) as told:
        _build(tmp_path, monkeypatch, last, Stop())
    assert str(told.value) == (
        "`go build -v ...` failed:\n"
        f"  {modules[1]}\n  {modules[2]}\n  and 1 more of these\n"
        "The network does not reach Go's module proxy: connect this machine, or check GOPROXY. Then run the "
        "same command again: what is compiled already is kept."
    )
    assert [file.suffix for file in (tmp_path / "cache").iterdir()] == [".lock"]
    assert (tmp_path / "settings").read_text() == "off 3072MiB\n"


def test_a_build_that_is_stopped_ends_its_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        _build(tmp_path, monkeypatch, "exec sleep 600", stop)


@pytest.mark.parametrize(
    ("computer", "builds", "collection"),
    [
        (TWO_CORES, 2, {"GOGC": "off", "GOMEMLIMIT": "3072MiB"}),
        (Machine(2, 9 * GIB), 2, {"GOGC": "off", "GOMEMLIMIT": "2304MiB"}),
        (Machine(2, 6 * GIB), 1, {"GOGC": "off", "GOMEMLIMIT": "3072MiB"}),
        (Machine(2, 1 * GIB), 1, {}),
        (Machine(16, 24 * GIB), 2, {}),
    ],
)
def test_compilers_collect_no_garbage_where_the_memory_holds_it(
    computer: Machine, builds: int, collection: dict[str, str]
) -> None:
    assert (computer.builds, computer.collection) == (builds, collection)
