"""A spot: where replicas of one deployment can stand."""

from typing import NamedTuple


class Spot(NamedTuple):
    """Where replicas of one deployment can stand: a cluster, and one pool per role (sorted by role)."""

    deployment: str  # namespace/name
    cluster: str
    pools: tuple[tuple[str, str], ...]  # ((role, pool), ...)

    @property
    def namespace(self) -> str:
        return self.deployment.partition("/")[0]

    @property
    def name(self) -> str:
        """The deployment's name without its namespace."""
        return self.deployment.partition("/")[2]

    def pool(self, role: str) -> str:
        """The pool that the workers of `role` stand on."""
        return dict(self.pools)[role]

    def __str__(self) -> str:
        """As the lock writes it: `ml/qwen3-coder east decode=h100`."""
        return " ".join([self.deployment, self.cluster, *(f"{role}={pool}" for role, pool in self.pools)])
