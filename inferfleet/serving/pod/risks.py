"""Secrets that a pod template holds in plain text, and what pods are kept from by default."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.documents.pods.diff import place as place_of
from inferfleet.documents.problems import Steps
from inferfleet.documents.wording import path_of, shown
from inferfleet.serving.pod.parts import containers
from inferfleet.serving.pod.plain_secrets import in_container

# The API server refuses allowPrivilegeEscalation: false beside it (ValidateSecurityContext in Kubernetes'
# pkg/apis/core/validation/validation.go).
_ADMIN = frozenset(("SYS_ADMIN", "CAP_SYS_ADMIN"))


@dataclass(frozen=True)
class Risk:
    """One thing at `path` of a template; `place` is the same path with keys of list items, as in changes."""

    path: str
    place: str
    what: str
    next_step: str


def risks(template: Mapping[str, Any]) -> Iterator[Risk]:
    """Yield every secret, in the order of the template's parts, without its value."""
    for steps, container in containers(template["spec"]):
        for within, what, next_step in _secrets(container):
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


def _secrets(container: Mapping[str, Any]) -> Iterator[tuple[Steps, str, str]]:
    within = f"of container {shown(str(container.get('name')))!r}"
    for part, i, _, why in in_container(container):
        if part == "env":
            steps: Steps = (part, i, "value")
            what = f"variable {shown(str(container['env'][i].get('name')))!r} {within} {why}"
            step = "Put it into a Secret (inferfleet:secrets), read it by valueFrom.secretKeyRef"
        else:
            steps = (part, i)
            what = f"item {i} of {part} {within} {why}"
            step = "Read it from a variable with valueFrom.secretKeyRef, as $(NAME) here"
        yield steps, what, f"{step}, and rotate it if others can read this"
