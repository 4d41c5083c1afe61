"""What the Pod Security Standards forbid a pod to say: their table of restricted fields and allowed values.

Level `restricted` forbids what `baseline` forbids, and more; which fields it requires is not said here. A
namespace that enforces a level takes the workload and refuses its pods, so nobody else says it in time.

Sources: https://kubernetes.io/docs/concepts/security/pod-security-standards/ (v1.36), by whose names of
controls the rules are listed, and policy/check_*.go of k8s.io/pod-security-admission v0.36.3.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from inferfleet.documents.problems import FieldPath, Mistake
from inferfleet.documents.wording import named, shown
from inferfleet.tables import pod_security as allowed

Level = Literal["baseline", "restricted"]
# Takes the value of a field, and returns what of it is forbidden, in words, or "".
_Forbids = Callable[[Any], str]


@dataclass(frozen=True)
class Forbidden:
    """One field of a template that a level forbids."""

    part: str
    """Whose field it is, such as `container engine`."""
    field: str
    value: str
    """What of its value is forbidden, in words."""
    field_path: FieldPath
    """The path from the template to the field."""

    @property
    def what(self) -> str:
        """Return the field with its value (`privileged: true`)."""
        return f"{self.field}: {self.value}"


@dataclass(frozen=True)
class _Rule:
    level: Level
    field: str
    forbids: _Forbids


@dataclass(frozen=True)
class _Tree:
    """The rules of a field, and those of the fields in it by name, with `[*]` for each entry of a list."""

    rules: list[_Rule] = field(default_factory=list)
    below: dict[str, "_Tree"] = field(default_factory=dict)


def forbidden(template: Mapping[str, Any], *, level: Level) -> Iterator[Forbidden]:
    """Yield what the level forbids and the template has. Shapes that are no template's are passed over."""
    levels = ("baseline",) if level == "baseline" else ("baseline", "restricted")
    for of_level, forbidden_field in _walk(template, _TREE, (), "the pod"):
        if of_level in levels:
            yield forbidden_field


def security_mistakes(template: Mapping[str, Any], *, level: Level) -> Iterator[Mistake]:
    """Yield the same as mistakes."""
    for forbidden_field in forbidden(template, level=level):
        yield Mistake(
            f"{forbidden_field.part} has {forbidden_field.what}", "Remove it", forbidden_field.field_path
        )


def listed(fields: Iterable[Forbidden]) -> str:
    """Return all that is forbidden on one line, by part of the pod, each once."""
    by_part: dict[str, dict[str, None]] = {}
    for forbidden_field in fields:
        by_part.setdefault(forbidden_field.part, {})[forbidden_field.what] = None
    return "; ".join(f"{part} has {', '.join(texts)}" for part, texts in by_part.items())


def _walk(value: Any, tree: _Tree, path: FieldPath, part: str) -> Iterator[tuple[Level, Forbidden]]:
    """Yield what the rules below a step such as `volumes[*]` forbid, with their levels."""
    for rule in tree.rules if value is not None else ():
        if words := rule.forbids(value):
            yield rule.level, Forbidden(part, rule.field, words, path)
    for step, below in tree.below.items() if isinstance(value, dict) else ():
        key, _, each = step.partition("[")
        inner = value.get(key)
        if not each:
            yield from _walk(inner, below, (*path, key), part)
        for index, entry in enumerate(inner if each and isinstance(inner, list) else ()):
            name = shown(str(entry.get("name"))) if isinstance(entry, dict) else ""
            whose = f"{_PARTS[key]} {name}" if key in _PARTS else part
            yield from _walk(entry, below, (*path, key, index), whose)


_PARTS = {"containers": "container", "initContainers": "container", "volumes": "volume"}
_UNSAID = ("spec", "securityContext", *(f"{name}[*]" for name in _PARTS))


def _if_true(value: Any) -> str:
    return "true" if value is True else ""


def _if_false(value: Any) -> str:
    return "false" if value is False else ""


def _if_there(value: Any) -> str:
    return named(value) if value else ""


def _always(value: Any) -> str:
    return "a folder of the node"


def _if_root(value: Any) -> str:
    return "0" if type(value) is int and value == 0 else ""


def _outside(allowed_values: Collection[str], value: Any) -> str:
    return "" if isinstance(value, str) and value in allowed_values else shown(str(value))


