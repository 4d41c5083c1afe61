"""The tutorial `docs/tutorials/first-model-on-gke.md` by its own commands, on the simulated Google Cloud.

From an empty project to an answer and back to nothing. `HERE` says what each command for a tool of Google's
is here, and all other commands run as the page has them.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from project import ROOT

from sandbox import clusters
from sandbox.gcp.store import Store
from sandbox.network.obstacles import obstacle
from sandbox.places import StackPlaces

PAGE = ROOT / "docs" / "tutorials" / "first-model-on-gke.md"
# How commands of the page begin, and what they are here.
HERE = {
    # Projects exist, have all APIs, permissions and quotas, and the sandbox has credentials for them.
    "gcloud auth": ":",
    "gcloud components install": ":",
    "gcloud projects": ":",
    "gcloud billing projects": ":",
    "gcloud services enable": ":",
    "for role in": ":",
    "gcloud compute regions describe": ":",
    "gcloud compute project-info describe": ":",
    # The package of this checkout, which is installed already.
    "python3 -m venv": f"ln -s {ROOT}/.venv .venv",
    "pip install": ":",
    ".venv/bin/pip install": ":",
    # Buckets are not simulated: state and passphrase are the sandbox's own, which `up` makes with the stack.
    "gcloud storage": ":",
    "export PULUMI_CONFIG_PASSPHRASE_FILE": ":",
    "(umask 077": ":",
    "pulumi login": """\
inferfleet sandbox up --stack prod --owner "$OWNER"
eval "$(inferfleet sandbox env --stack prod)"
inferfleet sandbox cloud pace --grow-after 1 --idle-for 2 --stack prod""",
    "pulumi stack init": ":",
}
# What this test looks at before a command of the page.
BEFORE = {
    "sed -i 's/deletionProtection": "inferfleet doctor --stack prod --leftovers || test $? = 5",
}
_PARTS = re.compile(r"^`(\S+)`:\n\n```yaml\n(.*?)^```$|^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LOOP = re.compile(r"^for .*?^done$", re.MULTILINE | re.DOTALL)
TOKEN = "hf_of-nobody"


def script(page: str) -> str:
    """The page as a script: documents are written, and before each command stands which it is."""
    return "".join(f"echo '== {name}'\n{command}\n" for name, command in steps(page))


def steps(page: str) -> Iterator[tuple[str, str]]:
    for file, text, block in _PARTS.findall(page):
        if file:
            yield file, f"cat > {file} <<'END'\n{text}END"
            continue
        for command in _LOOP.sub(lambda loop: loop[0].replace("\n", " "), block).splitlines():
            begins = [own for beginning, own in HERE.items() if command.startswith(beginning)]
            looks = [look for beginning, look in BEFORE.items() if command.startswith(beginning)]
            yield from (("a look", look) for look in looks)
            yield command.split("'")[0], begins[0] if begins else command


def test_the_commands_of_the_page_end_with_an_answer_and_leave_nothing(tmp_path: Path) -> None:
    if why := obstacle():
        pytest.skip(f"an API server reaches pods in a network of their own alone: {why}")
    project = tmp_path / "fleet"
    outside = {name: value for name, value in os.environ.items() if name not in ("CI", "VIRTUAL_ENV")}
    environment = outside | {
        "PATH": f"{ROOT}/.venv/bin{os.pathsep}{outside['PATH']}",
        "OWNER": str(os.getpid()),
    }
    try:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script(PAGE.read_text())],
            cwd=tmp_path,
            env=environment,
            input=f"{TOKEN}\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=3600,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        places = StackPlaces(project, "prod")
        assert (Store(places.cloud).read(), clusters.created_names(places)) == ({}, [])
    finally:
        if project.exists():
            clusters.down(project, "prod")
    said = dict(_by_command(done.stdout))
    answer = r"chat on ml/qwen3-8b-decode-l4-\S+: you said 4 tokens, 'What is a gateway\?'\nmodel chat, "
    through = r"cluster first, asked the gateway at 127\.\S+:8080\n"
    past = r"cluster first, asked pod ml/qwen3-8b-decode-l4-\S+, by the API server, past gateway and picker\n"
    first, second = (text for name, text in _by_command(done.stdout) if name.startswith("inferfleet chat"))
    assert re.fullmatch(answer + through, first), first
    assert re.fullmatch(answer + past, second), second
    standing = said["a look"]
    assert {line.split()[-1] for line in _rows(standing, "clusters", "instances", "load balancers")} == {
        "wrong"
    }
    assert "wrong" not in said["inferfleet doctor --stack prod"]
    left = said["inferfleet doctor --stack prod --leftovers"]
    assert ("wrong" in left, "unseen" in left, left.count(" fine")) == (False, False, 10)
    assert TOKEN not in done.stdout + done.stderr


def _by_command(output: str) -> Iterator[tuple[str, str]]:
    for part in output.split("== ")[1:]:
        name, _, text = part.partition("\n")
        yield name, text


def _rows(table: str, *what: str) -> list[str]:
    return [line for line in table.splitlines() if any(f"  {one}" in line for one in what)]
