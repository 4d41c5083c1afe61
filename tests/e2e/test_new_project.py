"""A project of one's own, by the commands of its README: no checkout, and a model that answers."""

import os
import re
import subprocess
from pathlib import Path

from installed import CLEAN, ROOT, install, wheel_in

from sandbox import clusters
from sandbox.orphans.owner import claim
from sandbox.places import StackPlaces

VALIDATE = "inferfleet validate --all"
PREVIEW = """\
eval "$(inferfleet sandbox env --stack local)"
pulumi preview --stack local --non-interactive
"""
HIDDEN = "Pulumi.yaml:9: setting await is in Pulumi.yaml, where commands without Pulumi do not read it"
AGAIN = """\
eval "$(inferfleet sandbox env --stack local)"
pulumi preview --stack local --expect-no-changes --non-interactive
pulumi new "$TEMPLATE" --generate-only --yes --non-interactive --name fleet \
  --description "A GPU inference fleet" --dir ../other
"""
# Pulumi notes the template in the one, and `inferfleet new` its version in the other.
DIFFERENT = {"Pulumi.yaml", "requirements.txt"}
_FENCE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_readme_end_with_an_answer(tmp_path: Path) -> None:
    project = tmp_path / "fleet"
    programs = install(wheel_in(tmp_path), project / ".venv")
    # CI locks stacks that do not say otherwise, and this one does; what else is set is of no concern.
    environment = CLEAN | {
        "PATH": os.pathsep.join([str(programs), CLEAN["PATH"]]),
        "TEMPLATE": str(ROOT / "template"),
    }
    subprocess.run(["inferfleet", "new", project], env=environment, check=True, timeout=60)
    _, begin, *_ = _FENCE.findall((project / "README.md").read_text())
    claim(StackPlaces(project, "local"), os.getpid())
    try:
        begun = bash(begin, project, environment)
        assert begun.returncode == 0, begun.stdout + begun.stderr
        # A stand-in of an engine answers with what it was told.
        answer = r"chat on ml/qwen3-8b-decode-l4-\S+: you said 6 tokens, 'Say hello in one short sentence\.'"
        assert re.search(f"^{answer}$", begun.stdout, re.MULTILINE), begun.stdout
        again = bash(AGAIN, project, environment)
        assert again.returncode == 0, again.stdout + again.stderr
        assert files(tmp_path / "other") == files(project, like=tmp_path / "other")
        with (project / "Pulumi.yaml").open("a") as pulumi_yaml:
            pulumi_yaml.write("config:\n  inferfleet:await: applied\n")
        for command in (VALIDATE, PREVIEW):
            hidden = bash(command, project, environment)
            assert hidden.returncode != 0
            assert HIDDEN in hidden.stdout + hidden.stderr
    finally:
        clusters.down(project, "local")


def files(folder: Path, *, like: Path | None = None) -> dict[str, str]:
    """The texts of a project by path: all of them, or of those that another one has."""
    names = {str(file.relative_to(like or folder)) for file in (like or folder).rglob("*") if file.is_file()}
    return {name: (folder / name).read_text() for name in sorted(names - DIFFERENT)}


def bash(commands: str, project: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
