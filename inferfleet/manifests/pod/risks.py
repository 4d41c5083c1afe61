"""What a pod template asks for beyond its container, and secrets that it holds in plain text.

The first is what level `baseline` of the Pod Security Standards forbids, by the rules in `api.pods.security`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.pods.security import items, map_of, security_mistakes
from inferfleet.api.wording import path_of, shown
from inferfleet.manifests.pod.plain_secrets import in_arguments, in_variable
from inferfleet.plugins.diff import place as place_of

Steps = tuple[str | int, ...]
_FORBIDDEN = "which level baseline of the Pod Security Standards forbids"


@dataclass(frozen=True)
class Risk:
    """One thing at `path` of a template; `place` is the same path with keys of list items, as in changes."""

    path: str
    place: str
    what: str
    next_step: str


def risks(template: Mapping[str, Any]) -> Iterator[Risk]:
    """Yield everything, in the order of the template's parts. No value of a secret is in it."""
    for mistake in security_mistakes(template, level="baseline"):
        what, at = f"{mistake.what}, {_FORBIDDEN}", mistake.at
        yield Risk(path_of(at), place_of(template, at), what, mistake.next_step)
    for steps, container in _containers(template):
        for within, what, next_step in (*_secrets_in_env(container), *_secrets_in_arguments(container)):
            place = (*steps, *within)
            yield Risk(path_of(place), place_of(template, place), what, next_step)


def _secrets_in_env(container: Mapping[str, Any]) -> Iterator[tuple[Steps, str, str]]:
    name = shown(str(container.get("name")))
    for i, variable in items(container, "env"):
        if why := in_variable(variable.get("name"), variable.get("value")):
            what = f"variable {shown(str(variable.get('name')))!r} of container {name!r} {why}"
            next_step = "Put it into a Secret (inferfleet:secrets), read it by valueFrom.secretKeyRef"
            yield ("env", i, "value"), what, f"{next_step}, and rotate it if others can read this"


def _secrets_in_arguments(container: Mapping[str, Any]) -> Iterator[tuple[Steps, str, str]]:
    name = shown(str(container.get("name")))
    for part in ("command", "args"):
        words = container.get(part)
        for i, why in in_arguments(words if isinstance(words, list) else []):
            what = f"item {i} of {part} of container {name!r} {why}"
            next_step = "Read it from a variable with valueFrom.secretKeyRef, as $(NAME) here"
            yield (part, i), what, f"{next_step}, and rotate it if others can read this"


def _containers(template: Mapping[str, Any]) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    spec = map_of(template, "spec")
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in items(spec, kind):
            yield ("spec", kind, i), container
