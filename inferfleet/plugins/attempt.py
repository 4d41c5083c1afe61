"""Runs one plugin and turns whatever goes wrong in it into a PluginError, because it is code of others."""

import marshal
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from inferfleet.api.pods.template import template_mistakes, without_nulls
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import below, path_of
from inferfleet.plugins.contract import Edited, Plugin, PluginError, PodTemplate, Request

# Deeper than any pod template; a value that contains itself ends here too.
_DEEPEST = 100


class NotPlain(Exception):  # noqa: N818 (it says what the value is)
    """Raised for a value that JSON has no form for; the text names its field."""


class Malformed(PluginError):  # noqa: N818 (it says what was returned)
    """Raised for what a plugin returned where the API server would refuse it, with every mistake."""

    def __init__(self, thing: str, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(
            Mistake(f"returned {thing} that Kubernetes refuses: {_text(mistake)}", mistake.next_step)
            for mistake in mistakes
        )
        super().__init__("; ".join(mistake.what for mistake in self.mistakes))


def plain(value: Any, path: str = "") -> Any:
    """Return a deep copy of dicts, lists, strings, numbers, booleans and None.

    Raises NotPlain for anything else.
    """
    return _copy(value, path, 0)


def _copy(value: Any, path: str, depth: int) -> Any:
    if depth > _DEEPEST:
        raise NotPlain(f"{path[:80]}... is nested deeper than {_DEEPEST} levels, or contains itself")
    if value is None or isinstance(value, bool):
        return value
    # Enums and other subclasses become plain strings, because the YAML writer refuses them.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list | tuple):
        return [_copy(item, below(path, index), depth + 1) for index, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise NotPlain(f"{path or 'it'} has the key {key!r}, and keys are text")
        return {str.__str__(key): _copy(item, below(path, key), depth + 1) for key, item in value.items()}
    raise NotPlain(f"{path or 'it'} is {value!r:.60} ({type(value).__name__}), which is no JSON value")


def is_plain(value: Any, *, nulls: bool = True) -> bool:
    """Return whether a value needs no conversion to be one of JSON, with or without nulls."""
    kind = type(value)
    if kind is dict:
        return all(type(key) is str and is_plain(inner, nulls=nulls) for key, inner in value.items())
    if kind is list:
        return all(is_plain(inner, nulls=nulls) for inner in value)
    if kind is float:
        return math.isfinite(value)
    return kind is str or kind is bool or kind is int or (nulls and value is None)


def packed(value: Any) -> bytes:
    """Return the bytes of a plain value: equal for equal types, values and order, and quick to copy from.

    Raises ValueError for types that JSON has no form for, but not for all of them.
    """
    return marshal.dumps(value, 2)  # later versions write what is one object in memory in another way


def unpacked(data: bytes) -> Any:
    """Return the value, which shares nothing with any other."""
    return marshal.loads(data)


@dataclass(frozen=True)
class Attempt:
    """What one run of a plugin gave."""

    template: PodTemplate
    companions: tuple[Any, ...]
    remarks: tuple[str, ...]


def attempt(
    plugin: Plugin, template: PodTemplate, request: Request, config: BaseModel, *, checked: bool = True
) -> Attempt:
    """Run the plugin on a template, which becomes its own. To be called by `call`.

    Unless `checked`, neither types nor shape of the template are looked at: see `chain`. Raises PluginError,
    and whatever the plugin raises.
    """
    given: Any = plugin.edit(template, request, config)
    edited = given if isinstance(given, Edited) else Edited(given)
    if not isinstance(edited.template, dict):
        raise PluginError(
            f"returned {type(edited.template).__name__}, but a plugin must return the template it edited"
        )
    after = _checked(edited.template) if checked else edited.template
    return Attempt(after, _companions(edited), _remarks(edited))


def _companions(edited: Edited) -> tuple[Any, ...]:
    if not isinstance(edited.companions, list | tuple):
        raise PluginError(f"returned companions {edited.companions!r:.60}, but companions must be a tuple")
    return tuple(map(_plain_companion, edited.companions)) if edited.companions else ()


def _plain_companion(companion: Any) -> Any:
    try:
        return plain(companion)
    except NotPlain as error:
        # The value may be one of a Secret, and then no message says it.
        secret = isinstance(companion, dict) and companion.get("kind") == "Secret"
        what = "a Secret has a value that is no JSON" if secret else str(error)
        raise PluginError(f"in a companion, {what}") from None


def _remarks(edited: Edited) -> tuple[str, ...]:
    if not isinstance(edited.remarks, list | tuple) or not all(
        isinstance(remark, str) for remark in edited.remarks
    ):
        raise PluginError(f"returned remarks {edited.remarks!r:.60}, but remarks must be a tuple of texts")
    return tuple(str.__str__(remark) for remark in edited.remarks) if edited.remarks else ()


def _checked(template: Any) -> PodTemplate:
    try:
        after = plain(template)
    except NotPlain as error:
        raise PluginError(f"returned a template in which {error}") from error
    if mistakes := tuple(template_mistakes(after)):
        raise Malformed("a template", mistakes)
    without: PodTemplate = without_nulls(after)
    return without


def _text(mistake: Mistake) -> str:
    names = [step for step in mistake.at if isinstance(step, str)]
    what = mistake.what.replace("{field}", names[-1] if names else "it")
    return f"{path_of(mistake.at)}: {what}" if mistake.at else what
