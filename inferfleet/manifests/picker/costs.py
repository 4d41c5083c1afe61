"""What pods of endpoint pickers request of nodes, as their Deployments say it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.fleet.names import DEPLOYMENT
from inferfleet.fleet.requests import requests
from inferfleet.manifests.picker.objects import CONTAINER

_GIB = 2**30


@dataclass(frozen=True, order=True)
class Cost:
    """What so many pods request together: thousandths of a core, and bytes of memory."""

    cpu: int = 0
    memory: int = 0
    pods: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.cpu + other.cpu, self.memory + other.memory, self.pods + other.pods)

    @property
    def cores(self) -> float:
        return self.cpu / 1000

    @property
    def gib(self) -> float:
        return round(self.memory / _GIB, 3)

    def __str__(self) -> str:
        return f"{self.cores:g} cores and {self.gib:g} GiB"


def deployment_of(workload: Mapping[str, Any]) -> str | None:
    """Return the deployment whose picker a workload is, None for others."""
    metadata, template = workload["metadata"], (workload.get("spec") or {}).get("template") or {}
    containers = (template.get("spec") or {}).get("containers") or ()
    deployment = (metadata.get("labels") or {}).get(DEPLOYMENT)
    is_picker = any(container.get("name") == CONTAINER for container in containers)
    return f"{metadata['namespace']}/{deployment}" if deployment and is_picker else None


def cost_of_pod(picker: Mapping[str, Any]) -> Cost:
    """Return what one pod of a picker's Deployment requests."""
    spec = picker["spec"]["template"]["spec"]
    return Cost(requests(spec, "cpu"), requests(spec, "memory"), 1)


def cost_of(workloads: Iterable[Mapping[str, Any]]) -> Cost:
    """Return what the pickers among Deployments request, all replicas of each."""
    total = Cost()
    for workload in workloads:
        if deployment_of(workload):
            one, replicas = cost_of_pod(workload), workload["spec"]["replicas"]
            total += Cost(one.cpu * replicas, one.memory * replicas, replicas)
    return total
