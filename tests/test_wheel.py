"""The package as others install it: one wheel, in an environment that has no checkout."""

import subprocess
import zipfile
from pathlib import Path

import pytest
from installed import CLEAN, ROOT, install, source_distribution_in, wheel_in


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel_in(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(wheel, tmp_path_factory.mktemp("scratch")) / "inferfleet"


def run(folder: Path, *words: str | Path) -> str:
    done = subprocess.run(
        words, cwd=folder, env=CLEAN, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_project_made_by_the_wheel_is_planned_without_a_checkout(program: Path, tmp_path: Path) -> None:
    run(tmp_path, program, "new", "fleet")
    fleet = tmp_path / "fleet"
    assert run(fleet, program, "validate", "--all") == (
        "local: valid: classes 65, clusters 1, deployments 1, services 1\n"
    )
    plan = run(fleet, program, "plan", "--stack", "local").splitlines()
    assert plan[2] == "ml/qwen3-8b  east     decode=l4         1     1"
    where = "import inferfleet.program, inferfleet.components.fleet, sandbox; print(inferfleet.__file__)"
    assert run(fleet, program.with_name("python"), "-c", where).startswith(str(program.parents[1]))


def test_the_wheel_holds_components_classes_template_and_changelog_and_requires_nothing_of_google_cloud(
    wheel: Path,
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        required = [
            line.removeprefix("Requires-Dist: ")
            for line in archive.read(metadata).decode().splitlines()
            if line.startswith("Requires-Dist: ")
        ]
    shipped = {
        f"inferfleet/{file.relative_to(ROOT)}"
        for folder in ("classes", "components", "template")
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert shipped - set(names) == set()
    assert {"inferfleet/py.typed", "inferfleet/CHANGELOG.md"} <= set(names)
    assert {name.partition("/")[0].rpartition(".")[2] for name in names} == {
        "inferfleet",
        "sandbox",
        "dist-info",
    }
    of_google = [line for line in required if "google-auth" in line or "pulumi-gcp" in line]
    assert [line.partition("extra == ")[2] for line in sorted(of_google)] == ["'gke'", "'gke'"]


def test_a_wheel_by_way_of_a_source_distribution_has_the_same_files(wheel: Path, tmp_path: Path) -> None:
    again = wheel_in(tmp_path, source_distribution_in(tmp_path))
    with zipfile.ZipFile(wheel) as direct, zipfile.ZipFile(again) as built:
        assert sorted(built.namelist()) == sorted(direct.namelist())
