"""Steps of the workflows that a project comes with, and a stand-in for the command of GitHub."""

import sys
from pathlib import Path

import yaml

FOLDER = ".github/workflows"
# Answers as GitHub's command would, and writes down what it was asked.
GH = """\
#!/bin/sh
printf '%s\\n' "$*" >> "$ASKED"
case "$*" in
  *pulls/7*) echo "$HEAD_IN_GITHUB" ;;
  *--paginate*) echo "$WRITTEN" ;;
esac
"""
BASH = ("bash", "-eo", "pipefail", "-c")


def programs_in(folder: Path, **scripts: str) -> Path:
    """The folder with these programs."""
    folder.mkdir()
    for name, text in scripts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def command(project: Path, file: str, job: str, name: str) -> tuple[str, ...]:
    """The command of a step: its script, by the shell that GitHub runs it with."""
    steps = yaml.safe_load((project / FOLDER / file).read_text())["jobs"][job]["steps"]
    (step,) = (step for step in steps if step.get("name") == name)
    shell = (sys.executable, "-c") if step.get("shell") == "python" else BASH
    return (*shell, step["run"])
