"""The guide about Fleets in programs: its programs are Python, and its Fleets take these arguments."""

import ast
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from inferfleet import Fleet, FleetArgs

PAGE = (Path(__file__).parents[2] / "docs/guides/pulumi-program.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PROGRAMS = [ast.parse(text) for text in BLOCKS]
MODELS = """\
apiVersion: inferfleet.dev/v1alpha1
kind: ModelDeployment
metadata: {name: qwen3, namespace: ml, labels: {family: qwen}}
spec:
  replicas: 1
  engine: {type: vLLM, model: Qwen/Qwen3-0.6B, startup: 30m}
  workers: {topology: {tensor: 1}}
---
apiVersion: inferfleet.dev/v1alpha1
kind: ModelService
metadata: {name: chat, namespace: ml}
spec: {endpoints: [{selector: {matchLabels: {family: qwen}}}]}
"""
ARGUMENTS = {field.name for field in fields(FleetArgs)}


def test_programs_name_arguments_and_outputs_that_there_are() -> None:
    nodes = [node for program in PROGRAMS for node in ast.walk(program)]
    calls = [node for node in nodes if isinstance(node, ast.Call) and "FleetArgs" in ast.unparse(node.func)]
    named = {keyword.arg for call in calls for keyword in call.keywords}
    read = {
        node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "fleet"
    }
    assert named
    assert read
    assert (named - ARGUMENTS, read - Fleet.__annotations__.keys()) == (set(), set())


def test_the_table_has_every_argument() -> None:
    table = PAGE.partition("## What it takes")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == ARGUMENTS


def test_the_test_of_the_page_passes_beside_its_first_program(tmp_path: Path) -> None:
    (cluster,) = re.findall(r"```yaml\n(apiVersion:.*?)```", PAGE, re.DOTALL)
    (tested,) = (block for block in BLOCKS if "set_mocks" in block)
    (tmp_path / "Pulumi.yaml").write_text("name: inference\nruntime: python\n")
    (tmp_path / "fleet").mkdir()
    (tmp_path / "fleet/all.yaml").write_text(f"{cluster}---\n{MODELS}")
    (tmp_path / "program.py").write_text(BLOCKS[0])
    (tmp_path / "test_program.py").write_text(tested)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_program.py"]
    # In CI a lock that does not match is an error, and here is none.
    env = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout + done.stderr
    assert not (tmp_path / "fleet/placement.lock").exists()
