"""Whatever a project of at most 5 MiB holds, a plan of it ends soon, in little memory, with a message."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from fleet_of_one import CLASS, CLUSTER, DEPLOYMENT, SERVICE, together

ROOT = Path(__file__).parents[3]
MIB = 1024 * 1024
# What ends a plan that would go on for ever.
CPU_SECONDS = 600
MODELS, LOCK, SETTINGS = "stacks/prod/models.yaml", "stacks/prod/placement.lock", "stacks/Pulumi.prod.yaml"
HEAD = "version: 1\nstack: prod\n"


def _filled(line: str, size: int = 5 * MIB - 100) -> str:
    return line * (size // len(line))


def _deployments(number: int, replicas: int) -> str:
    one = DEPLOYMENT.replace("replicas: 1", f"replicas: {replicas}")
    return together(*(one.replace("name: qwen,", f"name: q{at},") for at in range(number)))


def _clusters(number: int) -> str:
    one = CLUSTER.replace("nodeCount: 1", "nodeCount: 15000")
    return together(*(one.replace("name: east", f"name: c{at}") for at in range(number)))


def _bomb() -> str:
    """20 GB of text by aliases, in a field of a valid document."""
    text = f'spec:\n  x: &a "{"x" * MIB}"\n  y: [{"*a, " * 20_000}]'
    return DEPLOYMENT.replace("spec:", text, 1)


# Files, and what is said of them.
INPUTS: dict[str, tuple[dict[str, str], str]] = {
    "aliases of a long text": ({MODELS: _bomb()}, "more than 40,000,000 characters"),
    "many documents": ({MODELS: _filled("---\na: b\n")}, "more than 1,000 problems"),
    "many empty documents": ({MODELS: _filled("---\n")}, "more than 5,000 documents"),
    "many flaws": ({MODELS: _filled("a: 010\n---\n")}, "and 8"),
    "many mistyped fields": (
        {MODELS: DEPLOYMENT + "".join(f"  k{at}: 1\n" for at in range(98_000))},
        "more than 1,000 problems",
    ),
    "many files": ({f"stacks/prod/{at}.yaml": "" for at in range(2_100)}, "more than 2,000 files"),
    "much in all files": (
        {f"stacks/prod/{at}.yaml": _filled("- x\n", 390_000) for at in range(13)},
        "more than 200,000 values",
    ),
    "many deployments": ({MODELS: _deployments(4_000, 1)}, "4,000 deployments, more than 1,500"),
    "many replicas": ({MODELS: _deployments(3, 10_000)}, "30,000 replicas together, more than 20,000"),
    "more replicas than a number holds": ({MODELS: _deployments(1, 10**9)}, "at most 10000, not 1000000000"),
    "many unknown settings": (
        {SETTINGS: "config:\n" + "".join(f"  inferfleet:k{at}: 1\n" for at in range(99_000))},
        "there are 99,000 keys that are no settings",
    ),
    "a long setting": (
        {SETTINGS: f"config:\n  inferfleet:plugins: '[{'[],' * 1_500_000}1]'\n"},
        "a text of more than 100,000 characters",
    ),
    "a long lock": (
        {LOCK: f"{HEAD}clusters:\n" + "".join(f"  e{at}: {{source: Existing}}\n" for at in range(60_000))},
        "more than 25,000 entries",
    ),
}


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1024 * MIB, 1024 * MIB))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def _plan(root: Path, files: dict[str, str]) -> tuple[subprocess.CompletedProcess[str], float]:
    """A plan of the files, and the seconds of a processor that it took."""
    project = {
        "Pulumi.yaml": "name: inferfleet\n",
        "classes/l4.yaml": CLASS,
        "stacks/prod/clusters.yaml": CLUSTER,
        MODELS: together(DEPLOYMENT, SERVICE),
    }
    for path, text in (project | files).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        [sys.executable, "-c", "from inferfleet.cli.start import main; main()", "plan"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_limited,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ran, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The seconds of a processor that a plan of a large stack takes, within the same limit of memory."""
    files = {MODELS: _deployments(300, 2), "stacks/prod/clusters.yaml": _clusters(10)}
    ran, seconds = _plan(tmp_path_factory.mktemp("large"), files)
    assert ran.returncode == 0, ran.stderr
    return seconds


@pytest.mark.parametrize("name", INPUTS)
def test_a_plan_ends_with_a_message_within_its_limits(tmp_path: Path, large: float, name: str) -> None:
    files, said = INPUTS[name]
    ran, seconds = _plan(tmp_path, files)
    assert (ran.returncode, "Traceback" in ran.stderr, said in ran.stderr) == (1, False, True), ran.stderr[
        :500
    ]
    assert len(ran.stderr) < 200_000
    assert seconds < 6 * large
