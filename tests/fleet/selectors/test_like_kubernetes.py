"""Selectors against what Kubernetes' own environment makes of them, in kubernetes/.

results.jsonl and combinations.txt are from Kubernetes 1.36; kubernetes/main.go makes them again.
"""

import json
from pathlib import Path

import pytest
from fleet.selectors.combined_expressions import expressions
from fleet.selectors.test_cel import H100

from inferfleet.fleet.selectors.cel import InvalidSelector, Selectors

TABLE = Path(__file__).parent / "kubernetes" / "results.jsonl"
ROWS = {row["expression"]: row for row in map(json.loads, TABLE.read_text().splitlines())}
# docs/guides/selectors.md says all of this.
OTHERWISE: dict[str, bool | str] = {
    # What the library does not have.
    "1 < 1.5": "refused",
    '{"a": 1}.transformMap(k, v, v + 1) == {"a": 2}': "refused",
    'format.named("dns1123Label").hasValue()': "refused",
    '!format.dns1123Label().validate("A b").hasValue()': "refused",
    'string(ip("10.0.0.1")) == "10.0.0.1"': "refused",
    "google.protobuf.Int64Value{value: 1} == 1": "refused",
    # What would be an error on every class is refused when it is read.
    'semver("1.0") == semver("1.0.0")': "refused",
    'semver("01.0.0").major() == 1': "refused",
    'semver("1.2.3-01") == semver("1.2.3")': "refused",
    # Another way to match nothing.
    'device.attributes["gpu.nvidia.com"].cudaComputeCapability == "9.0.0"': False,
    # Kubernetes knows no size of these, and takes them for endless.
    '["a"].join("-") == "a"': True,
    '["a", "b"].join() == "ab"': True,
    'semver("1.0.0") != semver("2.0.0")': True,
    "type(1) == int": True,
    '["a", "b", "a"].lastIndexOf("a") == 2': True,
    '["b", "a"].isSorted()': False,
    '["a", "b"].max() == "b"': True,
    'type(device.attributes["gpu.nvidia.com"].architecture) == string': True,
}


@pytest.mark.parametrize("expression", ROWS)
def test_an_expression_gives_what_it_gives_in_kubernetes(expression: str) -> None:
    assert _result(expression) == OTHERWISE.get(expression, ROWS[expression]["result"])


# In one letter: what matches, what does not, errors, what is refused, and what costs too much.
LETTERS: dict[bool | str, str] = {True: "t", False: "f", "error": "e", "refused": "r", "too costly": "c"}


def test_functions_take_the_kinds_of_values_that_they_take_in_kubernetes() -> None:
    answers = TABLE.with_name("combinations.txt").read_text().replace("\n", "")
    wrong = [
        (expression, answer, given)
        for expression, answer in zip(expressions(), answers, strict=True)
        # Kubernetes takes lists of texts for endless.
        if (given := LETTERS[_result(expression)]) != answer and (answer, given) != ("c", "t")
    ]
    assert wrong == []


def _result(expression: str) -> bool | str:
    try:
        objection = Selectors().objection(expression, H100)
    except InvalidSelector as invalid:
        return "too costly" if "can cost more" in invalid.what else "refused"
    if objection in (None, "nodeSelector is false"):
        return objection is None
    return "error"
