"""The Kubernetes side of the cloud, as its operations see it: an API server per cluster, nodes per pool."""

from typing import Protocol

from sandbox.gcp.store import Record


class Kube(Protocol):
    """What `kwok_kubernetes.KwokKubernetes` does with real API servers."""

    def serve(self, cluster: Record) -> tuple[str, str]:
        """Its API server answers, under (host:port, CA certificate in base64)."""

    def remove(self, cluster: Record) -> None:
        """Its API server and everything on it is gone."""

    def standing(self, pool: Record) -> dict[str, int]:
        """How many of the pool's nodes are there, by zone."""

    def set_nodes(self, pool: Record, *, leaving: tuple[str, ...] = ()) -> None:
        """The pool's nodes are as its record says; of too many, those named go first."""
