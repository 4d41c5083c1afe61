"""Streams while engines roll: one that is told nothing of its end cuts them, a written command none."""

import pytest
from documents import Document, annotated, model
from project import Project
from rolling import clients, tell

# Streams of 20 s, which outlast the preStop sleep of 1 s and what a busy machine adds to it.
TOKENS, SPEED = 400, "20"


@pytest.fixture(scope="module")
def fleet(standing: Project) -> Project:
    """`cut` has a command of its own without a time to end, and the command of `drained` is written."""
    for name in ("cut", "drained"):
        standing.write(name, _served(name, level="INFO"))
    begun = standing.up()
    assert begun.code == 0, begun.output
    return standing


def test_a_roll_cuts_streams_of_an_engine_without_a_drain_time_and_of_no_other(fleet: Project) -> None:
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
    if name == "drained":
        return annotated(made, tokens_per_second=SPEED)
    [engine] = made["spec"]["workers"]["template"]["spec"]["containers"]
    engine["command"] = ["vllm", "serve", "some/model", "--served-model-name=shared"]
    return annotated(made, tokens_per_second=SPEED, end="abort")
