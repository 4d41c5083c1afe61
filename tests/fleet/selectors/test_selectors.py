"""Selectors over a class: what they see, what they cannot be, and what counts as no match."""

import subprocess
import sys

import pytest

from inferfleet.documents import work
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.fleet.selectors import devices
from inferfleet.fleet.selectors.devices import Selectors
from inferfleet.fleet.selectors.expressions import InvalidSelector

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


@pytest.mark.parametrize(
    "expression",
    [
        'capacity["gpu.nvidia.com/memory"].compareTo(quantity("75Gi")) >= 0',
        'capacity["gpu.nvidia.com/memory"].isGreaterThan(quantity("75Gi"))',
        'capacity["gpu.nvidia.com/memory"].isLessThan(quantity("80Gi"))',
        'capacity["gpu.nvidia.com/memory"] == quantity("81559Mi")',
        'sign(capacity["gpu.nvidia.com/memory"].sub(quantity("81559Mi"))) == 0',
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
        '!("dra.net" in device.attributes)',
        '["Hopper", "Blackwell"].exists(name, name == attributes["gpu.nvidia.com/architecture"])',
        "[[1], [2]].all(list, list.filter(x, x > 0).map(x, x * 2).exists(x, x > 0))",
        'device.driver.matches("nvidia[.]com$") && 1.5 * 2.0 == 3.0',
        'device.attributes["dra.net"] == {} && !has(device.attributes["dra.net"].x)',
        '!(device.attributes["x"].?y.hasValue()) && !device.allowMultipleAllocations',
        'cel.bind(a, device.attributes["gpu.nvidia.com"], a.architecture.lowerAscii() == "hopper")',
        '"H100-80".find("[0-9]+") == "100" && "H100-80".findAll("[0-9]+") == ["100", "80"]',
        'matches("(a", "[(]a")',
        '"%s of %d".format(["a", 2]) == "a of 2" && "a-b".split("-").join("+") == "a+b"',
        '["a", "b"].all(index, name, index < 2 && name != "c") && sets.contains([1, 2], [2])',
        'semver("v1.2", true) == semver("1.2.0")',
        'quantity("1Gi") == quantity("1024Mi") && semver("1.0.0+a") == semver("1.0.0+b")',
        "-" * 3000 + "1 == 1",
    ],
)
def test_a_selector_that_is_true_matches(expression: str) -> None:
    assert Selectors().mismatch(expression, H100) is None


@pytest.mark.parametrize(
    ("expression", "objection"),
    [
        ("false", "nodeSelector is false"),
        (
            'attributes["acme.example/slot"]',
            "nodeSelector cannot be evaluated: it gives int, not true or false",
        ),
        ("dyn(optional.of(1).value())", "nodeSelector cannot be evaluated: it gives int, not true or false"),
        (
            'attributes["gpu.nvidia.com/architectur"] == "Hopper"',
            "nodeSelector cannot be evaluated: no such key 'gpu.nvidia.com/architectur'; "
            "did you mean 'gpu.nvidia.com/architecture'?",
        ),
        (
            'device.attributes["nvidia.com"].architecture == "Hopper"',
            "nodeSelector cannot be evaluated: no such key 'architecture' there; "
            "it is in the domain gpu.nvidia.com of attributes",
        ),
        (
            'attributes["gpu.nvidia.com/memory"] == "80Gi"',
            "nodeSelector cannot be evaluated: no such key 'gpu.nvidia.com/memory' there; it is in capacity",
        ),
        (
            'device.attributes["gpu.nvidia.com"].memory == "80Gi"',
            "nodeSelector cannot be evaluated: no such key 'memory' there; "
            "it is in the domain gpu.nvidia.com of capacity",
        ),
        (
            'attributes["gpu.nvidia.com/xyz"] == "red"',
            "nodeSelector cannot be evaluated: no such key 'gpu.nvidia.com/xyz'; did you mean "
            "'gpu.nvidia.com'?",
        ),
        (
            "sign(quantity(device.driver)) == 1",
            "nodeSelector cannot be evaluated: 'gpu.nvidia.com' is not a Kubernetes quantity (such as 80Gi)",
        ),
        (
            'attributes["acme.example/slot"].compareTo(quantity("3")) == 0',
            "nodeSelector cannot be evaluated: No matching overloads found : (int64).compareTo(struct)",
        ),
        (
            'attributes["gpu.nvidia.com/cudaComputeCapability"].compareTo(quantity("3")) == 0',
            "nodeSelector cannot be evaluated: "
            "a quantity is compared with a quantity, and a semver with a semver",
        ),
        (
            'device.driver.matches(device.driver + "[")',
            "nodeSelector cannot be evaluated: "
            "'gpu.nvidia.com[' is not a regular expression (RE2), or it is too large",
        ),
        (
            'attributes["acme.example/slot"] + "a" == "a"',
            "nodeSelector cannot be evaluated: No matching overloads found : _+_(int64, string)",
        ),
        ("1 / 0 == 1", "nodeSelector cannot be evaluated: divide by zero"),
        ("[1][2] == 1", "nodeSelector cannot be evaluated: Index error: index=2 size=1"),
        (
            "lists.range(20000).all(x, true)",
            "nodeSelector cannot be evaluated: Iteration budget exceeded",
        ),
    ],
)
def test_anything_else_is_no_match_and_says_why(expression: str, objection: str) -> None:
    assert objection in (Selectors().mismatch(expression, H100) or "matched")


