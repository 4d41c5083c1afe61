"""Selectors over a class: what they see, what they cannot be, and what counts as no match."""

import subprocess
import sys

import pytest

from inferfleet.api.kinds.inference_class import InferenceClass
from inferfleet.fleet.selectors.cel import InvalidSelector, Selectors

H100 = InferenceClass.model_validate(
    {
        "metadata": {"name": "h100"},
        "spec": {
            "node": {"cpu": "208", "memory": "1872Gi"},
            "devices": [
                {
                    "name": "nic",
                    "driver": "dra.net",
                    "claim": "Synthetic",
                    "count": 8,
                    "attributes": {
                        "linkType": {"string": "tcpxo"},
                        "rdma": {"bool": False},
                        "gpu.nvidia.com/architecture": {"string": "from the nic"},
                    },
                },
                {
                    "name": "gpu",
                    "driver": "gpu.nvidia.com",
                    "deviceClassName": "gpu.nvidia.com",
                    "count": 8,
                    "attributes": {
                        "architecture": {"string": "Hopper"},
                        "cudaComputeCapability": {"version": "9.0.0"},
                        "acme.example/slot": {"int": 4},
                    },
                    "capacity": {"memory": {"value": "81559Mi"}},
                },
            ],
        },
    }
)

TWENTY = ", ".join(["0"] * 20)


@pytest.mark.parametrize(
    "expression",
    [
        'capacity["gpu.nvidia.com/memory"].compareTo(quantity("75Gi")) >= 0',
        'capacity["gpu.nvidia.com/memory"].isGreaterThan(quantity("75Gi"))',
        'capacity["gpu.nvidia.com/memory"].isLessThan(quantity("80Gi"))',
        'capacity["gpu.nvidia.com/memory"] == quantity("81559Mi")',
        'capacity["gpu.nvidia.com/memory"].sub(quantity("81559Mi")).sign() == 0',
        'quantity("1Gi").add(quantity("1Gi")).asInteger() == 2147483648',
        'quantity("500m").asApproximateFloat() == 0.5 && !quantity("500m").isInteger()',
        'isQuantity("80Gi") && !isQuantity("eighty") && isSemver("9.0.0") && !isSemver("9")',
        'attributes["gpu.nvidia.com/architecture"] == "Hopper"',
        'attributes["dra.net/linkType"] == "tcpxo" && !attributes["dra.net/rdma"]',
        'attributes["acme.example/slot"] == 4',
        'attributes["gpu.nvidia.com/cudaComputeCapability"].compareTo(semver("8.9.0")) > 0',
        'attributes["gpu.nvidia.com/cudaComputeCapability"].major() == 9',
        'semver("9.0.0-rc.2").isLessThan(semver("9.0.0"))',
        'semver("9.0.0-rc.10").isGreaterThan(semver("9.0.0-rc.2"))',
        'semver("1.2.3+build").minor() == 2 && semver("1.2.3").patch() == 3',
        'device.driver == "gpu.nvidia.com"',
        'device.attributes["gpu.nvidia.com"].architecture == "Hopper"',
        'device.attributes["acme.example"].slot == 4',
        'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("75Gi")) >= 0',
        'has(device.attributes) && !("dra.net" in device.attributes)',
        '["Hopper", "Blackwell"].exists(name, name == attributes["gpu.nvidia.com/architecture"])',
        "[[1], [2]].all(list, list.filter(x, x > 0).map(x, x * 2).exists(x, x > 0))",
        'device.driver.matches("nvidia[.]com$") && 1.5 * 2.0 == 3.0',
    ],
)
def test_a_selector_that_is_true_matches(expression: str) -> None:
    assert Selectors().objection(expression, H100) is None


