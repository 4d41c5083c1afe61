"""Runs one plugin and turns whatever goes wrong in it into a PluginError, because it is code of others."""

import copy
import math
import traceback
from collections.abc import Iterable
from pathlib import Path
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


def attempt(plugin: Plugin, template: PodTemplate, request: Request, config: BaseModel) -> Edited:
    """Run the plugin and return its template, whose shape was checked, and its companions.

    The template shares nothing with the one given. Raises PluginError.
    """
    given = _call(plugin, copy.deepcopy(template), copy.deepcopy(request), config)
    edited = given if isinstance(given, Edited) else Edited(given)
    if not isinstance(edited.template, dict):
        raise PluginError(
            f"returned {type(edited.template).__name__}, but a plugin must return the template it edited"
        )
    if not isinstance(edited.companions, list | tuple):
        raise PluginError(f"returned companions {edited.companions!r:.60}, but companions must be a tuple")
    try:
        after = plain(edited.template)
    except NotPlain as error:
        raise PluginError(f"returned a template in which {error}") from error
    if mistakes := tuple(template_mistakes(after)):
        raise Malformed("a template", mistakes)
    return Edited(without_nulls(after), tuple(edited.companions))


def _text(mistake: Mistake) -> str:
    names = [step for step in mistake.at if isinstance(step, str)]
    what = mistake.what.replace("{field}", names[-1] if names else "it")
    return f"{path_of(mistake.at)}: {what}" if mistake.at else what


def _call(plugin: Plugin, template: PodTemplate, request: Request, config: BaseModel) -> Any:
    try:
        return plugin.edit(template, request, config)
    except PluginError:
        raise
    # Code of others: a KeyError in it must reach the team as a problem with its line, never as a traceback,
    # and the other plugins must still run. So this catches everything on purpose.
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise PluginError(
            f"{type(error).__name__}: {error} (at {Path(last.filename).name}:{last.lineno})"
        ) from error
