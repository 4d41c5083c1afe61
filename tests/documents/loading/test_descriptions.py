"""Every field that a person may write says what it is for."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from sentences import faults

from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.load import KINDS
from inferfleet.documents.loading.schema import descriptions


def models() -> list[type[BaseModel]]:
    """The kinds, the settings, and all models inside them."""
    known: dict[type[BaseModel], None] = {}
    waiting: list[type[BaseModel]] = [*KINDS.values(), Settings]
    while waiting:
        model = waiting.pop()
        if model not in known:
            known[model] = None
            for field in model.model_fields.values():
                waiting += inner_models(field.annotation)
    return sorted(known, key=lambda model: model.__name__)


def inner_models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from inner_models(part)


def test_all_parts_of_documents_are_looked_at() -> None:
    names = {model.__name__ for model in models()}
    assert names > {"PodTemplate", "GkeAccelerator", "Sharing", "Taint", "PluginScope", "KubeconfigRef"}


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_a_model_and_each_of_its_fields_have_a_description_in_whole_sentences(model: type[BaseModel]) -> None:
    texts = descriptions(model)
    assert texts.keys() == model.model_fields.keys()
    said = {"": " ".join((model.__doc__ or "").split()), **texts}
    assert {field: faults(text) for field, text in said.items() if faults(text)} == {}


@pytest.mark.parametrize("text", ["", "no capital.", "No full stop", "One. Two. Three."])
def test_a_description_that_is_no_sentence_is_found(text: str) -> None:
    assert faults(text) != []
