"""Values of closed sets in another case, and misspelled names of required fields."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
from fleet_text import BASE, Mistake
from pydantic import create_model

from inferfleet.documents import Where
from inferfleet.documents.kinds.base import StrictModel
from inferfleet.documents.loading.load import KINDS
from inferfleet.documents.loading.validation import validated


def _choices(annotation: Any) -> Iterator[str]:
    """Yield the texts of a closed set that a field may have, also beside other types."""
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    elif get_origin(annotation) not in (dict, tuple):
        for inner in get_args(annotation):
            yield from _choices(inner)


def _models(model: type[StrictModel] = StrictModel) -> Iterator[type[StrictModel]]:
    for inner in model.__subclasses__():
        yield inner
        yield from _models(inner)


assert KINDS, "all kinds of documents are imported"
VALUES = [
    pytest.param(field.rebuild_annotation(), value, id=f"{model.__name__}.{name}.{value}")
    for model in dict.fromkeys(_models())
    if model.__module__.startswith("inferfleet.documents.")
    for name, field in model.model_fields.items()
    for value in _choices(field.annotation)
    if value.swapcase() != value
]


@pytest.mark.parametrize(("field", "value"), VALUES)
def test_a_value_of_a_closed_set_is_suggested_whatever_its_case(field: Any, value: str) -> None:
    model = create_model("Of", __base__=StrictModel, field=(field, ...))
    _, problems = validated(model, {"field": value.swapcase()})
    assert [(problem.path, problem.next_step) for problem in problems] == [
        ("field", f"Did you mean {value}?")
    ]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "  serving: {gateway: {className: istio}}",
            "  serving: {gateway: {className: istio}, stack: provided}",
            (
                15,
                "spec.serving.stack",
                "stack 'provided' is neither of Provided and Managed, nor says so of add-ons",
                "Did you mean Provided?",
            ),
        ),
        (
            "  engine: {type: vLLM}",
            "  engine: {program: image}",
            (
                22,
                "spec.engine.program",
                "program must be a list or Image, not 'image'",
                "Did you mean Image?",
            ),
        ),
        # Not also that the right one is missing.
        (
            "  replicas: 2",
            "  replica: 2",
            (21, "spec.replica", "unknown field 'replica'", "Did you mean replicas?"),
        ),
    ],
)
def test_a_misspelled_word_is_one_problem(
    mistake: Mistake, old: str, new: str, told: tuple[int, str, str, str]
) -> None:
    line, *words = told
    assert mistake(BASE, old, new) == (Where("a.yaml", line), *words)
