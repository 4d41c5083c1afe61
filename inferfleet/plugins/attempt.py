"""Runs one plugin and turns whatever goes wrong in it into a PluginError, because it is code of others."""

import marshal
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from inferfleet.api.pods.template import amount_mistakes, template_mistakes, without_nulls
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import below
from inferfleet.plugins.contract import (
    Companion,
    Edited,
    Plugin,
    PluginCodeError,
    PluginError,
    PodTemplate,
    Request,
)
from inferfleet.plugins.diff import place

# What sidecars request that a webhook injects, by the name of their container.
Injected = Mapping[str, Mapping[str, str]]
_EXAMPLE = 'write it like {"istio-proxy": {"cpu": "100m", "memory": "128Mi"}}'
# A label of DNS, as Kubernetes has it for names of containers.
_CONTAINER = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
# Deeper than any pod template; a value that contains itself ends here too.
_DEEPEST = 100
# JSON has longer numbers, Kubernetes none.
_LARGEST = 2**63 - 1


class NotPlain(Exception):  # noqa: N818 (it says what the value is)
    """Raised for a value that JSON has no form for; the text names its field."""


class Malformed(PluginError):  # noqa: N818 (it says what was returned)
    """Raised for what a plugin returned where the API server would refuse it, with every mistake.

    Of `returned`, paths name entries of lists by their keys, as in all that is said of templates.
    """

    def __init__(self, thing: str, mistakes: Iterable[Mistake], *, returned: Any = None) -> None:
        self.mistakes = tuple(
            Mistake(
                f"returned {thing} that Kubernetes refuses: {_text(mistake, returned)}", mistake.next_step
            )
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
        if not _is_text(value):
            raise NotPlain(f"{path or 'it'} is {value!r:.60}, which is no text of Unicode")
        return str.__str__(value)
    if isinstance(value, int):
        if abs(value) > _LARGEST:
            raise NotPlain(f"{path or 'it'} is a whole number of more than 64 bits")
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list | tuple):
        return [_copy(item, below(path, index), depth + 1) for index, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or not _is_text(key):
                raise NotPlain(f"{path or 'it'} has the key {key!r:.60}, and keys are text")
        return {str.__str__(key): _copy(item, below(path, key), depth + 1) for key, item in value.items()}
    raise NotPlain(f"{path or 'it'} is {value!r:.60} ({type(value).__name__}), which is no JSON value")


def is_plain(value: Any, *, nulls: bool = True) -> bool:
    """Return whether a value needs no conversion to be one of JSON, with or without nulls."""
    kind = type(value)
    if kind is dict:
        return all(
            type(key) is str and _is_text(key) and is_plain(inner, nulls=nulls)
            for key, inner in value.items()
        )
    if kind is list:
        return all(is_plain(inner, nulls=nulls) for inner in value)
    if kind is float:
        return math.isfinite(value)
    if kind is str:
        return _is_text(value)
    if kind is int:
        return bool(abs(value) <= _LARGEST)
    return kind is bool or (nulls and value is None)


def _is_text(text: str) -> bool:
    """Return whether a text can be written in UTF-8, as half of a surrogate pair cannot."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def packed(value: Any) -> bytes:
    """Return the bytes of a plain value: equal for equal types, values and order, and quick to copy from.

    Raises ValueError for types that JSON has no form for, but not for all of them.
    """
    return marshal.dumps(value, 2)  # later versions write what is one object in memory in another way


def unpacked(data: bytes) -> Any:
    """Return the value, which shares nothing with any other."""
    return marshal.loads(data)


# Pods of a deployment on several clusters come one after another, with equal templates: those that were
# generated, and those after the chain.
@lru_cache(maxsize=512)
def packed_mistakes(template: bytes) -> tuple[Mistake, ...]:
    """Return what the API server would refuse of a packed template."""
    return tuple(template_mistakes(unpacked(template)))


@dataclass(frozen=True)
class Attempt:
    """What one run of a plugin gave."""

    template: PodTemplate
    companions: tuple[Companion, ...]
    remarks: tuple[str, ...]
    injected: Injected


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
        raise PluginCodeError(
            f"returned {type(edited.template).__name__}, but a plugin must return the template it edited"
        )
    after = _checked(edited.template) if checked else edited.template
    return Attempt(after, _companions(edited), _remarks(edited), _injected(edited.injected))


def _companions(edited: Edited) -> tuple[Companion, ...]:
    if not isinstance(edited.companions, list | tuple):
        raise PluginCodeError(
            f"returned companions {_type(edited.companions)}, but companions must be a tuple"
        )
    return tuple(map(_plain_companion, edited.companions)) if edited.companions else ()


def _type(value: Any) -> str:
    """Return the type of what stands for companions. Its value may be one of a Secret."""
    return "None" if value is None else f"of type {type(value).__name__}"


def _plain_companion(given: Any) -> Companion:
    beside = given if isinstance(given, Companion) else Companion(given)
    manifest: Any = beside.manifest
    if beside.when not in ("before", "after"):
        raise PluginCodeError(
            f"a companion is to be created {beside.when!r:.40} its workload; write before or after"
        )
    try:
        return replace(beside, manifest=plain(manifest))
    except NotPlain as error:
        # The value may be one of a Secret, and then no message says it; its kind may be misspelt or missing.
        kind = manifest.get("kind") if isinstance(manifest, dict) else None
        secret = not isinstance(kind, str) or "secret" in kind.lower()
        what = "an object that may be a Secret has a value that is no JSON" if secret else str(error)
        raise PluginCodeError(f"in a companion, {what}") from None


def _remarks(edited: Edited) -> tuple[str, ...]:
    if not isinstance(edited.remarks, list | tuple) or not all(
        isinstance(remark, str) for remark in edited.remarks
    ):
        raise PluginCodeError(
            f"returned remarks {edited.remarks!r:.60}, but remarks must be a tuple of texts"
        )
    return tuple(str.__str__(remark) for remark in edited.remarks) if edited.remarks else ()


def _injected(given: Any) -> Injected:
    if not isinstance(given, Mapping) or not all(
        isinstance(name, str) and name and isinstance(requests, Mapping) for name, requests in given.items()
    ):
        raise PluginCodeError(
            f"returned injected {given!r:.60}, but it has requests by names of containers; {_EXAMPLE}"
        )
    for name in given:
        if not _CONTAINER.fullmatch(name):
            raise PluginCodeError(
                f"returned injected, in which the container {name!r:.40} must have a name of at most 63 "
                "lower-case letters, digits and '-', with a letter or digit at both ends"
            )
    return {str.__str__(name): _requests(name, requests) for name, requests in given.items()}


def _requests(container: str, requests: Mapping[Any, Any]) -> dict[str, str]:
    where = f"returned injected, in which container {container!r:.40}"
    for resource, amount in requests.items():
        if not isinstance(resource, str) or type(amount) not in (str, int):
            raise PluginCodeError(f"{where} requests {amount!r:.40} of {resource!r:.40}; {_EXAMPLE}")
        if "/" in resource:
            raise PluginCodeError(
                f"{where} requests {resource:.60}; devices of a pod are planned by its document alone"
            )
    if refused := tuple(amount_mistakes(requests)):
        raise PluginCodeError(
            f"{where} has what Kubernetes refuses: {'; '.join(_text(mistake, None) for mistake in refused)}"
        )
    return {str.__str__(resource): str(amount) for resource, amount in requests.items()}


def _checked(template: Any) -> PodTemplate:
    try:
        after = plain(template)
    except NotPlain as error:
        raise PluginCodeError(f"returned a template in which {error}") from error
    if mistakes := tuple(template_mistakes(after)):
        raise Malformed("a template", mistakes, returned=after)
    without: PodTemplate = without_nulls(after)
    return without


def _text(mistake: Mistake, returned: Any) -> str:
    names = [step for step in mistake.at if isinstance(step, str)]
    what = mistake.what.replace("{field}", names[-1] if names else "it")
    return f"{place(returned, mistake.at)}: {what}" if mistake.at else what
