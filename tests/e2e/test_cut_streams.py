"""Streams while their engines roll: as many are lost as the warning before said, and none with its flag."""

import pytest
from documents import GRACE, Document, annotated, model
from project import Project
from rolling import clients, tell

# Streams of 20 s, which outlast the preStop sleep of 1 s and what a busy machine adds to it.
TOKENS, SPEED = 400, "20"
# What the grace period leaves after preStop and the reserve of 10 s.
ADVISED = f"--shutdown-timeout={GRACE - 1 - 10}"


@pytest.fixture(scope="module")
def fleet(standing: Project) -> Project:
    """`cut`, whose engine is told nothing of its end, and `drained`, which is told what is advised."""
    for name in ("cut", "drained"):
        standing.write(name, _served(name, level="INFO"))
    begun = standing.up()
    assert begun.code == 0, begun.output
    return standing


def test_the_warning_names_the_deployment_the_flag_and_the_seconds(fleet: Project) -> None:
    told = fleet.cli("validate", "--stack", fleet.stack)
    warnings = [line for line in told.stderr.splitlines() if "vLLM aborts the requests in hand" in line]
    assert [("/cut.yaml:" in line, f"Add {ADVISED}," in line) for line in warnings] == [(True, True)]


def test_a_roll_cuts_streams_of_the_engine_that_was_warned_of_and_of_no_other(fleet: Project) -> None:
    with clients(fleet, "east", ("cut", "drained"), tokens=TOKENS, streams=4) as seen:
        for name in ("cut", "drained"):
            fleet.write(name, _served(name, level="DEBUG"))
        rolled = fleet.up()
        assert rolled.code == 0, rolled.output
    tell(seen)
    lost = {name: len(seen.failed(name)) for name in ("cut", "drained")}
    assert (lost["cut"] > 0, lost["drained"]) == (True, 0), seen.failed("drained")


def _served(name: str, *, level: str) -> Document:
    made = model(name, env=[{"name": "VLLM_LOGGING_LEVEL", "value": level}], rollout="Surge")
    [engine] = made["spec"]["workers"]["template"]["spec"]["containers"]
    engine["args"] = [arg for arg in engine["args"] if not arg.startswith("--shutdown-timeout")]
    if name == "drained":
        engine["args"].append(ADVISED)
    return annotated(made, tokens_per_second=SPEED)
