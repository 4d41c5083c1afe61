"""The guide about Fleets in programs: its programs are Python, and its Fleets take these arguments."""

import ast
import re
from dataclasses import fields
from pathlib import Path

from inferfleet import Fleet, FleetArgs

PAGE = (Path(__file__).parents[2] / "docs/guides/pulumi-program.md").read_text()
PROGRAMS = [ast.parse(text) for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)]
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
