"""The plugin is started by the engine, in the folder of somebody's project."""

import subprocess
from pathlib import Path

from sandbox.gcp import lifecycle
from sandbox.places import StackPlaces


def test_a_package_of_the_project_is_not_taken_for_the_sandbox(tmp_path: Path) -> None:
    places = StackPlaces(tmp_path, "local")
    places.cloud.mkdir(parents=True)
    own = tmp_path / "sandbox" / "__init__.py"
    own.parent.mkdir()
    own.write_text("raise SystemExit('this is the sandbox of the project')")
    lifecycle._install_plugin(places)
    (plugin,) = places.pulumi_home.glob("plugins/resource-gcp-v*/pulumi-resource-gcp")
    with subprocess.Popen([plugin], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().strip().isdecimal()  # its port
        finally:
            process.kill()