def _among(forbidden_values: Collection[str], value: Any) -> str:
    return value if isinstance(value, str) and value in forbidden_values else ""


def _unconfined(annotations: Any) -> str:
    profiles = annotations.items() if isinstance(annotations, dict) else ()
    return ", ".join(
        shown(str(key))
        for key, profile in profiles
        if str(key).startswith(allowed.APPARMOR_ANNOTATION)
        and not (
            isinstance(profile, str)
            and (profile in ("", "runtime/default") or profile.startswith("localhost/"))
        )
    )


def _type_of_volume(volume: Any) -> str:
    allowed_fields = ("name", "hostPath", *allowed.VOLUMES)  # a hostPath is forbidden by itself
    types = volume.items() if isinstance(volume, dict) else ()
    return ", ".join(
        shown(str(kind)) for kind, source in types if source is not None and kind not in allowed_fields
    )


def _rules() -> Iterator[tuple[Level, str, _Forbids]]:
    """Yield the level, path and rule of each restricted field, in the order of the controls."""
    containers = ("spec.initContainers[*]", "spec.containers[*]")
    contexts = ("spec.securityContext", *(f"{each}.securityContext" for each in containers))
    for shared in ("hostNetwork", "hostPID", "hostIPC"):  # Host Namespaces
        yield "baseline", f"spec.{shared}", _if_true
    yield "baseline", "spec.volumes[*].hostPath", _always  # HostPath Volumes
    yield "restricted", "spec.volumes[*]", _type_of_volume  # Volume Types
    yield "baseline", "spec.securityContext.sysctls[*].name", partial(_outside, allowed.SYSCTLS)  # Sysctls
    yield "baseline", "metadata.annotations", _unconfined  # AppArmor
    profiles = partial(_outside, allowed.PROFILE_TYPES)
    for context in contexts:
        yield "baseline", f"{context}.seccompProfile.type", profiles  # Seccomp
        yield "baseline", f"{context}.appArmorProfile.type", profiles  # AppArmor
        yield (
            "baseline",
            f"{context}.seLinuxOptions.type",
            partial(_outside, allowed.SELINUX_TYPES),
        )  # SELinux
        yield "baseline", f"{context}.seLinuxOptions.user", _if_there
        yield "baseline", f"{context}.seLinuxOptions.role", _if_there
        yield "baseline", f"{context}.windowsOptions.hostProcess", _if_true  # HostProcess
        yield "restricted", f"{context}.runAsNonRoot", _if_false  # Running as Non-root
        yield "restricted", f"{context}.runAsUser", _if_root  # Running as Non-root user
    for each in containers:
        container_security = f"{each}.securityContext"
        yield "baseline", f"{container_security}.privileged", _if_true  # Privileged Containers
        yield "restricted", f"{container_security}.allowPrivilegeEscalation", _if_true  # Privilege Escalation
        capabilities = f"{container_security}.capabilities.add[*]"  # Capabilities
        yield "baseline", capabilities, partial(_outside, allowed.CAPABILITIES)
        extra_capabilities = allowed.CAPABILITIES - {allowed.RESTRICTED_CAPABILITY}
        yield "restricted", capabilities, partial(_among, extra_capabilities)
        yield (
            "baseline",
            f"{container_security}.procMount",
            partial(_outside, ("Default",)),
        )  # /proc Mount Type
        yield "baseline", f"{each}.ports[*].hostPort", _if_there  # Host Ports
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):  # Host Probes / Lifecycle Hooks
            yield from _hosts(f"{each}.{probe}")
        for hook in ("postStart", "preStop"):
            yield from _hosts(f"{each}.lifecycle.{hook}")


def _hosts(handler: str) -> Iterator[tuple[Level, str, _Forbids]]:
    for way in ("httpGet", "tcpSocket"):
        yield "baseline", f"{handler}.{way}.host", _if_there


def _tree() -> _Tree:
    root = _Tree()
    for level, path, forbids in _rules():
        tree, steps = root, path.split(".")
        for step in steps:
            tree = tree.below.setdefault(step, _Tree())
        name = ".".join(step for step in steps if step not in _UNSAID).replace("[*]", "")
        tree.rules.append(_Rule(level, name or "type", forbids))
    return root


_TREE = _tree()
