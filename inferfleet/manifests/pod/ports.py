"""Ports of a pod beside the first of its engine: those of further copies, and where pods of a worker meet.

An engine waits there for its own processes alone. Of vLLM it is reported that a scrape of the port by which
its copies meet, or a probe that opens it, ends the engine while it starts.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.api.problems import Mistake
from inferfleet.fleet.engines.ports import engine_ports, group_ports, supervisor_port
from inferfleet.manifests.pod.parts import Contradiction, Spec, containers, is_engine
from inferfleet.manifests.pod.stand import Stand
from inferfleet.manifests.pod.template import is_port

_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_SCRAPED = "prometheus.io/port"


def port_contradictions(spec: Spec, stand: Stand) -> Iterator[Contradiction]:
    """Yield containers that listen on such a port, and probes that ask where pods of a worker meet."""
    meet = _meet(stand)
    taken = _taken(stand, meet)
    for at, container in containers(spec):
        for i, listed in enumerate(container.get("ports", [])):
            number = listed["containerPort"]
            if number in taken and is_port(listed, number) and not is_engine(at, container):
                yield Contradiction(
                    (*at, "ports", i),
                    f"container {container['name']!r} listens on {number}",
                    f"{taken[number]}, and containers of a pod share one address",
                    "Move it to another port, or give the engine others",
                )
        for probe in _PROBES:
            for way in ("httpGet", "tcpSocket", "grpc"):
                asked = container.get(probe, {}).get(way, {}).get("port")
                if asked in meet:
                    yield Contradiction(
                        (*at, probe, way, "port"),
                        f"{probe} of container {container['name']!r} asks port {asked}",
                        "the pods of a worker meet there, and an engine may end when others connect",
                        "Ask the port on which the engine serves, or remove the probe",
                    )


def scraped(template: Mapping[str, Any], stand: Stand) -> Iterator[Mistake]:
    """Yield an annotation by which Prometheus would connect to a port where pods of a worker meet."""
    port = template.get("metadata", {}).get("annotations", {}).get(_SCRAPED)
    if port in map(str, _meet(stand)):
        yield Mistake(
            f"Prometheus would scrape port {port}, but the pods of a worker meet there, and an engine may "
            "end when others connect",
            "Name the port on which the engine serves metrics",
            ("metadata", "annotations", _SCRAPED),
        )


def _meet(stand: Stand) -> tuple[int, ...]:
    return group_ports(stand.deployment, stand.role) if stand.shape.pods > 1 else ()


def _taken(stand: Stand, meet: tuple[int, ...]) -> dict[int, str]:
    """Return the ports that the engine takes beside its first, and what for."""
    taken = dict.fromkeys(meet, "the pods of a worker meet there")
    if supervisor := supervisor_port(stand.deployment, stand.role):
        taken[supervisor] = "the engine tells the health of its copies there"
    for number in engine_ports(stand.deployment, stand.role, stand.shape)[1:]:
        first = "spec.prefill.proxy.enginePort" if stand.has_proxy else "spec.engine.port"
        taken[number] = f"a copy of the model serves there, each on a port from {first} on"
    return taken
