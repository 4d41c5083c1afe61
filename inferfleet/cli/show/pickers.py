"""What endpoint pickers of a plan request, in a line for people and as values for machines."""

from typing import Any

from inferfleet.cli.output import print_line
from inferfleet.desired.values import Desired
from inferfleet.manifests.picker.costs import Cost, cost_of

# So many clusters are named, those with the most.
_SHOWN = 3


def show_pickers(desired: Desired) -> None:
    """Print what pickers request on each cluster, nothing without any."""
    costs = _costs(desired)
    if not costs:
        return
    most = sorted(costs.items(), key=lambda item: (-item[1].cpu, -item[1].memory, item[0]))
    told = [f"{cluster} {cost} ({_pods(cost)})" for cluster, cost in most[:_SHOWN]]
    if len(most) > _SHOWN:
        total = sum(costs.values(), Cost())
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


def _costs(desired: Desired) -> dict[str, Cost]:
    costs = {
        cluster.connection.cluster: cost_of(
            made.manifest for made in cluster.objects if made.kind == "Deployment"
        )
        for cluster in desired.clusters
    }
    return {cluster: cost for cluster, cost in costs.items() if cost.pods}


def _pods(cost: Cost) -> str:
    return f"{cost.pods} pod{'' if cost.pods == 1 else 's'}"
