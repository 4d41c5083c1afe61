"""What a pod template asks for beyond its container, and secrets that it holds in plain text.

The first is what level `baseline` of the Pod Security Standards forbids, rule by rule as an API server checks
it. Of security contexts and probes the shapes are not looked into elsewhere, so here every type is in doubt.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.api.wording import path_of, shown
from inferfleet.manifests.pod.plain_secrets import in_arguments, in_variable
from inferfleet.plugins.diff import place as place_of
from inferfleet.profiles import pod_security

Steps = tuple[str | int, ...]
_FORBIDDEN = "which level baseline of the Pod Security Standards forbids"
_SHARED = {
    "hostNetwork": "network",
    "hostPID": "processes",
    "hostIPC": "inter-process communication",
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


@dataclass(frozen=True)
class Risk:
    """One thing at `path` of a template; `place` is the same path with keys of list items, as in changes."""

    path: str
    place: str
    what: str
    next_step: str


def risks(template: Mapping[str, Any]) -> Iterator[Risk]:
    """Yield everything, in the order of the template's parts. No value of a secret is in it."""
    for steps, what, next_step in _forbidden(template):
        yield Risk(path_of(steps), place_of(template, steps), f"{what}, {_FORBIDDEN}", next_step)
    for steps, container in _containers(template):
        for within, what, next_step in (*_secrets_in_env(container), *_secrets_in_arguments(container)):
            place = (*steps, *within)
            yield Risk(path_of(place), place_of(template, place), what, next_step)


def _forbidden(template: Mapping[str, Any]) -> Iterator[tuple[Steps, str, str]]:
    spec = _map(template, "spec")
    for name, shared in _SHARED.items():
        if spec.get(name) is True:
            yield ("spec", name), f"the pod shares the {shared} of its node", f"Remove {name}"
    for i, volume in _items(spec, "volumes"):
        if volume.get("hostPath") is not None:
            what = f"volume {shown(str(volume.get('name')))!r} is a folder of the node"
            yield ("spec", "volumes", i, "hostPath"), what, "Use an emptyDir or a PersistentVolumeClaim"
    context = _map(spec, "securityContext")
    here: Steps = ("spec", "securityContext")
    yield from _context(context, here, "the pod")
    for i, sysctl in _items(context, "sysctls"):
        if not _among(sysctl.get("name"), pod_security.SYSCTLS):
            what = f"the pod sets the kernel parameter {shown(str(sysctl.get('name')))}"
            yield (*here, "sysctls", i), what, "Remove it, or set it on the nodes"
    annotations = _map(_map(template, "metadata"), "annotations")
    for key, value in annotations.items():
        if str(key).startswith(pod_security.APPARMOR_ANNOTATION) and not _confined(value):
            name = shown(str(key).rpartition("/")[2])
            what = f"the annotation leaves container {name!r} unconfined by AppArmor"
            yield ("metadata", "annotations", key), what, "Remove it"
    for steps, container in _containers(template):
        yield from _of_container(container, steps)


def _of_container(container: Mapping[str, Any], at: Steps) -> Iterator[tuple[Steps, str, str]]:
    name = f"container {shown(str(container.get('name')))!r}"
    context = _map(container, "securityContext")
    here: Steps = (*at, "securityContext")
    if context.get("privileged") is True:
        yield (*here, "privileged"), f"{name} is privileged, as root of its node", "Remove privileged"
    added = _map(context, "capabilities").get("add")
    extra = [
        shown(str(capability))
        for capability in (added if isinstance(added, list) else [])
        if not _among(capability, pod_security.CAPABILITIES)
    ]
    if extra:
        yield (*here, "capabilities", "add"), f"{name} adds capabilities ({', '.join(extra)})", "Remove them"
    mount = context.get("procMount")
    if mount not in (None, "Default"):
        yield (*here, "procMount"), f"{name} mounts /proc {shown(str(mount))}", "Remove procMount"
    yield from _context(context, here, name)
    for i, port in _items(container, "ports"):
        if port.get("hostPort"):
            what = f"{name} takes port {shown(str(port['hostPort']))} of its node"
            yield (*at, "ports", i, "hostPort"), what, "Remove hostPort"
    handlers = [(*at, probe) for probe in _PROBES]
    handlers += [(*at, "lifecycle", hook) for hook in ("postStart", "preStop")]
    for steps in handlers:
        handler = _below(container, steps[len(at) :])
        for how in ("httpGet", "tcpSocket"):
            if host := _map(handler, how).get("host"):
                what = f"{name} has a probe or hook that asks host {shown(str(host))!r}"
                yield (*steps, how, "host"), what, "Remove host: the pod's own address is asked then"


def _context(context: Mapping[str, Any], at: Steps, who: str) -> Iterator[tuple[Steps, str, str]]:
    """Yield what pods and containers may both ask for."""
    for name, system in (("seccompProfile", "seccomp"), ("appArmorProfile", "AppArmor")):
        profile = context.get(name)
        if isinstance(profile, dict) and not _among(profile.get("type"), pod_security.PROFILE_TYPES):
            yield (*at, name), f"{who} is not confined by {system}", "Use type RuntimeDefault"
    linux = _map(context, "seLinuxOptions")
    if (
        linux.get("user")
        or linux.get("role")
        or not _among(linux.get("type", ""), pod_security.SELINUX_TYPES)
    ):
        yield (*at, "seLinuxOptions"), f"{who} chooses its own SELinux user, role or type", "Remove it"
    if _map(context, "windowsOptions").get("hostProcess") is True:
        yield (*at, "windowsOptions", "hostProcess"), f"{who} runs as a process of its node", "Remove it"


def _confined(profile: Any) -> bool:
    return isinstance(profile, str) and (
        profile in ("", "runtime/default") or profile.startswith("localhost/")
    )


def _secrets_in_env(container: Mapping[str, Any]) -> Iterator[tuple[Steps, str, str]]:
    name = shown(str(container.get("name")))
    for i, variable in _items(container, "env"):
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
    spec = _map(template, "spec")
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in _items(spec, kind):
            yield ("spec", kind, i), container


def _among(value: Any, known: frozenset[str]) -> bool:
    return isinstance(value, str) and value in known


def _items(within: Mapping[str, Any], key: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    listed = within.get(key)
    for i, item in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(item, dict):
            yield i, item


def _map(within: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = within.get(key)
    return value if isinstance(value, dict) else {}


def _below(within: Mapping[str, Any], steps: Steps) -> Mapping[str, Any]:
    for step in steps:
        within = _map(within, str(step))
    return within
