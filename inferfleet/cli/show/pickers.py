"""What endpoint pickers of a plan request, in a line for people and as values for machines."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inferfleet.cli.output import print_line
from inferfleet.desired.values import Desired
from inferfleet.fleet.shapes import requests
from inferfleet.serving.picker import deployment_of

_GIB = 2**30
# So many clusters are named, those with the most.
_SHOWN = 3


@dataclass(frozen=True)
class _Cost:
    """What so many pods request together: thousandths of a core, and bytes of memory."""

    cpu: int = 0
    memory: int = 0
    pods: int = 0

    def __add__(self, other: "_Cost") -> "_Cost":
        return _Cost(self.cpu + other.cpu, self.memory + other.memory, self.pods + other.pods)

    @property
    def cores(self) -> float:
        return self.cpu / 1000

    @property
    def gib(self) -> float:
        return round(self.memory / _GIB, 3)

    def __str__(self) -> str:
        return f"{self.cores:g} cores and {self.gib:g} GiB"


def show_pickers(desired: Desired) -> None:
    """Print what pickers request on each cluster, nothing without any."""
    costs = _costs(desired)
    if not costs:
        return
    most = sorted(costs.items(), key=lambda item: (-item[1].cpu, -item[1].memory, item[0]))
    told = [f"{cluster} {cost} ({_pods(cost)})" for cluster, cost in most[:_SHOWN]]
    if len(most) > _SHOWN:
        total = sum(costs.values(), _Cost())
        told.append(f"{len(most) - _SHOWN} more clusters; in all {total} ({_pods(total)})")
    print_line()
    print_line("endpoint pickers request of nodes without GPUs")
    print_line(f"  {', '.join(told)}")


def picker_values(desired: Desired) -> list[dict[str, Any]]:
    """Return the same for every cluster as values for JSON: cores, and GiB of memory."""
    return [
        {"cluster": cluster, "pods": cost.pods, "cores": cost.cores, "gib": cost.gib}
        for cluster, cost in sorted(_costs(desired).items())
    ]


def _costs(desired: Desired) -> dict[str, _Cost]:
    costs = {
        cluster.connection.cluster: _cost_of(
            made.manifest for made in cluster.objects if made.kind == "Deployment"
        )
        for cluster in desired.clusters
    }
    return {cluster: cost for cluster, cost in costs.items() if cost.pods}


def _cost_of(workloads: Iterable[Mapping[str, Any]]) -> _Cost:
    """Return what the pickers among Deployments request, all replicas of each."""
    total = _Cost()
    for workload in workloads:
        if deployment_of(workload):
            spec, replicas = workload["spec"]["template"]["spec"], workload["spec"]["replicas"]
            total += _Cost(requests(spec, "cpu") * replicas, requests(spec, "memory") * replicas, replicas)
    return total


def _pods(cost: _Cost) -> str:
    return f"{cost.pods} pod{'' if cost.pods == 1 else 's'}"
