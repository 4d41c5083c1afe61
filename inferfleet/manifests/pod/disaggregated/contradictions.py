"""What pods of both roles say of ports and addresses by which they find each other, and cannot mean.

The rules are for what a team wrote and for what plugins made of it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.api.kinds.containers import ENGINE, ROUTING_PROXY, engine_container
from inferfleet.fleet.engines.ports import engine_ports, serving_ports
from inferfleet.fleet.roles import workers_of
from inferfleet.manifests.pod.disaggregated.transfer import (
    bootstraps,
    is_nixl,
)
from inferfleet.manifests.pod.parts import Contradiction, Spec, Steps, containers
from inferfleet.manifests.pod.stand import Stand
from inferfleet.profiles import kv_transfer
from inferfleet.profiles.images import reference_of
from inferfleet.profiles.proxy import PROGRAMS

_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_ONE_ADDRESS = "and containers of a pod share one address"
_LOCAL = re.compile(r"localhost|127(\.\d{1,3}){1,3}|0\.0\.0\.0|\[?::1?\]?")


def disaggregated_contradictions(spec: Spec, stand: Stand) -> Iterator[Contradiction]:
    """Yield them for one pod; there are none where prefill and decode are one."""
    if stand.has_proxy:
        yield from _behind_proxy(spec, stand)
    if is_nixl(stand):
        yield from _side_channel(spec, stand)
    if bootstraps(stand):
        yield from _bootstrap(spec, stand)


def _behind_proxy(spec: Spec, stand: Stand) -> Iterator[Contradiction]:
    """Yield containers on a port of the proxy, and probes of the engine that ask the proxy instead."""
    proxied = serving_ports(stand.deployment, stand.role, stand.shape)
    own = engine_ports(stand.deployment, stand.role, stand.shape)
    for at, container in containers(spec):
        name = container["name"]
        if name == ROUTING_PROXY:
            continue
        if reference_of(container.get("image", "")).program in PROGRAMS:
            yield Contradiction(
                at,
                f"container {name!r} runs the image of a routing proxy",
                "inferfleet adds the proxy to decode pods, and requests come in there",
                "Remove it; spec.prefill.proxy has image, port, resources and flags of the proxy",
            )
            continue
        for i, listed in enumerate(container.get("ports", [])):
            number = listed["containerPort"]
            if number in proxied and listed.get("protocol", "TCP") == "TCP":
                other = (
                    f"{own[proxied.index(number)]}, where the engine listens" if name == ENGINE else "another"
                )
                yield Contradiction(
                    (*at, "ports", i),
                    f"container {name!r} listens on {number}",
                    f"the routing proxy of decode pods takes requests there, {_ONE_ADDRESS}",
                    f"Write {other}" + ("" if name == ENGINE else " port"),
                )
        for probe in _PROBES if name == ENGINE else ():
            for way in ("httpGet", "tcpSocket"):
                if (asked := container.get(probe, {}).get(way, {}).get("port")) in proxied:
                    yield Contradiction(
                        (*at, probe, way, "port"),
                        f"{probe} of container {name!r} asks port {asked}",
                        "the routing proxy listens there, and answers /health whatever the engine does",
                        f"Ask port {own[proxied.index(asked)]} of the engine itself, or name it http",
                    )


def _side_channel(spec: Spec, stand: Stand) -> Iterator[Contradiction]:
    """Yield an address of NIXL's side channel that no other pod reaches, and ports that it shares."""
    place, engine = engine_container(spec)
    at: Steps = ("spec", "containers", place)
    for i, variable in enumerate(engine.get("env", [])):
        if variable["name"] == kv_transfer.NIXL_HOST and _LOCAL.fullmatch(variable.get("value") or ""):
            yield Contradiction(
                (*at, "env", i, "value"),
                f"{kv_transfer.NIXL_HOST} is {variable['value']!r}",
                "the engines of other pods ask this one there",
                "Remove it: inferfleet sets the address of the pod",
            )
    first, ranks = kv_transfer.NIXL_DEFAULT_PORT, workers_of(stand.deployment, stand.role).topology.data
    use = f"NIXL's side channel is on {first}" + (f" to {first + ranks - 1}" if ranks > 1 else "")
    yield from _clashes(spec, stand, range(first, first + ranks), use=use, here=at)


def _bootstrap(spec: Spec, stand: Stand) -> Iterator[Contradiction]:
    """Yield other uses of the port where prefill engines tell the way to them, and another one."""
    port = kv_transfer.BOOTSTRAP_PORT
    place, engine = engine_container(spec)
    here: Steps = ("spec", "containers", place)
    for i, variable in enumerate(engine.get("env", [])):
        if variable["name"] == kv_transfer.MOONCAKE_PORT and variable.get("value", str(port)) != str(port):
            yield Contradiction(
                (*here, "env", i, "value"),
                f"{kv_transfer.MOONCAKE_PORT} is {variable['value']!r}",
                f"routing proxies of decode pods ask {port}",
                f"Remove it: inferfleet sets {port}",
            )
    use = f"prefill engines tell the way to them on {port}"
    yield from _clashes(spec, stand, range(port, port + 1), use=use, here=here)


def _clashes(spec: Spec, stand: Stand, taken: range, *, use: str, here: Steps) -> Iterator[Contradiction]:
    """Yield ports for which the pod has another use: one of the engine, or one of another container."""
    for number, other in _used(stand).items():
        if number in taken:
            step = "Write another spec.engine.port or spec.prefill.proxy.enginePort"
            yield Contradiction(here, use, other, step)
    for at, container in containers(spec):
        for i, listed in enumerate(container.get("ports", [])):
            number = listed["containerPort"]
            if container["name"] not in (ENGINE, ROUTING_PROXY) and number in taken and _is_tcp(listed):
                yield Contradiction(
                    (*at, "ports", i),
                    f"container {container['name']!r} listens on {number}",
                    f"{use}, {_ONE_ADDRESS}",
                    "Move it to another port",
                )


def _used(stand: Stand) -> dict[int, str]:
    deployment, role = stand.deployment, stand.role
    used = dict.fromkeys(engine_ports(deployment, role, stand.shape), "the engine takes requests there")
    if stand.has_proxy:
        proxied = serving_ports(deployment, role, stand.shape)
        used |= dict.fromkeys(proxied, "the routing proxy takes requests there")
    return used


def _is_tcp(listed: Mapping[str, Any]) -> bool:
    return bool(listed.get("protocol", "TCP") == "TCP")
