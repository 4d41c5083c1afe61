"""What a person reads about an expression that is wrong on every class: place, rule and next step."""

import pytest

from inferfleet.fleet.selectors.cel import InvalidSelector, Selectors


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("capacity[", "line 1, column 9: this [ is never closed. Add the missing ]"),
        ("true &&\n  )", "line 2, column 3: this ) closes nothing. Remove it"),
        ("(true]", "line 1, column 6: ] cannot close (. Write ) before it"),
        ("true &&", "line 1, column 6: something is missing after &&. Write the rest of the condition"),
        (
            'capcity["x"] == 1',
            "line 1, column 1: there is no variable 'capcity'. Did you mean capacity?",
        ),
        ('quantty("1") == 1', "line 1, column 1: there is no function 'quantty'. Did you mean quantity?"),
        (
            'semver("9") == semver("9.0.0")',
            "line 1, column 8: '9' is not a semantic version (such as 9.0.0). "
            'Write semver("9.0.0") with your own value',
        ),
        (
            'device.atributes["x"].y == 1',
            "line 1, column 7: device has no field 'atributes'. Did you mean device.attributes?",
        ),
        (
            'capacity["gpu.nvidia.com/memory"] >= quantity("75Gi") && true',
            "line 1, column 35: quantities are compared with compareTo, not with >=. "
            'Write .compareTo(quantity("75Gi")) >= 0',
        ),
        (
            'capacity["gpu.nvidia.com/memory"] > 75Gi',
            'line 1, column 37: 75Gi is no number. Write amounts as quantity("75Gi")',
        ),
        (
            'attributes["x"] > semver("9.0.0")',
            "line 1, column 17: versions are compared with compareTo, not with >. "
            'Write .compareTo(semver("9.0.0")) > 0',
        ),
        ('device.driver = "a"', "line 1, column 15: = is no comparison. Write == instead of ="),
        (
            'attributes["x"].exists(x, x == 1)',
            "line 1, column 11: an attribute is one value, and nothing can go through the items of it. "
            "Compare it with ==",
        ),
        (
            '"%s".format([device.attributes["x"].y]) == "a"',
            "line 1, column 36: format cannot write an attribute. Compare it without format",
        ),
        (
            '"%s".format([quantity("1")]) == "1"',
            "line 1, column 22: format cannot write quantity. Compare it without format",
        ),
        ("true and false", "line 1, column 6: there is no word and. Write && instead of and"),
        (
            "true & false",
            "line 1, column 6: the character '&' has no meaning here. Write && to join two conditions",
        ),
        (
            'attributes["x"] == Hopper',
            "line 1, column 20: there is no variable 'Hopper'. The variables are attributes, "
            "capacity, device; quote texts",
        ),
        (
            'quantity("1Gi").sign() == 1',
            "line 1, column 17: sign is called in another way. Write sign(quantity)",
        ),
        (
            'quantity("1").add("2") == quantity("3")',
            "line 1, column 15: add does not take (quantity, string). "
            "Write quantity.add(quantity) or quantity.add(int)",
        ),
        ("1 + 1", "the expression gives int, not true or false. Compare it with something, such as with =="),
        ("[1].all()", "line 1, column 5: all takes a name and an expression. Write it like .all(x, x > 1)"),
        (
            "[1].exists(true, true)",
            "line 1, column 5: exists takes a name and an expression. Write it like .exists(x, x > 1)",
        ),
        (
            "has(1)",
            "line 1, column 1: has takes a field. Write it like "
            'has(device.attributes["gpu.nvidia.com"].memory)',
        ),
        (
            "has()",
            "line 1, column 1: has takes a field. Write it like "
            'has(device.attributes["gpu.nvidia.com"].memory)',
        ),
        (
            '"a" * 2 == "aa"',
            "line 1, column 5: string * int cannot be computed. Both sides must be numbers of "
            "one kind, texts or lists",
        ),
        (
            '[1, "a"] == []',
            "line 1, column 5: a list or map has values of one kind, not int and string. Write "
            "dyn(...) around each of them",
        ),
        (
            "(" * 300 + "true" + ")" * 300,
            "the expression is nested more than 32 levels deep. Use fewer brackets, or shorter chains",
        ),
        (
            "true" + " " * 10_240,
            "the expression is longer than 10,240 bytes, the limit of Kubernetes. Make it shorter",
        ),
        (
            "lists.range(2000).map(x, x).size() == 1",
            "the expression can cost more than 1,000,000 units, the limit of Kubernetes. "
            "Use shorter lists and texts, and fewer loops in loops",
        ),
        (
            'lists.range(9000).all(x, "a".matches("' + "(a*)*b" * 100 + '"))',
            "the expression can cost more than 1,000,000 units, the limit of Kubernetes. "
            "Use shorter lists and texts, and fewer loops in loops",
        ),
    ],
)
def test_an_invalid_selector_says_where(expression: str, problem: str) -> None:
    with pytest.raises(InvalidSelector) as raised:
        Selectors().check(expression)
    assert str(raised.value) == problem
