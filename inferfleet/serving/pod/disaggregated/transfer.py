"""What engines of both roles are told besides their command lines, so that KV caches find their way.

What a template sets is never changed.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.fleet import names
from inferfleet.fleet.roles import PREFILL, connector, hands_over, is_disaggregated
from inferfleet.serving.pod.stand import Stand
from inferfleet.serving.programs import variable_of_pod
from inferfleet.tables import engines

# The variable by which a storage has a place of its own for each revision: the label of the pod.
REVISION = "INFERFLEET_REVISION"
NIXL_PORT_NAME = "nixl-side"
BOOTSTRAP_PORT_NAME = "bootstrap"
_PLAIN_RESOURCES = ("cpu", "memory", "ephemeral-storage")


def is_nixl(stand: Stand) -> bool:
    """Return whether vLLM hands KV caches on by NIXL in these pods."""
    return (
        hands_over(stand.deployment, stand.role)
        and stand.engine.type == "vLLM"
        and connector(stand.deployment) == "NIXL"
    )


def bootstraps(stand: Stand) -> bool:
    """Return whether engines of these pods tell the way to them on BOOTSTRAP_PORT: entries of prefill."""
    told = is_disaggregated(stand.deployment) and connector(stand.deployment) in ("SGLang", "Mooncake")
    return told and stand.role == PREFILL and stand.answers


def hand_over(container: dict[str, Any], stand: Stand) -> None:
    """Tell an engine what it needs to hand KV caches on, where its template does not say it."""
    if not hands_over(stand.deployment, stand.role):
        return
    there = {variable["name"] for variable in container.get("env", [])}
    wanted = [variable for variable in _variables(container, stand) if variable["name"] not in there]
    if wanted:
        container.setdefault("env", []).extend(wanted)
    for name, number in _ports(stand):
        listed = container.setdefault("ports", [])
        if not any(port["containerPort"] == number or port.get("name") == name for port in listed):
            listed.append({"name": name, "containerPort": number})


def _variables(container: Mapping[str, Any], stand: Stand) -> Iterator[dict[str, Any]]:
    if stand.answers and (keep_alive := engines.KEEP_ALIVE.get(stand.engine.type)):
        yield {"name": keep_alive, "value": str(engines.KEEP_ALIVE_SECONDS)}
    if stand.engine.type == "vLLM" and connector(stand.deployment) == "SharedStorage":
        yield variable_of_pod(REVISION, f"metadata.labels['{names.REVISION}']")
    if is_nixl(stand):
        yield variable_of_pod(engines.NIXL_HOST, "status.podIP")
        yield {"name": engines.NIXL_PORT, "value": str(engines.NIXL_DEFAULT_PORT)}
        if stand.hardware.fabric == "GKE":
            name, value = engines.UCX_ROCE
            yield {"name": name, "value": value}
        elif not _may_have_adapters(container, stand):
            yield {"name": engines.UCX_TLS, "value": engines.UCX_WITHOUT_RDMA}
    if bootstraps(stand) and connector(stand.deployment) == "Mooncake":
        yield {"name": engines.MOONCAKE_PORT, "value": str(engines.BOOTSTRAP_PORT)}


def _may_have_adapters(container: Mapping[str, Any], stand: Stand) -> bool:
    """Return whether the pod may have adapters for RDMA, or GPUs for which UCX has other words."""
    needs, resources = stand.hardware, container.get("resources", {})
    asked = {*resources.get("limits", {}), *resources.get("requests", {})}
    others = [name for name in asked if name not in (*_PLAIN_RESOURCES, needs.resource)]
    described = needs.fabric != "None" or needs.resource != "nvidia.com/gpu"
    return described or bool(others or container.get("envFrom"))


def _ports(stand: Stand) -> Iterator[tuple[str, int]]:
    if is_nixl(stand):
        yield NIXL_PORT_NAME, engines.NIXL_DEFAULT_PORT
    if bootstraps(stand):
        yield BOOTSTRAP_PORT_NAME, engines.BOOTSTRAP_PORT
