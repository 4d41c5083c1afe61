"""A project of one's own, by the commands of its README: no checkout, and a model that answers."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from installed import CLEAN, ROOT, install, wheel_in
from workflows import GH, command, programs_in

from sandbox import clusters
from sandbox.orphans.owner import claim
from sandbox.places import StackPlaces

VALIDATE = "inferfleet validate --all"
SANDBOX = 'eval "$(inferfleet sandbox env --stack local)"\n'
PREVIEW = f"{SANDBOX}pulumi preview --stack local --non-interactive\n"
HIDDEN = "Pulumi.yaml:9: setting await is in Pulumi.yaml, where commands without Pulumi do not read it"
AGAIN = f"""\
{SANDBOX}\
pulumi preview --stack local --expect-no-changes --non-interactive
pulumi new "$TEMPLATE" --generate-only --yes --non-interactive --name fleet \
  --description "A GPU inference fleet" --dir ../other
"""
# Pulumi notes the template in the one, and `inferfleet new` its version in the other.
DIFFERENT = {"Pulumi.yaml", "requirements.txt"}
_FENCE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Own:
    """A new project whose README was followed, and what its commands printed."""

    root: Path
    environment: dict[str, str]
    begun: subprocess.CompletedProcess[str]

    def run(self, *commands: str, **more: str) -> subprocess.CompletedProcess[str]:
        return bash("".join(commands), self.root, self.environment | more)

    def step(self, job: str, name: str, **more: str) -> subprocess.CompletedProcess[str]:
        """A step of the jobs with credentials, which here are those of the sandbox."""
        (*shell, script) = command(self.root, "inferfleet-deploy.yaml", job, name)
        return self.run(SANDBOX, shlex.join([*shell, script]), CI="true", STACK="local", **more)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    root = tmp_path_factory.mktemp("own")
    project = root / "fleet"
    programs = install(wheel_in(root), project / ".venv")
    github = programs_in(root / "bin", gh=GH)
    # CI locks stacks that do not say otherwise, and this one does; what else is set is of no concern.
    environment = CLEAN | {
        "PATH": os.pathsep.join([str(programs), str(github), CLEAN["PATH"]]),
        "TEMPLATE": str(ROOT / "template"),
        "GITHUB_OUTPUT": str(root / "output"),
        "GITHUB_REPOSITORY": "acme/fleet",
        "ASKED": str(root / "asked"),
    }
    subprocess.run(["inferfleet", "new", project], env=environment, check=True, timeout=600)
    _, begin, *_ = _FENCE.findall((project / "README.md").read_text())
    claim(StackPlaces(project, "local"), os.getpid())
    try:
        yield Own(project, environment, bash(begin, project, environment))
    finally:
        clusters.down(project, "local")


def test_the_commands_of_the_readme_end_with_an_answer(own: Own) -> None:
    assert own.begun.returncode == 0, own.begun.stdout + own.begun.stderr
    # A stand-in of an engine answers with what it was told.
    answer = r"chat on ml/qwen3-8b-decode-l4-\S+: you said 6 tokens, 'Say hello in one short sentence\.'"
    assert re.search(f"^{answer}$", own.begun.stdout, re.MULTILINE), own.begun.stdout


def test_pulumi_makes_the_same_project_and_plans_nothing_more(own: Own) -> None:
    again = own.run(AGAIN)
    assert again.returncode == 0, again.stdout + again.stderr
    other = own.root.parent / "other"
    assert files(other) == files(own.root, like=other)


def test_the_workflow_previews_what_is_locked_updates_and_tells_what_somebody_changed(own: Own) -> None:
    models = own.root / "stacks/local/models.yaml"
    models.write_text(models.read_text().replace("replicas: 1", "replicas: 2"))
    settings = own.root / "stacks/Pulumi.local.yaml"
    unlocked = settings.read_text()
    settings.write_text(unlocked.replace('  inferfleet:locked: "false"\n', ""))
    told, unfolded = own.root / "told.txt", own.root / "told.md"
    assert own.step("preview", "Preview").returncode == 0
    assert _output(own) != "0"
    assert "ml/qwen3-8b on east/l4: 1 -> 2 replicas" in told.read_text()
    assert own.run("inferfleet plan --stack local --write").returncode == 0
    assert own.step("preview", "Preview").returncode == 0
    assert _output(own) == "0", told.read_text()
    assert own.step("preview", "Fold", CODE="0").returncode == 0
    assert own.step("preview", "Comment", NUMBER="7", WRITTEN="").returncode == 0
    comment = (own.root / "comment.md").read_text()
    assert comment.startswith(
        "<!-- inferfleet preview -->\n`pulumi preview` of stack `local` ended without an error.\n"
    )
    assert "replicas: 1 =&gt; 2" in comment
    updated = own.step("up", "Update")
    assert updated.returncode == 0, updated.stdout + updated.stderr
    assert own.step("drift", "Compare").returncode == 0
    assert _output(own) == "0", told.read_text()
    by_hand = "kubectl --kubeconfig .sandbox/local/east.kubeconfig -n ml delete service qwen3-8b-epp"
    assert own.run(SANDBOX, by_hand).returncode == 0
    assert own.step("drift", "Compare").returncode == 0
    assert (code := _output(own)) != "0"
    assert own.step("drift", "Fold", CODE=code).returncode == 0
    assert own.step("drift", "Issue", CODE=code, WRITTEN="").returncode == 0
    asked = Path(own.environment["ASKED"]).read_text().splitlines()
    assert "api --silent --method POST repos/acme/fleet/issues/7/comments --field body=@comment.md" in asked
    title = "title=Stack local is not what its documents say"
    assert asked[-1] == (
        f"api --silent --method POST repos/acme/fleet/issues --raw-field {title} --field body=@told.md"
    )
    assert "qwen3-8b-epp" in unfolded.read_text()
    settings.write_text(unlocked)


def test_a_setting_that_only_pulumi_reads_is_refused_by_both(own: Own) -> None:
    with (own.root / "Pulumi.yaml").open("a") as pulumi_yaml:
        pulumi_yaml.write("config:\n  inferfleet:await: applied\n")
    for commands in (VALIDATE, PREVIEW):
        hidden = own.run(commands)
        assert hidden.returncode != 0
        assert HIDDEN in hidden.stdout + hidden.stderr


def _output(own: Own) -> str:
    """The exit code that a step has handed on."""
    lines = Path(own.environment["GITHUB_OUTPUT"]).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)["code"]


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
        timeout=3600,
    )
