"""How containers are asked whether they serve, and told to begin or end: what no kubelet could ask or tell.

The API server takes every name of a port. A kubelet looks it up among the ports of the same container
(`ResolveContainerPort` in Kubernetes' pkg/probe/util.go, `resolvePort` in pkg/kubelet/lifecycle/handlers.go)
and counts the probe or hook as failed without it, each time.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inferfleet.api.wording import shown
from inferfleet.fleet.engines.own import script_at
from inferfleet.manifests.pod.parts import Contradiction, Spec, Steps, containers, is_engine
from inferfleet.manifests.pod.template import PORT_NAME

_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_HOOKS = ("postStart", "preStop")
# Scripts that succeed whatever the engine does, such as `curl ... || true`.
_NEVER_FAILS = re.compile(
    r"\s*(?:(?!exit|exec|set)[\w./:@ =-]+\|\|\s*)?"
    r"(?:/(?:usr/)?bin/)?(true|:|exit 0|echo)(?: [^;&|`$\n]*)?;?\s*"
)


def asked(spec: Spec) -> Iterator[Contradiction]:
    """Yield probes and hooks that can only fail, and a readiness of the engine that never fails."""
    for at, container in containers(spec):
        for name in _PROBES:
            yield from _port((*at, name), container.get(name, {}), at=at, container=container)
        for name in _HOOKS:
            hook = container.get("lifecycle", {}).get(name, {})
            yield from _port((*at, "lifecycle", name), hook, at=at, container=container)
            if "tcpSocket" in hook:
                yield Contradiction(
                    (*at, "lifecycle", name, "tcpSocket"),
                    f"{name} of container {container['name']!r} connects to a port",
                    "Kubernetes runs no such hook, it only fails",
                    "Write exec, httpGet or sleep instead of tcpSocket",
                )
        if is_engine(at, container):
            yield from _readiness(at, container)


def _port(
    here: Steps, handler: Mapping[str, Any], *, at: Steps, container: Mapping[str, Any]
) -> Iterator[Contradiction]:
    names = [port["name"] for port in container.get("ports", []) if port.get("name")]
    if is_engine(at, container):
        names.append(PORT_NAME)  # generated where a document does not have it
    for way in ("httpGet", "tcpSocket"):
        port = handler.get(way, {}).get("port")
        if isinstance(port, str) and port not in names:
            has = f"has {' and '.join(map(repr, dict.fromkeys(names)))} alone" if names else "names no port"
            yield Contradiction(
                (*here, way, "port"),
                f"{here[-1]} of container {container['name']!r} asks port {shown(port)!r}",
                f"that container {has}, so it would fail each time",
                "Write the number of the port, or name the port so among the container's ports",
            )


def _readiness(at: Steps, engine: Mapping[str, Any]) -> Iterator[Contradiction]:
    command = engine.get("readinessProbe", {}).get("exec", {}).get("command", [])
    if command and (end := _never_fails(command)):
        yield Contradiction(
            (*at, "readinessProbe", "exec", "command"),
            f"the readinessProbe ends with {end!r}, which never fails",
            "endpoints get requests, and rollouts go on, as soon as the engine is ready",
            "Ask the engine by httpGet; without any probe in the template inferfleet generates all three",
        )


def _never_fails(command: Sequence[str]) -> str | None:
    """Return what succeeds whatever the engine does, None for other commands.

    No other part of the command is told, because there may be a token in it.
    """
    place = script_at(command)
    if place is None:
        program = command[0].rpartition("/")[2]
        return program if program in ("true", "echo") else None
    script = _NEVER_FAILS.fullmatch(command[place])
    return script[1] if script else None
