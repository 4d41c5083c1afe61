"""The load generator counts what it got, and loads nothing but this machine."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.data_plane import Tally
from bench.endpoints import pod_url

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(("share", "seconds"), [(0.5, 50), (0.9, 90), (0.99, 99)])
def test_a_quantile_is_an_answer_that_was_measured(share: float, seconds: float) -> None:
    assert Tally([float(number) for number in reversed(range(100))]).quantile(share) == seconds


def pod(*, ready: str = "True") -> dict[str, Any]:
    ports = [{"containerPort": 9000}, {"name": "http", "containerPort": 8000}]
    return {
        "spec": {"containers": [{"name": "sidecar"}, {"name": "engine", "ports": ports}]},
        "status": {"podIP": "127.4.0.2", "conditions": [{"type": "Ready", "status": ready}]},
    }


def test_only_ready_pods_are_asked_directly() -> None:
    assert (pod_url(pod()), pod_url(pod(ready="False"))) == ("http://127.4.0.2:8000", None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--gateway", "http://10.0.0.1", "--pod", "http://127.0.0.1:1"], "http://10.0.0.1 is not on this"),
        (
            ["--gateway", "http://127.0.0.1:1", "--pod", "http://a.example.com"],
            "is not on this machine, and",
        ),
        (["--gateway", "http://127.0.0.1:1"], "--gateway and --pod belong together"),
        (["--rate", "5000"], "--rate is 1 to 2000"),
        (["--seconds", "3600"], "--seconds 1 to 120"),
    ],
)
def test_a_load_that_is_not_bounded_or_leaves_this_machine_is_refused(
    arguments: list[str], says: str
) -> None:
    command = [sys.executable, "bench/data_plane.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert says in done.stderr
