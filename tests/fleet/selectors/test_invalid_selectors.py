"""What a person reads about an expression that is wrong on every class: place, rule and next step."""

import pytest

from inferfleet.fleet.selectors.devices import Selectors
from inferfleet.fleet.selectors.expressions import InvalidSelector

EXAMPLES = " Write it as the examples in docs/guides/selectors.md"
GROWS = (
    "the expression can grow to more than 1,000,000 units of work. "
    "Use shorter lists and texts, and fewer loops in loops"
)
THERE = (
    "every domain is there, as an empty map where the device has none of it. "
    'Ask for a name of it, as in has(device.attributes["x"].y)'
)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("capacity[", "line 1, column 10: Syntax error: mismatched input '<EOF>'." + EXAMPLES),
        ("true &&\n  )", "line 2, column 3: Syntax error: mismatched input ')'." + EXAMPLES),
        ('capcity["x"] == 1', "line 1, column 1: undeclared reference to 'capcity'. Did you mean capacity?"),
        ('quantty("1") == 1', "line 1, column 1: undeclared reference to 'quantty'. Did you mean quantity?"),
        (
            'semver("9") == semver("9.0.0")',
            "line 1, column 8: '9' is not a semantic version (such as 9.0.0). Write another text there",
        ),
        (
            'device.atributes["x"].y == 1',
            "line 1, column 8: undeclared reference to 'device.atributes'. Did you mean attributes?",
        ),
        (
            'capacity["gpu.nvidia.com/memory"] >= quantity("75Gi") && true',
            "line 1, column 35: found no matching overload for '_>=_' applied to"
            " '(Quantity, Quantity)'." + EXAMPLES,
        ),
        (
            'capacity["gpu.nvidia.com/memory"] > 75Gi',
            "line 1, column 39: Syntax error: extraneous input 'Gi'." + EXAMPLES,
        ),
        (
            'attributes["x"] > semver("9.0.0")',
            "line 1, column 17: found no matching overload for '_>_' applied to '(dyn, Semver)'." + EXAMPLES,
        ),
        (
            'device.driver = "a"',
            "line 1, column 15: Syntax error: token recognition error at: '= '." + EXAMPLES,
        ),
        ('ip("10.0.0.1").family() == 4', "line 1, column 1: undeclared reference to 'ip'." + EXAMPLES),
        ("device == device", "line 1, column 1: undeclared reference to 'device'." + EXAMPLES),
        ('attributes["x"] == Hopper', "line 1, column 20: undeclared reference to 'Hopper'." + EXAMPLES),
        (
            'quantity("1").add("2") == quantity("3")',
            "line 1, column 18: found no matching overload for 'add' applied to "
            "'(Quantity, string)'." + EXAMPLES,
        ),
        ("1 + 1", "the expression gives int, not true or false. Compare it with something, such as with =="),
        (
            "1 < 1.5",
            "line 1, column 3: found no matching overload for '_<_' applied to '(int, double)'." + EXAMPLES,
        ),
        ("(" * 300 + "true" + ")" * 300, "Expression recursion limit exceeded. limit: 32." + EXAMPLES),
        (
            "true" + " " * 10240,
            "the expression is longer than 10,240 bytes, the limit of Kubernetes. Make it shorter",
        ),
        ("", "the expression is empty. Write a condition as in docs/guides/selectors.md"),
        ('"\ud800" == "a"', "the expression has half of a character in it. Remove escapes such as \\ud800"),
        (
            'device.driver.matches("(")',
            "line 1, column 23: '(' is not a regular expression (RE2), or it is too large. Write"
            " another text there",
        ),
        ("lists.range(2000).map(x, x).size() == 1", GROWS),
        ('lists.range(9000).all(x, "a".matches("' + "(a*)*b" * 100 + '"))', GROWS),
        ('device.attributes[?"x"].hasValue()', "line 1, column 18: " + THERE),
        ("has(device.attributes.x)", "line 1, column 4: " + THERE),
    ],
)
def test_an_invalid_selector_says_where(expression: str, problem: str) -> None:
    with pytest.raises(InvalidSelector) as raised:
        Selectors().check(expression)
    assert str(raised.value) == problem
