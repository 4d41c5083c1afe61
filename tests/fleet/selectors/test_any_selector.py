"""Expressions made at random: none ends in an exception, takes long, or controls a terminal."""

import json
from pathlib import Path
from random import Random

from fleet.selectors.test_selectors import H100
from work import least_cpu

from inferfleet.fleet.selectors.devices import Selectors
from inferfleet.fleet.selectors.expressions import InvalidSelector

TABLE = Path(__file__).parent / "kubernetes" / "results.jsonl"
EXPRESSIONS = [json.loads(line)["expression"] for line in TABLE.read_text().splitlines()]
PARTS = [*"()[]{}.,:?!&|=<>+-*/%\"'\\ \n`@$é\N{GRINNING FACE}\0", "null", "dyn(1)", "lists.range(3000)"]
PARTS += ["(", "[", "{1:", "!", "- ", "true?1:", ".a", "+1", "[1].all(x,", "cel.bind(a,a+a,", ".map(x,[x,x])"]
PARTS += ["device", "optional.of(1)", "capacity", '"(a*)*b"', "9223372036854775807", "\ud800"]


def _mutated(expression: str, random: Random) -> str:
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(expression) + 1)
        part = random.choice([random.choice(PARTS), random.choice(EXPRESSIONS)])
        times = random.choice([1, 1, 1, 3, 31, 1000]) if len(part) < 20 else 1
        expression = expression[:at] + part * times + expression[at + random.choice([0, 0, 1, 3]) :]
    return expression[:11_000]


def _said(expression: str) -> str:
    try:
        return Selectors().mismatch(expression, H100) or ""
    except InvalidSelector as invalid:
        return str(invalid)


def test_any_text_is_a_selector_or_says_why_it_is_none() -> None:
    random = Random(1)
    originals = [random.choice(EXPRESSIONS) for _ in range(400)]
    expressions = [_mutated(original, random) for original in originals]
    for expression in expressions:
        assert _said(expression).isprintable(), expression
    usual = least_cpu(lambda: [_said(expression) for expression in originals])
    assert least_cpu(lambda: [_said(expression) for expression in expressions]) < 50 * usual
