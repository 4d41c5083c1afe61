"""The fields a person may write at a place of a document, by the models."""

from collections.abc import Iterable
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from inferfleet.api.document import is_offered


def fields_at(model: type[BaseModel], steps: Iterable[str | int]) -> tuple[str, ...]:
    """The names of all offered fields, as they are written; () where any key is allowed."""
    at: Any = model
    for step in steps:
        at = _inside(at, step)
    return fields_of(at) if _is_model(at) else ()


def fields_of(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in model.model_fields.items() if is_offered(field))


def _inside(annotation: Any, step: str | int) -> Any:
    if _is_model(annotation):
        for name, field in annotation.model_fields.items():
            if step == (field.alias or name):
                return _bare(field.annotation)
        return None
    arguments = get_args(annotation)
    if get_origin(annotation) is dict and isinstance(step, str):
        return _bare(arguments[1])
    if get_origin(annotation) is tuple and isinstance(step, int):
        return _bare(arguments[0])
    return None


def _bare(annotation: Any) -> Any:
    """The type without metadata and without `| None`."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        rest = [one for one in get_args(annotation) if one is not type(None)]
        return _bare(rest[0]) if len(rest) == 1 else annotation
    return annotation


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
