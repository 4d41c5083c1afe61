"""Mistakes in the routes of documents, and their messages."""

import pytest
from fleet_text import BASE, Mistake

from inferfleet.documents import Where

# What is written in place of the engine; then line, path, what, next step of the one problem that makes.
CASES = {
    "header twice": (
        "  engine: {type: vLLM}", "  route: {headers: {X-A: x, x-a: y}}",
        22, "spec.route.headers.x-a", "header x-a is there twice: upper and lower case make no difference",
        "Keep one of the two: a gateway looks at the first only",
    ),
    "header": (
        "  engine: {type: vLLM}", "  route: {headers: {a b: x}}",
        22, 'spec.route.headers["a b"]', "'a b' is not a header name", "Write it like x-model",
    ),
    "path of an engine": (
        "  engine: {type: vLLM}", "  route: {paths: [/v1/]}",
        22, "spec.route.paths[0]", "'/v1/' is no path of an engine", "Write it like /v1 or /generate",
    ),
    "path twice": (
        "  engine: {type: vLLM}", "  route: {paths: [/v1, /v1]}",
        22, "spec.route.paths[1]", "path /v1 is there twice", "Keep one of the two",
    ),
    "empty rest of a path": (
        "  engine: {type: vLLM}", "  route: {paths: [/]}",
        22, "spec.route.paths",
        "paths has /, of which a gateway would have to make an empty path: some send //v1 then, and GKE's do "
        "not support it",
        "Write path: / beside it, or list the engine's paths",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_in_a_route_is_told_with_place_value_rule_and_next_step(
    mistake: Mistake, case: str
) -> None:
    old, new, line, *told = CASES[case]
    assert mistake(BASE, old, new) == (Where("a.yaml", line), *told)
