"""A spot: one place in the fleet where replicas of one deployment can run."""

from typing import NamedTuple


class Spot(NamedTuple):
    """A deployment, a cluster, and for each role of the deployment the node pool that runs its workers.

    Two replicas on the same spot are alike: same pods, same kind of nodes, one workload per role, so they are
    counted and never distinguished. Anything that makes two places differ is in the spot; anything that may
    change while a replica runs (labels, images, numbers of replicas or nodes) is not. Where prefill and
    decode are apart, pods of two revisions of what they exchange must not meet, so these are different spots.
    Spots are the keys of placement.lock, and names of workloads are made of their parts (`fleet/names.py`),
    so a spot is state.

    It is a tuple, because plans sort and hash spots by the thousand. Spot capacity of a cloud is something
    else: that is a capacity model of a pool.
    """

    deployment: str  # namespace/name
    cluster: str
    pools: tuple[tuple[str, str], ...]  # ((role, pool), ...), sorted by role
    revision: str = ""  # of what prefill and decode exchange, six hexadecimal digits; "" where both are one

    @property
    def namespace(self) -> str:
        """Return the deployment's namespace."""
        return self.deployment.partition("/")[0]

    @property
    def name(self) -> str:
        """Return the deployment's name without its namespace."""
        return self.deployment.partition("/")[2]

    def pool(self, role: str) -> str:
        """Return the node pool that runs the workers of `role`."""
        return dict(self.pools)[role]

    @property
    def place(self) -> str:
        """Return cluster and pool as messages write them; of several roles, the pool of each, and of a
        revision that too: `east decode=h100 prefill=l4 @3fa01c`.
        """
        if len(self.pools) == 1 and not self.revision:
            return f"{self.cluster}/{self.pools[0][1]}"
        parts = [self.cluster, *(f"{role}={pool}" for role, pool in self.pools)]
        return " ".join([*parts, f"@{self.revision}"] if self.revision else parts)

    def __str__(self) -> str:
        """Return the spot as the lock writes it: `ml/qwen3-coder east decode=h100`.

        With a revision it is `ml/qwen3-coder@3fa01c east decode=h100 prefill=l4`.
        """
        deployment = f"{self.deployment}@{self.revision}" if self.revision else self.deployment
        return " ".join([deployment, self.cluster, *(f"{role}={pool}" for role, pool in self.pools)])
