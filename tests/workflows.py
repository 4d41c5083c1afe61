"""Steps of the workflows that a project comes with, a clone to run them in, and stand-ins of programs."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from inferfleet.cli.verbs.new import project_files

FOLDER = ".github/workflows"
# Answers as GitHub's command would, and writes down what it was asked.
GH = """\
#!/bin/sh
printf '%s\\n' "$*" >> "$ASKED"
case "$*" in
  *"GET repos/acme/fleet/pulls "*) echo "$NUMBERS_IN_GITHUB" ;;
  *--paginate*) echo "$WRITTEN" ;;
esac
"""
PIP = '#!/bin/sh\ncat "$4" > "$ASKED"\npwd > "$ASKED.folder"\n'
BASH = ("bash", "-eo", "pipefail", "-c")
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")


@dataclass
class Clone:
    """A new project at a commit, as it is checked out for a pull request to `main`."""

    root: Path
    environment: dict[str, str]

    def git(self, *words: str) -> str:
        done = subprocess.run(
            [*GIT, *words], cwd=self.root, env=self.environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--message", message)

    def run(self, *words: str, **more: str) -> Any:
        environment = self.environment | more
        return subprocess.run(
            words, cwd=self.root, env=environment, capture_output=True, text=True, timeout=600
        )

    def step(self, file: str, job: str, name: str, **more: str) -> Any:
        return self.run(*command(self.root, file, job, name), **more)

    def output(self, name: str) -> str:
        lines = Path(self.environment["GITHUB_OUTPUT"]).read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)[name]

    @property
    def asked(self) -> list[str]:
        asked = Path(self.environment["ASKED"])
        return asked.read_text().splitlines() if asked.exists() else []


def clone_in(folder: Path) -> Clone:
    """A pull request as GitHub checks it out, merged: HEAD^1 is the base, HEAD^2 its own commit."""
    programs = programs_in(folder / "bin", gh=GH, pip=PIP)
    made = Clone(
        folder / "fleet",
        {
            "PATH": os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "GITHUB_BASE_REF": "main",
            "GITHUB_ENV": str(folder / "env"),
            "RUNNER_TEMP": str(folder),
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            "GITHUB_REPOSITORY": "acme/fleet",
            "ASKED": str(folder / "asked"),
            "STACK": "local",
        },
    )
    made.root.mkdir()
    for name, text in project_files("fleet", "A fleet").items():
        made.write(name, text)
    made.git("init")
    made.commit("begin")
    made.git("update-ref", "refs/remotes/origin/main", "HEAD")
    made.git("switch", "--quiet", "--create", "topic")
    made.git("commit", "--allow-empty", "--message", "proposed")
    made.git("switch", "--quiet", "--detach", "main")
    made.git("merge", "--quiet", "--no-ff", "--message", "merged", "topic")
    return made


def allow_plugin(clone: Clone) -> Path:
    """A plugin of the project that its settings allow; it writes the file returned when it is imported."""
    ran = clone.root.parent / "ran"
    with (clone.root / "stacks/Pulumi.local.yaml").open("a") as settings:
        settings.write("  inferfleet:allowedPlugins: [{name: evil, version: 1.0.0}]\n")
    clone.write("plugins/evil.py", f"open({str(ran)!r}, 'w')\n")
    return ran


def programs_in(folder: Path, **scripts: str) -> Path:
    """The folder with these programs."""
    folder.mkdir()
    for name, text in scripts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def steps_of(project: Path, file: str, job: str) -> list[dict[str, Any]]:
    """The steps of a job, as written."""
    steps: list[dict[str, Any]] = yaml.safe_load((project / FOLDER / file).read_text())["jobs"][job]["steps"]
    return steps


def command(project: Path, file: str, job: str, name: str) -> tuple[str, ...]:
    """The command of a step: its script, by the shell that GitHub runs it with."""
    (step,) = (step for step in steps_of(project, file, job) if step.get("name") == name)
    shell = (sys.executable, "-c") if step.get("shell") == "python" else BASH
    return (*shell, step["run"])
