"""What the Pod Security Standards forbid a pod to say, rule by rule as an API server checks it.

Level `restricted` forbids what `baseline` forbids, and more; which fields it requires is not said here.
Of security contexts and probes the shapes are not looked into elsewhere, so here every type is in doubt.

Sources: https://kubernetes.io/docs/concepts/security/pod-security-standards/ (v1.36), by whose names of
controls the rules are listed, and policy/check_*.go of k8s.io/pod-security-admission v0.36.3.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from inferfleet.api.problems import Mistake
from inferfleet.api.wording import shown
from inferfleet.profiles import pod_security

Level = Literal["baseline", "restricted"]
Steps = tuple[str | int, ...]
# A rule looks at a part of a template and at the words for it, and gives mistakes within that part.
_Rule = Callable[[Mapping[str, Any], str], Iterator[Mistake]]

_SHARED = {
    "hostNetwork": "network",
    "hostPID": "processes",
    "hostIPC": "inter-process communication",
}
_HANDLERS: tuple[Steps, ...] = (
    ("livenessProbe",),
    ("readinessProbe",),
    ("startupProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)


def security_mistakes(template: Mapping[str, Any], *, level: Level) -> Iterator[Mistake]:
    """Yield what the level forbids and the template has: first of the pod, then of each container."""
    spec = map_of(template, "spec")
    yield from _found(_OF_PODS, template, (), "the pod", level)
    yield from _found(
        _OF_CONTEXTS, map_of(spec, "securityContext"), ("spec", "securityContext"), "the pod", level
    )
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in items(spec, kind):
            here: Steps = ("spec", kind, i)
            who = f"container {shown(str(container.get('name')))!r}"
            yield from _found(_OF_CONTAINERS, container, here, who, level)
            context = map_of(container, "securityContext")
            yield from _found(_OF_CONTEXTS, context, (*here, "securityContext"), who, level)


def _found(
    rules: tuple[tuple[Level, _Rule], ...], part: Mapping[str, Any], at: Steps, who: str, level: Level
) -> Iterator[Mistake]:
    for of_level, rule in rules:
        if level == "restricted" or of_level == "baseline":
            for mistake in rule(part, who):
                yield Mistake(mistake.what, mistake.next_step, (*at, *mistake.at))


def _host_namespaces(template: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    for name, shared in _SHARED.items():
        if map_of(template, "spec").get(name) is True:
            yield Mistake(f"{who} shares the {shared} of its node", f"Remove {name}", ("spec", name))


def _host_paths(template: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    for i, volume in items(map_of(template, "spec"), "volumes"):
        if volume.get("hostPath") is not None:
            what = f"volume {shown(str(volume.get('name')))!r} is a folder of the node"
            place = ("spec", "volumes", i, "hostPath")
            yield Mistake(what, "Use an emptyDir or a PersistentVolumeClaim", place)


def _volume_types(template: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    for i, volume in items(map_of(template, "spec"), "volumes"):
        for kind, source in volume.items():
            if source is not None and kind not in ("name", "hostPath", *pod_security.VOLUMES):
                what = f"volume {shown(str(volume.get('name')))!r} is of type {shown(str(kind))}"
                next_step = f"Use one of {', '.join(pod_security.VOLUMES)}"
                yield Mistake(what, next_step, ("spec", "volumes", i, kind))


def _sysctls(template: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    here = ("spec", "securityContext", "sysctls")
    for i, sysctl in items(map_of(map_of(template, "spec"), "securityContext"), "sysctls"):
        if not _among(sysctl.get("name"), pod_security.SYSCTLS):
            what = f"{who} sets the kernel parameter {shown(str(sysctl.get('name')))}"
            yield Mistake(what, "Remove it, or set it on the nodes", (*here, i))


def _apparmor_annotations(template: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    for key, profile in map_of(map_of(template, "metadata"), "annotations").items():
        confined = isinstance(profile, str) and (
            profile in ("", "runtime/default") or profile.startswith("localhost/")
        )
        if str(key).startswith(pod_security.APPARMOR_ANNOTATION) and not confined:
            name = shown(str(key).rpartition("/")[2])
            what = f"the annotation leaves container {name!r} unconfined by AppArmor"
            yield Mistake(what, "Remove it", ("metadata", "annotations", key))


def _profiles(name: str, system: str) -> _Rule:
    def rule(context: Mapping[str, Any], who: str) -> Iterator[Mistake]:
        profile = context.get(name)
        if isinstance(profile, dict) and not _among(profile.get("type"), pod_security.PROFILE_TYPES):
            yield Mistake(f"{who} is not confined by {system}", "Use type RuntimeDefault", (name,))

    return rule


def _selinux(context: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    linux = map_of(context, "seLinuxOptions")
    allowed = _among(linux.get("type", ""), pod_security.SELINUX_TYPES)
    if linux.get("user") or linux.get("role") or not allowed:
        yield Mistake(f"{who} chooses its own SELinux user, role or type", "Remove it", ("seLinuxOptions",))


def _host_process(context: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    if map_of(context, "windowsOptions").get("hostProcess") is True:
        place = ("windowsOptions", "hostProcess")
        yield Mistake(f"{who} runs as a process of its node", "Remove it", place)


def _root(context: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    if context.get("runAsNonRoot") is False:
        yield Mistake(f"{who} has runAsNonRoot: false", "Remove it", ("runAsNonRoot",))


def _root_user(context: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    if type(context.get("runAsUser")) is int and context["runAsUser"] == 0:
        yield Mistake(f"{who} has runAsUser: 0, which is root", "Choose another user", ("runAsUser",))


def _privileged(container: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    if map_of(container, "securityContext").get("privileged") is True:
        what = f"{who} is privileged, as root of its node"
        yield Mistake(what, "Remove privileged", ("securityContext", "privileged"))


def _privilege_escalation(container: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    if map_of(container, "securityContext").get("allowPrivilegeEscalation") is True:
        place = ("securityContext", "allowPrivilegeEscalation")
        yield Mistake(f"{who} has allowPrivilegeEscalation: true", "Remove it", place)


_CAPABILITIES: Steps = ("securityContext", "capabilities", "add")


def _capabilities(container: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    added = _added(container)
    if extra := [name for name in added if not _among(name, pod_security.CAPABILITIES)]:
        what = f"{who} adds capabilities ({', '.join(shown(str(name)) for name in extra)})"
        yield Mistake(what, "Remove them", _CAPABILITIES)


def _more_capabilities(container: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    more = pod_security.CAPABILITIES - {pod_security.RESTRICTED_CAPABILITY}
    if extra := [name for name in _added(container) if _among(name, more)]:
        what = (
            f"{who} adds capabilities ({', '.join(extra)}) besides the one that is allowed, "
            f"{pod_security.RESTRICTED_CAPABILITY}"
        )
        yield Mistake(what, "Remove them", _CAPABILITIES)


def _proc_mount(container: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    mount = map_of(container, "securityContext").get("procMount")
    if mount not in (None, "Default"):
        what = f"{who} mounts /proc {shown(str(mount))}"
        yield Mistake(what, "Remove procMount", ("securityContext", "procMount"))


def _host_ports(container: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    for i, port in items(container, "ports"):
        if port.get("hostPort"):
            what = f"{who} takes port {shown(str(port['hostPort']))} of its node"
            yield Mistake(what, "Remove hostPort", ("ports", i, "hostPort"))


def _host_probes(container: Mapping[str, Any], who: str) -> Iterator[Mistake]:
    for steps in _HANDLERS:
        handler = container
        for step in steps:
            handler = map_of(handler, str(step))
        for how in ("httpGet", "tcpSocket"):
            if host := map_of(handler, how).get("host"):
                what = f"{who} has a probe or hook that asks host {shown(str(host))!r}"
                next_step = "Remove host: the pod's own address is asked then"
                yield Mistake(what, next_step, (*steps, how, "host"))


# Behind each rule the control of the Pod Security Standards.
_OF_PODS: tuple[tuple[Level, _Rule], ...] = (
    ("baseline", _host_namespaces),  # Host Namespaces
    ("baseline", _host_paths),  # HostPath Volumes
    ("restricted", _volume_types),  # Volume Types
    ("baseline", _sysctls),  # Sysctls
    ("baseline", _apparmor_annotations),  # AppArmor
)
_OF_CONTEXTS: tuple[tuple[Level, _Rule], ...] = (
    ("baseline", _profiles("seccompProfile", "seccomp")),  # Seccomp
    ("baseline", _profiles("appArmorProfile", "AppArmor")),  # AppArmor
    ("baseline", _selinux),  # SELinux
    ("baseline", _host_process),  # HostProcess
    ("restricted", _root),  # Running as Non-root
    ("restricted", _root_user),  # Running as Non-root user
)
_OF_CONTAINERS: tuple[tuple[Level, _Rule], ...] = (
    ("baseline", _privileged),  # Privileged Containers
    ("restricted", _privilege_escalation),  # Privilege Escalation
    ("baseline", _capabilities),  # Capabilities
    ("restricted", _more_capabilities),  # Capabilities
    ("baseline", _proc_mount),  # /proc Mount Type
    ("baseline", _host_ports),  # Host Ports
    ("baseline", _host_probes),  # Host Probes / Lifecycle Hooks
)


def _added(container: Mapping[str, Any]) -> list[Any]:
    added = map_of(map_of(container, "securityContext"), "capabilities").get("add")
    return added if isinstance(added, list) else []


def _among(value: Any, known: frozenset[str]) -> bool:
    return isinstance(value, str) and value in known


def items(within: Mapping[str, Any], key: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the maps of a list with their places; nothing where a template has something else there."""
    listed = within.get(key)
    for i, item in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(item, dict):
            yield i, item


def map_of(within: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the map of a field, an empty one where a template has something else there."""
    value = within.get(key)
    return value if isinstance(value, dict) else {}
