"""Selectors against what Kubernetes' own environment makes of them: kubernetes/results.jsonl.

The table is from Kubernetes 1.36; kubernetes/main.go makes it again.
"""

import json
from pathlib import Path

import pytest
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
    'semver("1.2.3-01") == semver("1.2.3")': "refused",
    # Another way to match nothing.
    'device.attributes["gpu.nvidia.com"].cudaComputeCapability == "9.0.0"': False,
    # Kubernetes knows no size of these, and takes them for endless.
    '["a"].join("-") == "a"': True,
    "type(1) == int": True,
    '["a", "b", "a"].lastIndexOf("a") == 2': True,
    '["b", "a"].isSorted()': False,
    '["a", "b"].max() == "b"': True,
    'type(device.attributes["gpu.nvidia.com"].architecture) == string': True,
}


@pytest.mark.parametrize("expression", ROWS)
def test_an_expression_gives_what_it_gives_in_kubernetes(expression: str) -> None:
    assert _result(expression) == OTHERWISE.get(expression, ROWS[expression]["result"])


def _result(expression: str) -> bool | str:
    try:
        objection = Selectors().objection(expression, H100)
    except InvalidSelector as invalid:
        return "too costly" if "can cost more" in invalid.what else "refused"
    if objection in (None, "nodeSelector is false"):
        return objection is None
    return "error"
