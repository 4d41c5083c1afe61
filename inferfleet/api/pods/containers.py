"""Rules of one container: environment, ports, mounts, probes, hooks, security."""

from collections.abc import Iterator
from typing import Any

from inferfleet.api.kinds.quantity import parse_quantity
from inferfleet.api.pods.resources import claims, container_resources
from inferfleet.api.pods.texts import ANNOTATION_KEY, LABEL_KEY, PORT_NAME
from inferfleet.api.problems import Mistake
from inferfleet.api.wording import one_of, shown

_ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_FILE_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.labels",
    "metadata.annotations",
    "metadata.uid",
)
_RESOURCES = tuple(
    f"{part}.{name}" for part in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_HUGE = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS = {parse_quantity(text) for text in ("1m", "1")}
_BYTE_DIVISORS = {
    parse_quantity(text) for text in ("1", *(f"1{letter}" for letter in ("k", "M", "G", "T", "P", "E")))
} | {parse_quantity(f"1{letter}i") for letter in ("K", "M", "G", "T", "P", "E")}


def variable(env: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with a variable: a value and a source, or a source that is no field of a pod."""
    source = env.get("valueFrom")
    if source is None:
        return
    if env.get("value"):
        what = f"variable {env['name']} has both value and valueFrom"
        yield Mistake(what, "Remove one of the two", ("valueFrom",))
    if "fieldRef" in source:
        for mistake in _field(source["fieldRef"], _ENV_FIELDS):
            yield _below(mistake, "valueFrom", "fieldRef")
    if "resourceFieldRef" in source:
        for mistake in _resource(source["resourceFieldRef"]):
            yield _below(mistake, "valueFrom", "resourceFieldRef")


def file(item: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with a file of a downward API volume."""
    if "fieldRef" in item:
        for mistake in _field(item["fieldRef"], _FILE_FIELDS):
            yield _below(mistake, "fieldRef")
    if "resourceFieldRef" in item:
        source = item["resourceFieldRef"]
        if not source.get("containerName"):
            what = "a file with a resource must name the container"
            yield Mistake(what, "Add containerName", ("resourceFieldRef", "containerName"))
        for mistake in _resource(source):
            yield _below(mistake, "resourceFieldRef")


def _below(mistake: Mistake, *steps: str) -> Mistake:
    return Mistake(mistake.what, mistake.next_step, (*steps, *mistake.at))


def _field(source: dict[str, Any], known: tuple[str, ...]) -> Iterator[Mistake]:
    if (source.get("apiVersion") or "v1") != "v1":
        yield Mistake("apiVersion of a fieldRef must be v1", "Leave it out", ("apiVersion",))
    path = source["fieldPath"]
    head, bracket, rest = path.partition("['")
    if bracket and path.endswith("']") and head:
        keys = {"metadata.annotations": ANNOTATION_KEY, "metadata.labels": LABEL_KEY}.get(head)
        if keys is None or not keys.allows(rest.removesuffix("']")):
            what = f"{shown(path)!r} is no field of a pod"
            yield Mistake(
                what, "Write metadata.labels['<key>'] or metadata.annotations['<key>']", ("fieldPath",)
            )
    elif path not in known and not (path == "spec.host" and "spec.nodeName" in known):
        yield Mistake(f"{shown(path)!r} cannot be read here", one_of(path, known, "Fields"), ("fieldPath",))


def _resource(source: dict[str, Any]) -> Iterator[Mistake]:
    name = source["resource"]
    if name not in _RESOURCES and not name.startswith(_HUGE):
        yield Mistake(
            f"{shown(name)!r} cannot be read here", one_of(name, _RESOURCES, "Resources"), ("resource",)
        )
        return
    divisor = parse_quantity(str(source.get("divisor", 0)))
    if divisor and divisor not in (_CPU_DIVISORS if name.endswith(".cpu") else _BYTE_DIVISORS):
        rule = "1m or 1" if name.endswith(".cpu") else "1, or one of a unit such as 1Mi or 1G"
        yield Mistake(f"divisor {source['divisor']} must be {rule}", "Change it", ("divisor",))


def container(spec: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong between the parts of a container."""
    yield from _mounts(spec)
    yield from _port_names(spec)
    yield from _resized(spec)
    for mistake in (*container_resources(spec.get("resources", {})), *claims(spec.get("resources", {}))):
        yield _below(mistake, "resources")
    if spec.get("restartPolicyRules") and not spec.get("restartPolicy"):
        yield Mistake(
            "restartPolicyRules need a restartPolicy beside them", "Add restartPolicy", ("restartPolicy",)
        )
    if len(spec.get("restartPolicyRules", [])) > 20:
        yield Mistake("a container has at most 20 restartPolicyRules", "Remove some", ("restartPolicyRules",))
    for place, rule in enumerate(spec.get("restartPolicyRules", [])):
        if "exitCodes" not in rule:
            at = ("restartPolicyRules", place, "exitCodes")
            yield Mistake("a rule needs exitCodes", "Add operator and values", at)
        elif len(rule["exitCodes"].get("values", [])) > 255:
            yield Mistake("a rule has at most 255 exit codes", "Remove some", ("restartPolicyRules", place))
    for name in ("livenessProbe", "startupProbe"):
        if (spec.get(name, {}).get("successThreshold") or 1) != 1:
            what = f"successThreshold of a {name} must be 1"
            yield Mistake(what, "Write 1, or leave it out", (name, "successThreshold"))
    if "terminationGracePeriodSeconds" in spec.get("readinessProbe", {}):
        what = "a readinessProbe ends no container, so it has no grace period"
        yield Mistake(what, "Remove it", ("readinessProbe", "terminationGracePeriodSeconds"))


def _mounts(spec: dict[str, Any]) -> Iterator[Mistake]:
    mounts, devices = spec.get("volumeMounts", []), spec.get("volumeDevices", [])
    names = {mount["name"] for mount in mounts}
    paths = {mount["mountPath"] for mount in mounts}
    seen: set[str] = set()
    for place, device in enumerate(devices):
        if device["name"] in names or device["name"] in seen:
            what = f"volume {device['name']} is used twice: as a device and again"
            yield Mistake(what, "Keep one of the two", ("volumeDevices", place, "name"))
        if device["devicePath"] in paths:
            what = f"{shown(device['devicePath'])} is the path of a volumeMount too"
            yield Mistake(what, "Change one of the two", ("volumeDevices", place, "devicePath"))
        seen.add(device["name"])
    privileged = spec.get("securityContext", {}).get("privileged") is True
    for place, mount in enumerate(mounts):
        at = ("volumeMounts", place)
        if mount.get("subPath") and mount.get("subPathExpr"):
            yield Mistake("a mount has subPath or subPathExpr, not both", "Keep one", (*at, "subPathExpr"))
        if mount.get("mountPropagation") == "Bidirectional" and not privileged:
            what = "mountPropagation Bidirectional is for privileged containers alone"
            yield Mistake(what, "Write HostToContainer or None", (*at, "mountPropagation"))
        if mount.get("recursiveReadOnly") in ("Enabled", "IfPossible"):
            if not mount.get("readOnly"):
                what = "recursiveReadOnly is for mounts with readOnly: true"
                yield Mistake(what, "Add readOnly: true", (*at, "recursiveReadOnly"))
            if mount.get("mountPropagation", "None") != "None":
                what = "recursiveReadOnly does not go with mountPropagation"
                yield Mistake(what, "Remove one of the two", (*at, "recursiveReadOnly"))


def _resized(spec: dict[str, Any]) -> Iterator[Mistake]:
    seen: set[str] = set()
    for place, policy in enumerate(spec.get("resizePolicy", [])):
        name = policy["resourceName"]
        if name in seen:
            what = f"a second resizePolicy is of {name}"
            yield Mistake(what, "Keep one of the two", ("resizePolicy", place, "resourceName"))
        seen.add(name)


def _port_names(spec: dict[str, Any]) -> Iterator[Mistake]:
    seen: set[str] = set()
    for place, port in enumerate(spec.get("ports", [])):
        name = port.get("name")
        if name and name in seen:
            yield Mistake(f"a second port is named {shown(name)!r}", "Rename one", ("ports", place, "name"))
        seen.add(name)


def security(context: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what contradicts itself in the security context of a container."""
    if context.get("allowPrivilegeEscalation") is False:
        at = ("allowPrivilegeEscalation",)
        if context.get("privileged"):
            yield Mistake("a privileged container may always escalate", "Remove one of the two", at)
        if "CAP_SYS_ADMIN" in context.get("capabilities", {}).get("add", []):
            yield Mistake("a container with CAP_SYS_ADMIN may always escalate", "Remove one of the two", at)


def seccomp(profile: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with a seccomp profile."""
    yield from _local_profile(profile)
    path = profile.get("localhostProfile")
    if path is not None and (path.startswith("/") or ".." in path.split("/")):
        yield Mistake(
            f"{{field}} {shown(path)!r} must be a relative path without '..'", "Change it", _PROFILE
        )


def apparmor(profile: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with an AppArmor profile."""
    yield from _local_profile(profile)
    name = profile.get("localhostProfile")
    if profile["type"] == "Localhost" and name is not None and (not name or name.strip() != name):
        yield Mistake("{field} must be a name without blanks around it", "Change it", _PROFILE)
    elif name is not None and len(name.encode()) > 4095:
        yield Mistake("{field} has more than 4095 bytes", "Shorten it", _PROFILE)


_PROFILE = ("localhostProfile",)


def _local_profile(profile: dict[str, Any]) -> Iterator[Mistake]:
    local = profile["type"] == "Localhost"
    if local and profile.get("localhostProfile") is None:
        yield Mistake("a profile of type Localhost needs localhostProfile", "Add localhostProfile", _PROFILE)
    elif not local and profile.get("localhostProfile") is not None:
        yield Mistake("localhostProfile is for profiles of type Localhost", "Remove one of the two", _PROFILE)


def port_reference(action: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with the port, a number or a name, that a probe or hook asks."""
    yield from named_port(action["port"], "port")


def named_port(port: int | str, key: str) -> Iterator[Mistake]:
    """Yield what is wrong with a port that is a number or a name."""
    if isinstance(port, int):
        if not 1 <= port <= 65_535:
            yield Mistake(f"{{field}} must be from 1 to 65535, not {port}", "Change the number", (key,))
    elif port.isdecimal():
        yield Mistake(
            f"{{field}} {port!r} is a text, so it would be a name", "Write it without quotes", (key,)
        )
    elif not PORT_NAME.allows(port):
        yield Mistake(
            f"{{field}} {shown(port)!r} must be {PORT_NAME.words}, or a number", "Change it", (key,)
        )


RULES = {
    "AppArmorProfile": (apparmor,),
    "Container": (container,),
    "DownwardAPIVolumeFile": (file,),
    "EnvVar": (variable,),
    "HTTPGetAction": (port_reference,),
    "SeccompProfile": (seccomp,),
    "SecurityContext": (security,),
    "TCPSocketAction": (port_reference,),
}
