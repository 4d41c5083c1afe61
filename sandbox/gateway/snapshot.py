"""What the gateway controller sees of a cluster, and which pods of it can serve."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sandbox.cluster.objects import Object, key

GATEWAY_GROUP = "gateway.networking.k8s.io"
POOL_GROUP = "inference.networking.k8s.io"


@dataclass(frozen=True)
class Snapshot:
    """The objects of each kind by their keys: `namespace/name`, GatewayClasses by name."""

    classes: Mapping[str, Object]
    gateways: Mapping[str, Object]
    routes: Mapping[str, Object]
    pools: Mapping[str, Object]
    services: Mapping[str, Object]
    pods: Mapping[str, Object]

    def pods_of(self, namespace: str, labels: Mapping[str, str]) -> tuple[Object, ...]:
        """The pods that carry all the labels, by name. No labels select nothing, as for Services."""
        return tuple(
            pod
            for name, pod in sorted(self.pods.items())
            if labels
            and name.startswith(f"{namespace}/")
            and labels.items() <= pod["metadata"].get("labels", {}).items()
        )


def ready(pods: Iterable[Object]) -> tuple[Object, ...]:
    """Those that have an address, are Ready and are not going away."""
    return tuple(
        pod
        for pod in pods
        if pod.get("status", {}).get("podIP")
        and "deletionTimestamp" not in pod["metadata"]
        and any(
            one["type"] == "Ready" and one["status"] == "True"
            for one in pod["status"].get("conditions") or ()
        )
    )


def oldest_first(objects: Iterable[Object]) -> list[Object]:
    """The Gateway API's order for what else would be a tie: older ones, then by namespace and name."""
    return sorted(objects, key=lambda one: (one["metadata"].get("creationTimestamp", ""), key(one)))