@pytest.mark.parametrize(
    ("expression", "objection"),
    [
        ("false", "nodeSelector is false"),
        ("1 + 1", "nodeSelector gives int, not true or false"),
        (
            'attributes["gpu.nvidia.com/colour"] == "red"',
            "nodeSelector cannot be evaluated: no such key 'gpu.nvidia.com/colour'",
        ),
        ("quantity(device.driver).sign() == 1", "'gpu.nvidia.com' is not a Kubernetes quantity"),
        ('capacity["gpu.nvidia.com/memory"].compareTo(3) == 0', "Quantity and IntType cannot be compared"),
        (
            'device.driver.matches("[")',
            "nodeSelector cannot be evaluated: '[' is not a regular expression",
        ),
        ('("a" * bool(4000000000)) == "a"', "StringType and BoolType cannot be multiplied"),
        ('"a" * 1000000000 == "a"', "StringType and IntType cannot be multiplied"),
        ("[0] * bool(1000000000) == [0]", "ListType and BoolType cannot be multiplied"),
        (
            f"[{TWENTY}].all(x, [{TWENTY}].all(y, [{TWENTY}] != []))",
            "nodeSelector takes more than 10,000 steps to evaluate",
        ),
        ("1 / 0 == 1", "nodeSelector cannot be evaluated"),
        ("(" * 300 + "true" + ")" * 300, "nodeSelector is nested too deeply to be evaluated"),
    ],
)
def test_anything_else_is_no_match_and_says_why(expression: str, objection: str) -> None:
    assert objection in (Selectors().objection(expression, H100) or "matched")


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("capacity[", "line 1, column 9: this is not valid CEL"),
        ("true &&\n  )", "line 2, column 3: this is not valid CEL"),
        (
            'capcity["x"] == 1',
            "line 1, column 1: there is no variable 'capcity'; "
            "the variables are attributes, capacity, device",
        ),
        ('quantty("1") == 1', "line 1, column 1: there is no function 'quantty'"),
        ('semver("9") == semver("9.0.0")', "line 1, column 8: '9' is not a semantic version (such as 9.0.0)"),
        ('quantity("1").moreThan(2)', "line 1, column 15: there is no function 'moreThan'"),
        ("[1].all()", "line 1, column 5: all takes a name and an expression"),
        ("[1].map(1, true)", "line 1, column 5: map takes a name and an expression"),
        ("[1].exists(true, true)", "line 1, column 5: exists takes a name and an expression"),
        ("has(1)", "line 1, column 1: has takes a field, such as has(device.attributes)"),
        ("has()", "line 1, column 1: has takes a field, such as has(device.attributes)"),
        (
            "true" + " " * 10_240,
            "the expression is longer than 10,240 bytes, the limit of Kubernetes",
        ),
        (
            " && ".join(["[1].all(x, true)"] * 9),
            "it has 9 of the macros all, exists, exists_one, filter, map, and at most 8 are allowed",
        ),
        (
            "[1].all(x, [1].all(y, [1].all(z, true)))",
            "the macros all, exists, exists_one, filter, map are nested more than 2 deep",
        ),
    ],
)
def test_an_invalid_selector_says_where(expression: str, problem: str) -> None:
    with pytest.raises(InvalidSelector) as raised:
        Selectors().check(expression)
    assert str(raised.value) == problem


def test_fleets_without_selectors_do_not_import_the_compiler() -> None:
    code = "import sys, inferfleet.fleet.selectors.cel; assert 'celpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver.matches("(")',
        "device.driver.matches(1)",
        "quantity() == 1",
        'quantity("1", "2") == 1',
        '"a".size(1, 2, 3) == 1',
        'timestamp("x") == timestamp("y")',
        "1 in 1",
        "[][0]",
        '"\\udddd" == "a"',
        "-" * 3000 + "1 == 1",
    ],
)
def test_nothing_is_logged_about_an_expression_that_fails(
    capfd: pytest.CaptureFixture[str], expression: str
) -> None:
    assert Selectors().objection(expression, H100) is not None
    assert capfd.readouterr() == ("", "")
