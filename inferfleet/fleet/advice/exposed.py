"""Which deployments do not answer on a cluster while one node there is drained, replaced or lost."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from inferfleet.api.documents import Documents
from inferfleet.fleet.decisions import Placement
from inferfleet.fleet.roles import roles_of, workers_of


@dataclass(frozen=True)
class Exposed:
    """A deployment on a cluster of which one worker of each of the `roles` is all there is.

    `every`: so it is with all of its roles. `scaled`: it is so where a scaler keeps the fewest replicas.
    """

    deployment: str
    cluster: str
    roles: tuple[str, ...]
    every: bool
    scaled: bool

    def __str__(self) -> str:
        """Return it as a line: `ml/chat on east: one replica`."""
        what = "one replica" if self.every else f"one worker of role {' and of role '.join(self.roles)}"
        return f"{self.deployment} on {self.cluster}: {what}{' when scaled down' if self.scaled else ''}"


def exposed(documents: Documents, placements: Iterable[Placement]) -> tuple[Exposed, ...]:
    """Return them by deployment and cluster. Other clusters do not help: each has a gateway of its own."""
    together: dict[tuple[str, str], list[Placement]] = defaultdict(list)
    for placement in placements:
        if placement.spot.deployment in documents.deployments:
            together[placement.spot.deployment, placement.spot.cluster].append(placement)
    found = []
    for (deployment, cluster), here in sorted(together.items()):
        document = documents.deployments[deployment]
        fewest = sum(one.replicas if one.least is None else one.least for one in here)
        every = roles_of(document)
        alone = tuple(role for role in every if fewest * workers_of(document, role).count == 1)
        if alone:
            scaled = sum(one.replicas for one in here) > fewest
            found.append(Exposed(deployment, cluster, alone, alone == every, scaled))
    return tuple(found)
