"""The routing proxy of a decode pod: a native sidecar that takes the requests of its engine.

It asks the prefill pod that the endpoint picker chose to read the prompt, and then its own engine. It starts
before the engine and ends after it, so that requests that run at the end of a pod are not cut.
"""

from collections.abc import Iterator
from typing import Any

from inferfleet.documents.kinds.model_deployment import RoutingProxy
from inferfleet.documents.pods.template import ROUTING_PROXY
from inferfleet.fleet.roles import connector, engine_ports, picker_of, serving_ports
from inferfleet.serving.pod.stand import Stand
from inferfleet.serving.programs import text, tracing_variables, variable_of_pod
from inferfleet.tables.engines import BOOTSTRAP_PORT, SGLANG_PROXY_PORT
from inferfleet.tables.pickers import HEALTH_PATH, ProxyTable, picker

# The engine has the name `http`, so that what selects ports by it reaches engines of both roles.
PORT_NAME = "proxy"
_SERVICE = "routing-proxy"
# It listens within moments; until then the engine does not start.
_STARTUP_SECONDS = 60


def document_of(stand: Stand) -> RoutingProxy:
    """Return what the document says of the proxy. Raises ValueError for pods without one."""
    if stand.deployment.spec.prefill is None:
        raise ValueError(f"pods of {stand.deployment.metadata.key} have no routing proxy")
    return stand.deployment.spec.prefill.proxy


def table_of(stand: Stand) -> ProxyTable:
    """Return the version of the proxy on the pods' cluster. Raises ValueError where that is not known."""
    if stand.serving is None:
        raise ValueError(f"the cluster of {stand.spot} says nothing of serving")
    table = picker_of(stand.deployment, stand.serving).proxy
    if table is None:
        raise ValueError(f"pods of {stand.deployment.metadata.key} have no routing proxy")
    return table


def image_of_cluster(stand: Stand) -> str | None:
    """Return the image that the pods' cluster has for the proxy, None where it is one of another version."""
    if stand.serving is None:
        return None
    usual = picker(stand.serving.profile, disaggregated=True).proxy
    return stand.serving.images.proxy if usual is table_of(stand) else None


def routing_proxy(stand: Stand) -> dict[str, Any]:
    """Return the init container of pods that have a proxy, whose connector their cluster's version knows.

    Readiness is the engine's own: the proxy answers /health by itself, and what it passes on may need a key.
    """
    document, table = document_of(stand), table_of(stand)
    ports = serving_ports(stand.deployment, stand.role, stand.shape)
    return {
        "name": ROUTING_PROXY,
        "image": document.image or image_of_cluster(stand) or table.image,
        "imagePullPolicy": "IfNotPresent",
        "restartPolicy": "Always",
        "args": [f"--{name}={value}" for name, value in (*own_flags(stand).items(), *_flags(stand))],
        "env": list(_env(stand)),
        "ports": [
            {"name": f"{PORT_NAME}-{rank}" if rank else PORT_NAME, "containerPort": port}
            for rank, port in enumerate(ports)
        ],
        "startupProbe": {
            "httpGet": {"path": HEALTH_PATH, "port": PORT_NAME},
            "periodSeconds": 1,
            "failureThreshold": _STARTUP_SECONDS,
        },
        **({"resources": document.resources.written} if document.resources else {}),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def own_flags(stand: Stand) -> dict[str, str]:
    """Return the flags that follow from documents: ports, connector, ranks, and tracing where it is one.

    Raises KeyError for a connector that the version does not know.
    """
    table, deployment = table_of(stand), stand.deployment
    ports = serving_ports(deployment, stand.role, stand.shape)
    of_engine = engine_ports(deployment, stand.role, stand.shape)
    chosen = connector(deployment)
    flags = {
        "port": str(ports[0]),
        table.engine_port_flag: str(of_engine[0]),
        "kv-connector": table.connectors[chosen],
    }
    if len(ports) > 1:
        flags["data-parallel-size"] = str(len(ports))
    if chosen == "Mooncake" and table.mooncake_port_flag:
        flags[table.mooncake_port_flag] = str(BOOTSTRAP_PORT)
    if table.tracing_flag:
        flags[table.tracing_flag] = text(_tracing(stand) is not None)
    return flags


def _flags(stand: Stand) -> list[tuple[str, str]]:
    table = table_of(stand)
    chosen = {**table.flags, **document_of(stand).flags}
    return [(name, text(value)) for name, value in sorted(chosen.items())]


def _env(stand: Stand) -> Iterator[dict[str, Any]]:
    yield variable_of_pod("POD_IP", "status.podIP")
    if connector(stand.deployment) == "SGLang":
        yield {"name": SGLANG_PROXY_PORT, "value": str(BOOTSTRAP_PORT)}
    if tracing := _tracing(stand):
        yield variable_of_pod("NAMESPACE", "metadata.namespace")
        yield variable_of_pod("POD_NAME", "metadata.name")
        yield from tracing_variables(tracing, _SERVICE)
    elif table_of(stand).tracing_flag is None:
        # It would send a tenth of its requests to a collector in the pod, which is not there.
        yield {"name": "OTEL_TRACES_SAMPLER_ARG", "value": "0"}


def _tracing(stand: Stand) -> Any:
    return stand.serving.tracing if stand.serving else None
