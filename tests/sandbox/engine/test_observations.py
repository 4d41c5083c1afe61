"""What a stand-in and vLLM itself are seen to do, held against what is written of both in observed.yaml.

vLLM itself is asked where its packages are:
`INFERFLEET_ENGINES_PYTHON=$(make -s engines) pytest -s tests/sandbox/engine/test_observations.py`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from observations import OBSERVATIONS, Bench, plain
from observed_engines import real_engines, stand_ins
from real_parsers import PYTHON, with_real_parsers

OBSERVED: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("observed.yaml").read_text())
DIFFERENT = [name for name, row in OBSERVED.items() if "both" not in row]


def of(name: str, kind: str) -> Any:
    """What is written of an observation, for `vLLM` or `stand-in`."""
    row = OBSERVED[name]
    return row["both"] if "both" in row else row[kind]


@pytest.fixture(scope="module")
def stand_in() -> Iterator[Bench]:
    with stand_ins() as engines:
        yield Bench(engines)


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    assert PYTHON is not None
    with real_engines(PYTHON, tmp_path_factory.mktemp("vllm")) as engines:
        yield Bench(engines)


def test_every_observation_is_written_of_both_and_a_difference_has_a_reason() -> None:
    assert [*OBSERVED] == [*OBSERVATIONS]
    shapes = {("both",), ("stand-in", "vLLM", "why")}
    assert {
        name: tuple(sorted(row)) for name, row in OBSERVED.items() if tuple(sorted(row)) not in shapes
    } == {}
    assert [name for name in DIFFERENT if OBSERVED[name]["vLLM"] == OBSERVED[name]["stand-in"]] == []


@pytest.mark.parametrize("name", OBSERVATIONS)
def test_a_stand_in_does_what_is_written_of_it(stand_in: Bench, name: str) -> None:
    seen = plain(OBSERVATIONS[name](stand_in))
    assert seen == of(name, "stand-in")
    # One in the place of the other would be noticed.
    assert (seen == of(name, "vLLM")) is (name not in DIFFERENT)


@with_real_parsers
@pytest.mark.parametrize("name", OBSERVATIONS)
def test_vllm_does_what_is_written_of_it(vllm: Bench, name: str) -> None:
    seen = plain(OBSERVATIONS[name](vllm))
    assert seen == of(name, "vLLM")
    assert (seen == of(name, "stand-in")) is (name not in DIFFERENT)
