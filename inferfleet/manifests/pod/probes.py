"""Probes of the engine that a working engine fails: where they ask, and how soon they end it.

A kubelet ends a container whose livenessProbe or startupProbe fails `failureThreshold` times in a row, every
`periodSeconds` from `initialDelaySeconds` on, and asks neither liveness nor readiness before the startupProbe
succeeded: https://kubernetes.io/docs/concepts/workloads/pods/probes/ (2026-11-24). Its defaults are 3 times,
10 s, 0 s, and an answer within 1 s (`SetDefaults_Probe` in Kubernetes' pkg/apis/core/v1/defaults.go).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.api.kinds.base import DAY
from inferfleet.api.kinds.containers import ENGINE, ROUTING_PROXY, engine_container
from inferfleet.api.problems import Mistake
from inferfleet.fleet.engine_args import startup_of
from inferfleet.fleet.engines.flags import is_open
from inferfleet.fleet.engines.ready import start
from inferfleet.fleet.engines.words import Command, command_of, is_known
from inferfleet.fleet.ports import engine_ports, group_ports, metrics_ports, serving_ports, supervisor_port
from inferfleet.manifests.pod.parts import Contradiction, Spec, Steps, containers
from inferfleet.manifests.pod.stand import Stand
from inferfleet.manifests.pod.template import PORT_NAME, STARTUP_PERIOD, TIMEOUT
from inferfleet.profiles.engine_health import ROOT, health_paths
from inferfleet.profiles.engines import engine

_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_WAYS = ("httpGet", "tcpSocket", "grpc")
_LEAVE = "leave the probes out, and inferfleet writes all three"
# Three checks of 1 s, 5 s apart, are missed by a busy vLLM (llm-d-benchmark#1734, 2026-08-06: 11 s); answers
# took more than 1 s under load before (scaleapi/llm-engine#255). The defaults of Kubernetes allow 21 s.
_LEAST_PATIENCE = 15
# The connection that tcpSocket asks for is made by the kernel, however busy the engine is (listen(2)).
_ANSWERED = ("httpGet", "grpc")
# A livenessProbe that lets an engine load this long was sized for its model, one of less was copied: the
# defaults make 30 s, an example of AWS for vLLM 150 (aws.github.io/deep-learning-containers, 2026-11-24), and
# 685 billion parameters load in 300 to 600 (docs.vultr.com/inference-cookbook, same day). The bound is ours.
_SIZED = 300


def probe_contradictions(spec: Spec, stand: Stand) -> Iterator[Contradiction]:
    """Yield probes that surely fail each time: on a port where nothing listens, or by HTTPS."""
    for at, what, why, step, sure in _failing(spec, stand):
        if sure:
            yield Contradiction(at, what, why, step)


def probe_mistakes(spec: Spec, stand: Stand) -> Iterator[Mistake]:
    """Yield probes that seem to fail each time, that end an engine while it loads or is busy, or that let
    requests come before it has loaded. Places begin with `spec`.
    """
    for at, what, why, step, sure in _failing(spec, stand):
        if not sure:
            yield Mistake(f"{what}, but {why}", step, at)
    yield from _paths(spec, stand)
    yield from _times(spec, stand)


def _failing(spec: Spec, stand: Stand) -> Iterator[tuple[Steps, str, str, str, bool]]:
    """Yield probes that fail by their port or scheme, as place, what, why, next step, and whether that is
    sure. It is where the engine of a known type is started directly, and the pod has no other container.
    """
    kind, table = stand.engine.type, engine(stand.engine.type)
    if not stand.answers or not table.programs:
        return
    command = command_of(spec)
    begins = start(command, table)
    own = engine_ports(stand.deployment, stand.role, stand.shape)
    alone = [one for _, one in containers(spec) if one["name"] != ROUTING_PROXY]
    direct = begins is not None and not command.words[begins].shell
    closed = not is_open(command, table)
    told = closed and "envFrom" not in engine_container(spec)[1] and _tells_ports(command)
    for at, name, way, asked in _asked(spec):
        number = _number(spec, asked)
        if number is not None and number not in _listening(spec, stand) and not _names(spec, command, number):
            where = " and ".join(map(str, own))
            what, why = (
                f"{name} of container '{ENGINE}' asks port {number}",
                f"{kind} listens on {where}, so it would fail each time"
                + ("" if told else ", unless a file or variable gives another port"),
            )
            step = f"Write {PORT_NAME}, which is the name of the engine's port, or {_LEAVE}"
            yield (*at, "port"), what, why, step, direct and len(alone) == 1 and told
        tls = not _flags(command, stand).isdisjoint(table.closed_flags)
        if way.get("scheme") == "HTTPS" and (number is None or number in own) and not tls:
            why = f"{kind} has no flag for TLS and takes plain HTTP there, so it would fail each time"
            yield (
                (*at, "scheme"),
                f"{name} of container '{ENGINE}' asks by HTTPS",
                why,
                "Remove scheme, or write HTTP",
                direct and closed,
            )


def _asked(spec: Spec) -> Iterator[tuple[Steps, str, Mapping[str, Any], Any]]:
    """Yield where a probe of the engine asks its pod: place, name of the probe, its way, its port."""
    place, container = engine_container(spec)
    for name in _PROBES:
        for way in _WAYS:
            handler = container.get(name, {}).get(way)
            if handler and "host" not in handler:
                yield ("spec", "containers", place, name, way), name, handler, handler.get("port")


def _number(spec: Spec, asked: Any) -> int | None:
    """Return the number of a port that a probe asks, None for the one of the engine by its name."""
    listed = engine_container(spec)[1].get("ports", [])
    named = {port["name"]: int(port["containerPort"]) for port in listed if port.get("name")}
    return asked if isinstance(asked, int) else named.get(asked)


def _listening(spec: Spec, stand: Stand) -> frozenset[int]:
    """Return the ports on which something of the pod listens, and those of which others tell."""
    deployment, role = stand.deployment, stand.role
    supervisor = supervisor_port(deployment, role)
    return frozenset(
        (
            *engine_ports(deployment, role, stand.shape),
            *serving_ports(deployment, role, stand.shape),
            *metrics_ports(deployment, role),
            *((supervisor,) if supervisor else ()),
            *(group_ports(deployment, role, None) if stand.shape.pods > 1 else ()),
            *(port["containerPort"] for _, one in containers(spec) for port in one.get("ports", [])),
        )
    )


def _tells_ports(command: Command) -> bool:
    """Return whether each flag about a port has a number, or none that only its container knows."""
    before = ""
    for word in command.words:
        name, equals, value = word.text.partition("=")
        flag, given = (name, value) if equals else (before, word.text)
        if flag.startswith("-") and "port" in flag and not is_known(command.value(given, shell=word.shell)):
            return False
        before = word.text
    return True


def _flags(command: Command, stand: Stand) -> frozenset[str]:
    """Return the names of the flags of a command line, as the table of the engine has them."""
    names = (word.text.partition("=")[0] for word in command.words)
    underscores = engine(stand.engine.type).underscores
    return frozenset(name.replace("_", "-") if underscores else name for name in names)


def _names(spec: Spec, command: Command, port: int) -> bool:
    """Return whether the command line or a variable has the number, so that the engine may listen there.

    Triton's other protocols have ports of their own without a flag too.
    """
    texts = [word.text for word in command.words]
    texts += [str(env.get("value", "")) for env in engine_container(spec)[1].get("env", [])]
    return any(re.search(rf"(?<!\d){port}(?!\d)", text) for text in texts) or (
        port == 8001 and any("tritonserver" in text for text in texts)
    )


def _paths(spec: Spec, stand: Stand) -> Iterator[Mistake]:
    """Yield paths that the engine does not know, and those that need its key."""
    kind, table = stand.engine.type, engine(stand.engine.type)
    known, command = health_paths(kind), command_of(spec)
    container = engine_container(spec)[1]
    # Another program may answer more, and that of an image may: NIM has a proxy before its engine, with
    # /v1/health/ready (docs.nvidia.com/nim/large-language-models, "Architecture", 2026-11-24).
    if start(command, table) is None:
        return
    flags = _flags(command, stand)
    by = known.key_flag if known.key_flag in flags else None
    variables = [env["name"] for env in container.get("env", []) if env.get("value") or "valueFrom" in env]
    by = by or next((name for name in variables if name == known.key_variable), None)
    own = engine_ports(stand.deployment, stand.role, stand.shape)
    for at, name, way, asked in _asked(spec):
        path = (way.get("path") or ROOT).partition("?")[0]
        if at[-1] != "httpGet" or _number(spec, asked) not in (None, *own):
            continue
        health = f"Ask {table.health_path}" + (", which needs no key" if by else "") + f", or {_LEAVE}"
        at = (*at, "path") if "path" in way else at
        keyed = any(header["name"].lower() == "authorization" for header in way.get("httpHeaders", []))
        free = any(path.startswith(prefix) for prefix in known.free)
        if path in known.unknown:
            yield Mistake(f"{name} asks {path}, which {kind} answers with 404", health, at)
        elif by and known.guarded and path.startswith(known.guarded) and not keyed and not free:
            what = f"{name} asks {path}, which {kind} answers with 401, because it has a key by {by}"
            yield Mistake(what, health, at)


def _times(spec: Spec, stand: Stand) -> Iterator[Mistake]:
    """Yield probes that end an engine while it loads or is busy, or let requests come before it is there."""
    place, container = engine_container(spec)
    at: Steps = ("spec", "containers", place)
    startup, written = startup_of(stand.engine), stand.engine.startup is not None
    field = "engine.startup" if written else "engine.startup, by default,"
    first, live = container.get("startupProbe"), container.get("livenessProbe")
    step = f"periodSeconds: {STARTUP_PERIOD} and failureThreshold: {-(-startup // STARTUP_PERIOD)}"
    if first:
        loads = _budget(first)
        longer = loads > startup + first.get("periodSeconds", 10)
        # Of a model that nobody wrote the time of, a threshold may be right, but not one that nobody wrote.
        if loads < startup and (written or "failureThreshold" not in first):
            what = (
                f"startupProbe ends an engine that loads for more than {loads} s, and {field} is {startup} s"
            )
            yield Mistake(what, f"Write {step}, or engine.startup: {loads}s", (*at, "startupProbe"))
        elif longer:
            fits = f"engine.startup: {loads}s" if loads <= DAY else step
            what = (
                f"startupProbe lets the engine load for {loads} s, and {field} is {startup} s, for which an "
                "update waits once the image is there: it ends with an error before"
            )
            yield Mistake(what, f"Write {fits}", (*at, "startupProbe"))
    if late := container.get("readinessProbe", {}).get("initialDelaySeconds", 0):
        yield from _late(late, startup, field, (*at, "readinessProbe", "initialDelaySeconds"))
    least = startup if written else min(startup, _SIZED)
    if live and not first and any(way in live for way in _WAYS) and _budget(live) < least:
        yield Mistake(
            f"there is no startupProbe, so livenessProbe ends an engine that loads for more than "
            f"{_budget(live)} s, and {field} is {startup} s",
            f"Add a startupProbe with {step}, or {_LEAVE}",
            (*at, "livenessProbe"),
        )
    if live and not first and "readinessProbe" not in container:
        yield Mistake(
            "there is a livenessProbe, and neither readinessProbe nor startupProbe, so the pod gets requests "
            "before its engine has loaded",
            f"Add a readinessProbe, or {_LEAVE}",
            (*at, "livenessProbe"),
        )
    if live and any(way in live for way in _ANSWERED):
        yield from _hasty(live, (*at, "livenessProbe"))


def _late(delay: int, startup: int, field: str, at: Steps) -> Iterator[Mistake]:
    """Yield a readinessProbe that asks for the first time when an update no longer waits.

    Its delay begins with the container, whatever the startupProbe says (`doProbe` in Kubernetes'
    pkg/kubelet/prober/worker.go, 00421113).
    """
    if delay > startup:
        longer = f", or engine.startup: {delay}s" if delay <= DAY else ""
        yield Mistake(
            f"readinessProbe asks for the first time {delay} s after the container began, and {field} is "
            f"{startup} s, for which an update waits once the image is there: it ends with an error before",
            f"Remove initialDelaySeconds, because a readinessProbe that fails ends nothing{longer}",
            at,
        )


def _hasty(live: Mapping[str, Any], at: Steps) -> Iterator[Mistake]:
    """Yield a livenessProbe that ends a busy engine."""
    times, timeout = live.get("failureThreshold", 3), live.get("timeoutSeconds", 1)
    patience = (times - 1) * live.get("periodSeconds", 10) + timeout
    if patience < _LEAST_PATIENCE:
        once = f"{times} answers in a row take" if times > 1 else "one answer takes"
        yield Mistake(
            f"livenessProbe ends the engine with all it has in hand when {once} more than {timeout} s, "
            f"within {patience} s, which a busy one may need",
            f"Write timeoutSeconds: {TIMEOUT}, periodSeconds: 10 and failureThreshold: 3, or {_LEAVE}",
            at,
        )


def _budget(probe: Mapping[str, Any]) -> int:
    """Return the seconds after which a kubelet ends a container that never answers a probe."""
    seconds = probe.get("failureThreshold", 3) * probe.get("periodSeconds", 10)
    return int(probe.get("initialDelaySeconds", 0) + seconds)
