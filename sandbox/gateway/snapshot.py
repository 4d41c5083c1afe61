"""A snapshot of the objects that the gateway controller watches, and which of its pods can serve."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from sandbox.cluster.objects import Object, is_ready

GATEWAY_GROUP = "gateway.networking.k8s.io"
POOL_GROUP = "inference.networking.k8s.io"


@dataclass(frozen=True)
class Snapshot:
    """The objects of each kind by their keys: `namespace/name`, GatewayClasses and namespaces by name."""

    namespaces: Mapping[str, Object]
    classes: Mapping[str, Object]
    gateways: Mapping[str, Object]
    routes: Mapping[str, Object]
    pools: Mapping[str, Object]
    services: Mapping[str, Object]
    pods: Mapping[str, Object]

    def pods_of(self, namespace: str, labels: Mapping[str, str]) -> tuple[Object, ...]:
        """Return the pods with all these labels, sorted by name.

        No labels select nothing, as for Services.
        """
        if not labels:
            return ()
        # The pods that have one of the labels are few, whichever it is that others share.
        of_each = (self._pods_by_label.get((namespace, *label), {}) for label in labels.items())
        first, *others = sorted(of_each, key=len)
        return tuple(pod for name, pod in first.items() if all(name in other for other in others))

    @cached_property
    def _pods_by_label(self) -> dict[tuple[str, str, str], dict[str, Object]]:
        """The pods by namespace and label, sorted by name: else a hundred pools look at each pod."""
        index: dict[tuple[str, str, str], dict[str, Object]] = {}
        for name, pod in sorted(self.pods.items()):
            metadata = pod["metadata"]
            for label in metadata.get("labels", {}).items():
                index.setdefault((metadata["namespace"], *label), {})[name] = pod
        return index


def ready(pods: Iterable[Object]) -> tuple[Object, ...]:
    """Return the pods that have an address, are Ready and are not being deleted."""
    return tuple(
        pod
        for pod in pods
        if pod.get("status", {}).get("podIP") and "deletionTimestamp" not in pod["metadata"] and is_ready(pod)
    )
