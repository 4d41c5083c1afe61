"""Rules of what a pod shares with its node, and of the operating system that it is for."""

import re
from collections.abc import Iterator
from typing import Any

from inferfleet.api.problems import Mistake
from inferfleet.api.wording import shown

Steps = tuple[str | int, ...]
Containers = tuple[tuple[Steps, dict[str, Any]], ...]

_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")
# Security settings that a pod or container for Windows cannot have.
_LINUX_ALONE = (
    "appArmorProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "runAsGroup",
    "runAsUser",
    "seLinuxChangePolicy",
    "seLinuxOptions",
    "seccompProfile",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "sysctls",
)
_OF_CONTAINERS = (
    "allowPrivilegeEscalation",
    "appArmorProfile",
    "capabilities",
    "privileged",
    "procMount",
    "readOnlyRootFilesystem",
    "runAsGroup",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
)
_OF_PODS = ("hostIPC", "hostPID", "hostUsers", "resources", "shareProcessNamespace")


def platform(spec: dict[str, Any], containers: Containers) -> Iterator[Mistake]:
    """Yield what is wrong with what a pod shares with its node, and for its operating system."""
    yield from _shared(spec)
    yield from _users(spec, containers)
    yield from _host_name(spec)
    yield from _system(spec, containers)
    yield from _host_process(spec, containers)


def _shared(spec: dict[str, Any]) -> Iterator[Mistake]:
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        what = "a pod shares processes among its containers or with its node, not both"
        yield Mistake(what, "Remove shareProcessNamespace or hostPID", ("shareProcessNamespace",))
    seen: set[str] = set()
    for place, setting in enumerate(spec.get("securityContext", {}).get("sysctls", [])):
        written, at = setting.get("name", ""), ("securityContext", "sysctls", place, "name")
        if written and written in seen:
            yield Mistake(f"a second entry of sysctls has the name {shown(written)!r}", "Remove one", at)
        seen.add(written)
        name = written.replace("/", ".")
        if spec.get("hostNetwork") and name.startswith("net."):
            yield Mistake(f"{shown(name)} would be that of the node, because of hostNetwork", "Remove it", at)
        elif spec.get("hostIPC") and name.startswith(_IPC_SYSCTLS):
            yield Mistake(f"{shown(name)} would be that of the node, because of hostIPC", "Remove it", at)


def _users(spec: dict[str, Any], containers: Containers) -> Iterator[Mistake]:
    own = spec.get("hostUsers") is False
    if own:
        for key in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(key):
                yield Mistake(f"{key} does not go with hostUsers: false", "Remove one of the two", (key,))
    for at, container in containers:
        if own and container.get("volumeDevices"):
            what = "volumeDevices do not go with hostUsers: false"
            yield Mistake(what, "Remove one of the two", (*at, "volumeDevices"))
        if not own and container.get("securityContext", {}).get("procMount") == "Unmasked":
            what = "procMount Unmasked needs hostUsers: false in the spec of the pod"
            yield Mistake(what, "Add it, or write Default", (*at, "securityContext", "procMount"))


def _host_name(spec: dict[str, Any]) -> Iterator[Mistake]:
    for key in ("setHostnameAsFQDN", "hostNetwork"):
        if "hostnameOverride" in spec and spec.get(key):
            yield Mistake(
                f"hostnameOverride does not go with {key}", "Remove one of the two", ("hostnameOverride",)
            )


def _system(spec: dict[str, Any], containers: Containers) -> Iterator[Mistake]:
    system = spec.get("os", {}).get("name")
    contexts = [
        (("securityContext",), spec.get("securityContext", {}), _LINUX_ALONE),
        *(
            ((*at, "securityContext"), container.get("securityContext", {}), _OF_CONTAINERS)
            for at, container in containers
        ),
    ]
    if system == "windows":
        for key in _OF_PODS:
            if spec.get(key) not in (None, False) or (
                key in spec and key in ("hostUsers", "shareProcessNamespace")
            ):
                yield Mistake(f"a pod for Windows has no {key}", "Remove it", (key,))
    for at, context, linux in contexts:
        wrong = linux if system == "windows" else ("windowsOptions",) if system == "linux" else ()
        for key in wrong:
            if key in context and context[key] != []:
                yield Mistake(f"a pod for {system.title()} has no {key}", "Remove it", (*at, key))


def _host_process(spec: dict[str, Any], containers: Containers) -> Iterator[Mistake]:
    whole = spec.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
    each = [
        (at, container.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess"))
        for at, container in containers
    ]
    for at, own in each:
        if whole is not None and own not in (None, whole):
            here = (*at, "securityContext", "windowsOptions", "hostProcess")
            yield Mistake("hostProcess must be the same for the pod and its containers", "Change one", here)
    host = [bool(whole if own is None else own) for _, own in each]
    if any(host) and not all(host):
        what = "either all containers of a pod are processes of the host, or none"
        yield Mistake(what, "Write hostProcess in the securityContext of the pod", ("containers",))
    if any(host) and not spec.get("hostNetwork"):
        yield Mistake("processes of the host need hostNetwork: true", "Add it", ("hostNetwork",))


_NETBIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_USER = re.compile(r'(?![. ]+$)[^"/\\:;|=,+*?<>@\[\]]{1,104}')


def windows(options: dict[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with the options of a container for Windows."""
    text = options.get("gmsaCredentialSpec")
    if text is not None and not 1 <= len(text.encode()) <= 64 * 1024:
        yield Mistake("{field} must have 1 to 65536 bytes", "Change it", ("gmsaCredentialSpec",))
    name = options.get("runAsUserName")
    if name is None:
        return
    domain, backslash, user = name.rpartition("\\")
    right = _USER.fullmatch(user) and (
        not backslash or (len(domain) < 256 and (_NETBIOS.fullmatch(domain) or _DOMAIN.fullmatch(domain)))
    )
    if not right or any(ord(char) < 32 or ord(char) == 127 for char in name):
        yield Mistake(
            f"{{field}} {shown(name)!r} must be like user or DOMAIN\\user", "Change it", ("runAsUserName",)
        )


RULES = {"WindowsSecurityContextOptions": (windows,)}
