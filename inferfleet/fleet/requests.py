"""What a whole pod requests of a node, as kube-scheduler counts it.

The rules are those of `PodRequests` in component-helpers/resource/helpers.go and of the defaults in
pkg/apis/core/v1/defaults.go of Kubernetes 1.36. A sidecar, which is an init container with `restartPolicy:
Always`, runs beside every init container that follows it. Requests of the whole pod (`spec.resources`) take
the place of what its containers request, and the overhead of a RuntimeClass comes on top.
"""

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any

from inferfleet.documents.kinds.quantity import parse_quantity

PodSpec = Mapping[str, Any]
_NONE = Decimal(0)


def requests(spec: PodSpec, resource: str) -> int:
    """Return how much of a resource a pod requests: thousandths of a core of `cpu`, bytes of others."""
    whole = _of_pod(spec, resource)
    amount = _of_containers(spec, resource) if whole is None else whole
    if (overhead := spec.get("overhead", {}).get(resource)) is not None:
        amount += parse_quantity(str(overhead))
    return int((amount * (1000 if resource == "cpu" else 1)).to_integral_value(rounding=ROUND_CEILING))


def _of_pod(spec: PodSpec, resource: str) -> Decimal | None:
    """Return the request of the whole pod, None where that of its containers counts.

    A limit of the whole pod is its request where no container requests anything of the resource; of huge
    pages, which are never more than what is there, also where one does (`defaultPodRequests` in Kubernetes'
    pkg/apis/core/v1/defaults.go).
    """
    resources = spec.get("resources", {})
    asked = resources.get("requests", {}).get(resource)
    if asked is None and (
        resource.startswith("hugepages-")
        or not any(
            _request(container, resource) is not None
            for container in (*spec.get("initContainers", ()), *spec["containers"])
        )
    ):
        asked = resources.get("limits", {}).get(resource)
    return None if asked is None else parse_quantity(str(asked))


def _of_containers(spec: PodSpec, resource: str) -> Decimal:
    """Return what the containers request while they run, or while they start if that is more."""
    sidecars = starting = _NONE
    for container in spec.get("initContainers", ()):
        amount = _request(container, resource) or _NONE
        starting = max(starting, sidecars + amount)
        if container.get("restartPolicy") == "Always":
            sidecars += amount
    return max(starting, _sum(spec["containers"], resource) + sidecars)


def _sum(containers: Iterable[Mapping[str, Any]], resource: str) -> Decimal:
    return sum((_request(container, resource) or _NONE for container in containers), _NONE)


def _request(container: Mapping[str, Any], resource: str) -> Decimal | None:
    """Return what a container requests; its limit where it has no request, as the API server fills it in."""
    resources = container.get("resources", {})
    for field in ("requests", "limits"):
        amounts = resources.get(field, {})
        if resource in amounts:
            return parse_quantity(str(amounts[resource]))
    return None
