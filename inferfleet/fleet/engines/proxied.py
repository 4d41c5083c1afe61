"""Ports of a decode pod, where a routing proxy takes requests and its engine listens behind it.

Rank r of an engine with a port for each copy is at r behind the first port, and so is the proxy's way to it
(pkg/sidecar/proxy/data_parallel.go of llm-d-inference-scheduler v0.7.1 and llm-d-router v0.10.0).
"""

from collections.abc import Iterator

from inferfleet.api.kinds.model_deployment import ModelDeployment
from inferfleet.api.problems import Mistake
from inferfleet.fleet.engines.balance import balance
from inferfleet.fleet.engines.group import LAST_PORT
from inferfleet.fleet.roles import DECODE, engine_of, listening_port, port_of, proxied_port, workers_of
from inferfleet.profiles.proxy import FIRST_PORT

_FIELD = "prefill.proxy.enginePort"


def proxy_port_mistakes(deployment: ModelDeployment) -> Iterator[Mistake]:
    """Yield ports that routing proxy and engine of a decode pod cannot have. Places begin with `spec`."""
    first, own = proxied_port(deployment, DECODE), listening_port(deployment, DECODE)
    if first is None:
        return
    topology = workers_of(deployment, DECODE).topology
    each = topology.data_local if balance(deployment, DECODE) == "multiPort" else 1
    proxied, engine = range(first, first + each), range(own, own + each)
    if own in proxied or first in engine:
        yield Mistake(
            f"the engine of decode pods would listen on {listed(engine)}, and the routing proxy in the same "
            f"pod takes requests on {listed(proxied)}",
            f"Write {_FIELD}, a port that is none of the proxy's",
            ("spec", "prefill", "proxy", "enginePort"),
        )
    if first < FIRST_PORT:
        yield Mistake(
            f"engine.port is {first}, where the routing proxy of decode pods takes requests, and the user of "
            f"its image may not listen on ports below {FIRST_PORT}",
            f"Write a port from {FIRST_PORT} on, such as 8000",
            ("spec", "engine", "port"),
        )


def last_port_mistakes(deployment: ModelDeployment, role: str) -> Iterator[Mistake]:
    """Yield a first port that leaves none for the last copy of a pod with a port for each."""
    local = workers_of(deployment, role).topology.data_local
    firsts = {"engine.port": port_of(engine_of(deployment, role))}
    if proxied_port(deployment, role):
        firsts[_FIELD] = listening_port(deployment, role)
    for field, first in firsts.items():
        if (last := first + local - 1) > LAST_PORT:
            yield Mistake(
                f"{field} is {first}, and its {local} copies in a pod would listen up to port {last}, but "
                f"the last port is {LAST_PORT}",
                f"Lower {field}",
                ("dataLocal",),
            )


def listed(ports: range) -> str:
    """Return ports that follow each other as messages tell them."""
    return str(ports[0]) if len(ports) == 1 else f"{ports[0]} to {ports[-1]}"
