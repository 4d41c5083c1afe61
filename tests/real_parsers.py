"""The parsers of vLLM and SGLang, where their packages are.

`INFERFLEET_ENGINES_PYTHON=$(make -s engines) pytest -s FILE` runs the tests that ask them.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

PYTHON = os.environ.get("INFERFLEET_ENGINES_PYTHON")
_PARSE = Path(__file__).parents[1] / "bench" / "tables" / "parse.py"

with_real_parsers = pytest.mark.skipif(
    PYTHON is None,
    reason="INFERFLEET_ENGINES_PYTHON is not set: `make engines` installs 6 GB and prints what it is",
)


def refusals(lines: list[list[str]]) -> list[str | None]:
    """Return why the engines do not take these lines, each with the type of its engine first."""
    assert PYTHON is not None
    asked = subprocess.run(
        [PYTHON, _PARSE], input=json.dumps(lines), stdout=subprocess.PIPE, text=True, check=True
    )
    answers: list[str | None] = json.loads(asked.stdout)
    return answers
