"""An attribute that is compared with a value of another type is told as that, and not as matching nothing."""

import pytest
from small_fleet import class_, cluster, deployment, fleet, placed

from inferfleet.fleet.decisions import Plan
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan

DEVICE = {
    "name": "gpu",
    "driver": "gpu.nvidia.com",
    "deviceClassName": "gpu.nvidia.com",
    "count": 4,
    "capacity": {"memory": {"value": "24Gi"}},
}
ATTRIBUTES = {
    "productName": {"string": "L4"},
    "rank": {"int": 3},
    "runtime": {"version": "9.0.0"},
    "shared": {"bool": True},
}
ONE = class_("one", 4, devices=[{**DEVICE, "attributes": ATTRIBUTES}])
OTHER = class_("other", 4, devices=[{**DEVICE, "attributes": {**ATTRIBUTES, "rank": {"string": "third"}}}])
OF = 'device.attributes["gpu.nvidia.com"]'


def _planned(cel: str, *classes: str) -> Plan:
    east = cluster("east", {name: (name, 1) for name in classes})
    return plan(fleet(ONE, OTHER, east, deployment("m", 1, cel=cel)), Lock(stack="test"))


@pytest.mark.parametrize(
    ("cel", "what", "next_step"),
    [
        (
            f"{OF}.productName == 5",
            "column 49 of the expression: productName is a text on one, and compared with a whole number",
            "Write the value as a text in quotes",
        ),
        (
            f'true && {OF}["rank"] == "3"',
            "column 53 of the expression: rank is a whole number on one, and compared with a text",
            "Write a whole number without quotes",
        ),
        (
            'attributes["gpu.nvidia.com/runtime"] == "9.0.0"',
            "column 38 of the expression: runtime is a version on one, and compared with a text",
            'Write the value as semver("9.0.0")',
        ),
        (
            f'"true" == {OF}.shared',
            "column 8 of the expression: shared is true or false on one, and compared with a text",
            "Write true or false without quotes",
        ),
        (
            f'{OF}.productName == quantity("1")',
            "column 49 of the expression: productName is a text on one, and compared with quantity",
            "Write the value as a text in quotes",
        ),
        (
            f"{OF}.rank == 9223372036854775808",
            "column 45 of the expression: invalid int literal",
            "Write it as the examples in docs/guides/selectors.md",
        ),
    ],
)
def test_a_comparison_that_no_class_can_make_is_an_error_with_its_place(
    cel: str, what: str, next_step: str
) -> None:
    planned = _planned(cel, "one")
    assert placed(planned) == {}
    assert [(problem.severity, problem.what, problem.next_step) for problem in planned.problems] == [
        ("error", f"line 1, {what}", next_step)
    ]


@pytest.mark.parametrize("cel", [f"{OF}.productName != 5", f"true || {OF}.productName < 5"])
def test_where_the_selector_matches_nevertheless_it_is_a_warning(cel: str) -> None:
    planned = _planned(cel, "one")
    assert placed(planned) == {"m east/one": 1}
    assert [problem.severity for problem in planned.problems] == ["warning"]


@pytest.mark.parametrize(
    "cel",
    [
        f"{OF}.rank > 2u && {OF}.rank >= 2.5",
        f'"L4" == {OF}.productName',
        f'{OF}.runtime.compareTo(semver("8.9.0")) > 0',
        f"!has({OF}.gone) || {OF}.gone == 5",
    ],
)
def test_what_can_be_compared_is_not_told(cel: str) -> None:
    planned = _planned(cel, "one")
    assert (placed(planned), planned.problems) == ({"m east/one": 1}, ())


def test_a_type_that_some_class_has_is_none_of_the_others_business() -> None:
    planned = _planned(f'{OF}.rank == "third"', "one", "other")
    assert (placed(planned), planned.problems) == ({"m east/other": 1}, ())
