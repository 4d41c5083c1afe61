"""What a pod template asks for beyond its container, secrets that it holds in plain text, and what pods are
kept from by default.

The first is what level `baseline` of the Pod Security Standards forbids, by the rules in `api.pods.security`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.pods.security import items, map_of, security_mistakes
from inferfleet.api.wording import path_of, shown
from inferfleet.manifests.pod.parts import containers
from inferfleet.manifests.pod.plain_secrets import in_arguments, in_variable
from inferfleet.plugins.diff import place as place_of

Steps = tuple[str | int, ...]
# The API server refuses allowPrivilegeEscalation: false beside it (ValidateSecurityContext in Kubernetes'
# pkg/apis/core/validation/validation.go).
_ADMIN = frozenset(("SYS_ADMIN", "CAP_SYS_ADMIN"))
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


def restrained(template: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return a template with what pods are kept from by default, in the containers of `own`, the template
    before plugins edited it; containers that plugins add are theirs to restrain.

    Level `restricted` of the Pod Security Standards wants the same of containers, and no user root besides,
    whom most images of engines have (plugin `restricted`). What a template says already stays, and whoever
    names an account asks for its token.
    """
    spec: dict[str, Any] = dict(template["spec"])
    if "serviceAccountName" not in spec:
        spec.setdefault("automountServiceAccountToken", False)
    profiled = "seccompProfile" in spec.get("securityContext", {})
    known = {container["name"] for _, container in containers(own["spec"])}
    # What is not changed is shared: to copy all of each template takes longer than to make it.
    for part in dict.fromkeys(str(at[1]) for at, _ in containers(spec)):
        spec[part] = [
            _restrained_container(container, profiled=profiled) if container["name"] in known else container
            for container in spec[part]
        ]
    return {**template, "spec": spec}


def _restrained_container(container: Mapping[str, Any], *, profiled: bool) -> dict[str, Any]:
    context = container.get("securityContext", {})
    if context.get("privileged"):
        return dict(container)
    return {
        **container,
        "securityContext": _least(context, profiled=profiled) | context | _dropped(context),
    }


def _least(context: Mapping[str, Any], *, profiled: bool) -> dict[str, Any]:
    added = context.get("capabilities", {}).get("add", ())
    least: dict[str, Any] = {} if profiled else {"seccompProfile": {"type": "RuntimeDefault"}}
    return least | ({"allowPrivilegeEscalation": False} if _ADMIN.isdisjoint(added) else {})


def _dropped(context: Mapping[str, Any]) -> dict[str, Any]:
    return {"capabilities": {"drop": ["ALL"], **context.get("capabilities", {})}}


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
