"""Selectors against what Kubernetes' own environment makes of them, in kubernetes/.

results.jsonl and combinations.txt are from Kubernetes 1.36; kubernetes/main.go makes them again.
"""

import json
import re
from pathlib import Path

import pytest
from fleet.selectors.combined_expressions import LOOPS, expressions
from fleet.selectors.test_selectors import H100

from inferfleet.fleet.selectors.devices import Selectors
from inferfleet.fleet.selectors.expressions import InvalidSelector

TABLE = Path(__file__).parent / "kubernetes" / "results.jsonl"
ROWS = {row["expression"]: row for row in map(json.loads, TABLE.read_text().splitlines())}
# docs/guides/selectors.md says all of this.
# Not offered: functions on addresses, networks and URLs, Kubernetes' own on lists, and `device` as a whole.
NOT_OFFERED = re.compile(
    r"\b(ip|cidr|url|isIP|isCIDR|isURL|sum|min|max|isSorted|includes)[.(]|(?<![.])\bformat\."
    r"|\][.](lastI|i)ndexOf|\bdevice(?![.\w])"
)
OTHERWISE: dict[str, bool | str] = {
    "1 < 1.5": "refused",
    '{"a": 1}.transformMap(k, v, v + 1) == {"a": 2}': "error",
    # A domain is always there, and has(...) takes a name of one.
    "has(device.attributes)": "refused",
    "has(device.driver)": "refused",
    "has(device.attributes.foo)": "refused",
    'device.attributes[?"dra.net"].hasValue()': "refused",
    "device.attributes.?foo.hasValue()": "refused",
    # What would be an error on every class is refused when it is read.
    'semver("1.0") == semver("1.0.0")': "refused",
    'semver("01.0.0").major() == 1': "refused",
    'semver("1.2.3-01") == semver("1.2.3")': "refused",
    # Another way to match nothing.
    'device.attributes["gpu.nvidia.com"].cudaComputeCapability == "9.0.0"': False,
    '"hello".indexOf("l", 9) == 3': "error",
    'device.attributes["gpu.nvidia.com"].architecture.exists(x, x > 0)': "error",
    '[1, "a"].sort() == []': "error",
    '[device.attributes["a"].x, 1].size() == 2': "error",
    # Kubernetes takes no lists and maps with values of several kinds, and flattens those of one depth.
    '[1, "a"] == [1, "a"]': True,
    '{"a": 1, "b": "c"}.size() == 2': True,
    "[1, [2]].flatten() == [1, 2]": True,
    "[[1, [2]], [[3]]].flatten() == [1, [2], [3]]": True,
    "[[1, [2]]].flatten(2) == [1, 2]": True,
    # Other versions of the texts of CEL.
    '"".split("") == []': False,
    '"abc".indexOf("", 9) == 9': "error",
    '"abc".lastIndexOf("b", 9) == -1': "error",
    # Kubernetes knows no size of these, and takes them for endless.
    '["a"].join("-") == "a"': True,
    '["a", "b"].join() == "ab"': True,
    'semver("1.0.0") != semver("2.0.0")': True,
    "type(1) == int": True,
    'type(device.attributes["gpu.nvidia.com"].architecture) == string': True,
}
# Of `format` it checks the clauses, and writes them otherwise; no claim asks it.
SAME = {
    expression: row
    for expression, row in ROWS.items()
    if ".format(" not in expression and not NOT_OFFERED.search(expression)
}


@pytest.mark.parametrize("expression", SAME)
def test_an_expression_gives_what_it_gives_in_kubernetes(expression: str) -> None:
    assert _result(expression) == OTHERWISE.get(expression, ROWS[expression]["result"])


@pytest.mark.parametrize("expression", list(filter(NOT_OFFERED.search, ROWS)))
def test_what_is_not_offered_is_refused(expression: str) -> None:
    assert _result(expression) == "refused"


# In one letter: what matches, what does not, errors, what is refused, and what costs too much.
LETTERS: dict[bool | str, str] = {True: "t", False: "f", "error": "e", "refused": "r", "too costly": "c"}


def test_functions_take_the_kinds_of_values_that_they_take_in_kubernetes() -> None:
    answers = TABLE.with_name("combinations.txt").read_text().replace("\n", "")
    wrong = [
        (expression, answer, given)
        for expression, answer in zip(expressions(), answers, strict=True)
        if (given := LETTERS[_result(expression)]) != answer
        # Kubernetes takes lists of texts for endless, and refuses loops over an attribute; and of texts it
        # looks for anything. None of these two matches.
        and (answer, given) != ("c", "t")
        and not ((answer, given) == ("r", "e") and expression.endswith(LOOPS))
        and not ((answer, given) == ("e", "r") and "ndexOf(" in expression)
    ]
    assert wrong == []


def _result(expression: str) -> bool | str:
    try:
        objection = Selectors().mismatch(expression, H100)
    except InvalidSelector as invalid:
        return "too costly" if "can grow to more" in invalid.what else "refused"
    if objection in (None, "nodeSelector is false"):
        return objection is None
    return "error"