def test_fleets_without_selectors_do_not_import_the_compiler() -> None:
    heavy = {"cel_expr_python", "google.protobuf", "re2"}
    code = f"import sys, inferfleet.fleet.selectors.devices; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver.matches(device.driver + "(")',
        'timestamp("x") == timestamp("y")',
        "[][0] == 1",
        'quantity("\N{GRINNING FACE}" + device.driver) == quantity("1")',
        'attributes["acme.example/slot"].add(quantity("1")) == quantity("2")',
    ],
)
def test_nothing_is_logged_about_an_expression_that_fails(
    capfd: pytest.CaptureFixture[str], expression: str
) -> None:
    assert Selectors().mismatch(expression, H100) is not None
    assert capfd.readouterr() == ("", "")


def test_selectors_count_for_the_budget_of_a_run_whatever_was_compiled_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def steps() -> int:
        counted: list[int] = []
        monkeypatch.setattr(work, "count", counted.append)
        selectors = Selectors()
        for _ in range(2):
            assert selectors.mismatch("[1, 2].all(x, x > 0)", H100) is None
        return sum(counted)

    assert steps() == steps() > 1_000


def test_a_selector_is_compiled_once_whoever_asks_for_it() -> None:
    assert devices.program("[1, 2].all(x, x > 0)") is devices.program("[1, 2].all(x, x > 0)")


def test_a_loop_with_a_short_list_in_it_is_cheap() -> None:
    """A stack of fifty classes and of several such selectors has to stay within its limits."""
    loop = 'attributes.exists(k, k.endsWith("/architecture") && attributes[k] in ["Hopper", "Blackwell"])'
    compiled = devices.program(loop)
    assert not isinstance(compiled, InvalidSelector)
    assert compiled.steps < 50_000


def test_a_class_that_kubernetes_would_refuse_matches_nothing() -> None:
    device = {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com"}
    many = {f"a{number}": {"int": number} for number in range(33)}
    large = InferenceClass.model_validate(
        {
            "metadata": {"name": "large"},
            "spec": {"node": {"cpu": "1", "memory": "1Gi"}, "devices": [{**device, "attributes": many}]},
        }
    )
    assert (
        Selectors().mismatch("true", large)
        == "nodeSelector cannot be evaluated: a device of it has 33 attributes and capacities, "
        "and Kubernetes "
        "takes 32"
    )


def test_a_domain_that_is_looked_up_by_another_lookup_is_an_empty_map_too() -> None:
    inner = 'device.attributes["acme.example"].slot == 4 && "gpu[.]nvidia".matches("a") ? "a" : "b"'
    assert Selectors().mismatch(f"device.attributes[{inner}] == {{}}", H100) is None
    of_nothing = 'has(device.attributes[device.attributes["x"].?y.orValue("z")].name)'
    assert Selectors().mismatch(of_nothing, H100) == "nodeSelector is false"
