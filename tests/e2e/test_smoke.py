"""`make smoke` on the simulated Google Cloud: an answer, and nothing left."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from project import ROOT

from bench.smoke import STACK, write
from sandbox import clusters
from sandbox.gcp.store import Store
from sandbox.network.obstacles import obstacle
from sandbox.places import StackPlaces

# The sandbox has the credentials, and its cloud grows and shrinks as soon as it can.
SMOKE = """\
inferfleet sandbox up --stack smoke --owner "$OWNER"
eval "$(inferfleet sandbox env --stack smoke)"
inferfleet sandbox cloud pace --grow-after 1 --idle-for 2 --stack smoke
cd "$CHECKOUT"
python -m bench.smoke --folder "$OLDPWD" --project inferfleet-test --yes
"""


def test_a_model_answers_and_everything_is_removed(tmp_path: Path) -> None:
    if why := obstacle():
        pytest.skip(f"an API server reaches pods in a network of their own alone: {why}")
    folder = tmp_path / "smoke"
    outside = {name: value for name, value in os.environ.items() if name not in ("CI", "VIRTUAL_ENV")}
    programs = str(Path(sys.executable).parent)
    env = outside | {
        "PATH": os.pathsep.join([programs, outside["PATH"]]),
        "OWNER": str(os.getpid()),
        "CHECKOUT": str(ROOT),
    }
    write(folder, project="inferfleet-test", region="us-east4", zone="us-east4-a")
    try:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", SMOKE],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=3600,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        places = StackPlaces(folder, STACK)
        assert (Store(places.cloud).read(), clusters.created_names(places)) == ({}, [])
    finally:
        clusters.down(folder, STACK)
    costs, _, rest = done.stdout.partition("$ pulumi stack select")
    assert "     0.85  1 x gke-l4-1x-g2\n" in costs, costs
    answer = r"^chat on ml/qwen3-decode-l4-\S+: you said 4 tokens, 'What is a gateway\?'$"
    assert re.search(answer, rest, re.MULTILINE), rest
    assert re.search(r"An answer came, and nothing is left, after \d+ minutes\.\n$", rest), rest
