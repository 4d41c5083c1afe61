"""The ports of an engine's pods: where requests, health and metrics are, and where pods of a worker meet.

With data parallelism an engine may listen on one port for each copy of the model in a pod, counted from
`engine.port` (balance `Port`); an endpoint picker then chooses among pods
and ports, one endpoint each. A worker whose engine spreads requests itself has one endpoint, its entry.
"""

from typing import NamedTuple

from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.fleet.balance import balance
from inferfleet.fleet.roles import engine_of, listening_port, port_of, serving_roles, workers_of
from inferfleet.fleet.shapes import Shape
from inferfleet.tables.engines import engine

LAST_PORT = 65_535


class Health(NamedTuple):
    """Where a pod tells its health: of all copies in it. `path` is None where an open port is all."""

    port: int
    path: str | None
    ready: str | None


def pool_ports(deployment: ModelDeployment, role: str) -> tuple[int, ...]:
    """Return the ports on which serving pods of a role take requests, that of `engine.port` first."""
    return _from(port_of(engine_of(deployment, role)), deployment, role)


def target_ports(deployment: ModelDeployment) -> tuple[int, ...]:
    """Return the target ports of the deployment's InferencePool on every cluster.

    They are those of the role that has most; pods with fewer say so in an annotation.
    """
    return max((pool_ports(deployment, role) for role in serving_roles(deployment)), key=len)


def serving_ports(deployment: ModelDeployment, role: str, shape: Shape) -> tuple[int, ...]:
    """Return the ports of each serving pod of a role, in workers of a shape."""
    return _in_pod(pool_ports(deployment, role), deployment, role, shape)


def engine_ports(deployment: ModelDeployment, role: str, shape: Shape) -> tuple[int, ...]:
    """Return the ports on which the engine itself listens in each serving pod of a role.

    They are others than `serving_ports` behind a routing proxy, which takes those.
    """
    own = _from(listening_port(deployment, role), deployment, role)
    return _in_pod(own, deployment, role, shape)


def _from(first: int, deployment: ModelDeployment, role: str) -> tuple[int, ...]:
    if balance(deployment, role) != "Port":
        return (first,)
    # Ports beyond the last one are refused, by one message instead of one for each pod that has them.
    last = min(first + workers_of(deployment, role).topology.data_local - 1, LAST_PORT)
    return tuple(range(first, last + 1))


def _in_pod(ports: tuple[int, ...], deployment: ModelDeployment, role: str, shape: Shape) -> tuple[int, ...]:
    # With tensor parallelism over nodes a copy takes several pods of this shape, and only the entry serves.
    return ports if shape.pods == workers_of(deployment, role).topology.pods_per_worker else ports[:1]


def active_ports(ports: tuple[int, ...]) -> str:
    """Return the ports of a serving pod as llm-d's pickers read them in an annotation: `8000,8001`."""
    return ",".join(map(str, ports))


def health(deployment: ModelDeployment, role: str) -> Health:
    """Return where a serving pod of a role tells its health.

    With a port for each copy, vLLM's supervisor tells that of all on a port of its own: `/ready` once all
    answer (vllm/entrypoints/openai/dp_supervisor.py).
    """
    table = engine(engine_of(deployment, role).type)
    if len(pool_ports(deployment, role)) > 1 and table.supervisor_port:
        return Health(table.supervisor_port, "/health", "/ready")
    # Not through a routing proxy, which answers for itself.
    return Health(listening_port(deployment, role), table.health_path, table.health_path)


def metrics_ports(deployment: ModelDeployment, role: str) -> tuple[int, ...]:
    """Return the ports on which a serving pod of a role has metrics: those of its engine, or one beside."""
    beside = engine(engine_of(deployment, role).type).metrics_port
    return (beside,) if beside else _from(listening_port(deployment, role), deployment, role)


def supervisor_port(deployment: ModelDeployment, role: str) -> int | None:
    """Return the port of what supervises the copies of a pod, None without one."""
    supervises = balance(deployment, role) == "Port"
    return engine(engine_of(deployment, role).type).supervisor_port if supervises else None


def group_ports(deployment: ModelDeployment, role: str) -> tuple[int, ...]:
    """Return the ports on which pods of a worker meet. Nothing else may connect to them, no probe either."""
    return engine(engine_of(deployment, role).type).group_ports
